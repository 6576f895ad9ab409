"""The documents as a test: what they name exists, what they show runs, nothing drifts."""

from __future__ import annotations

import ast
import dataclasses
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from exonerate.core.deployment.fields import SECTIONS
from exonerate.core.deployment.model import Deployment, Hop, Knob, Service, Victim
from exonerate.core.deployment.parse import parse_deployment
from exonerate.frontends.cli.main import COMMANDS, cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MODELS = {
    "deployment": Deployment,
    "hop": Hop,
    "victim": Victim,
    "service": Service,
    "knob": Knob,
}
FENCE = re.compile(r"^```([\w.-]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPTS = re.compile(r"^\$ ")


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names a file that is there."""
    targets = re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text()))
    local = [t.partition("#")[0] for t in targets if "://" not in t and not t.startswith("#")]
    assert [t for t in local if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_commands_in_code_blocks_exist(page: Path) -> None:
    """Each `exonerate ...` line of a page names a command that exists, with options it has."""
    wrong = [
        f"{line}: {why}"
        for line in _command_lines(page)
        if (why := _objection(shlex.split(line, comments=True)[1:]))
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_make_targets_exist(page: Path) -> None:
    """Each `make TARGET` that a page names is a target of the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text()
    named = {
        *re.findall(r"`make ([a-z-]+)`", text),
        *re.findall(r"^make ([a-z-]+)", text, re.MULTILINE),
    }
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_deployment_files_in_pages_are_valid(page: Path) -> None:
    """Each whole deployment file that a page shows is accepted by the parser."""
    for language, block in FENCE.findall(page.read_text()):
        if language == "toml" and block.lstrip().startswith("[deployment]"):
            parse_deployment(block, path=_id(page), folder="/")


def test_architecture_names_what_exists() -> None:
    """Every `file:name` and every path that ARCHITECTURE.md names is in the source."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    source = ROOT / "src" / "exonerate"
    hops = re.findall(r"`([\w/]+\.py):(\w+)`", text)
    assert len(hops) > 20
    assert [f"{file}:{name}" for file, name in hops if name not in _names(source / file)] == []
    paths = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text)
    roots = (ROOT, source, source / "core")
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []


def test_readme_lists_every_command() -> None:
    """The table of jobs in README.md has a row for each command and no other."""
    rows = re.findall(r"^\| `exonerate (\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(COMMANDS)


def test_index_lists_every_page() -> None:
    """docs/README.md leads to each page of docs/, docs/decisions/README.md to each decision."""
    for index in (ROOT / "docs" / "README.md", ROOT / "docs" / "decisions" / "README.md"):
        pages = {page.name for page in index.parent.glob("*.md")} - {"README.md"}
        assert {name for name in pages if f"({name})" not in index.read_text()} == set()


def test_written_pages_are_up_to_date() -> None:
    """What pages repeat from the source (help texts, classes, keys) is what `make docs` writes."""
    program = [sys.executable, str(ROOT / "scripts" / "write_reference.py"), "--check"]
    checked = subprocess.run(program, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("section", SECTIONS)
def test_deployment_page_has_every_key(section: str) -> None:
    """The table of a section agrees with the parser: its keys, and which are required."""
    fields, _ = SECTIONS[section]
    rows = _table_of(section)
    assert set(rows) == set(fields)
    for key, default in rows.items():
        assert (default == "required") == fields[key].required, key


@pytest.mark.parametrize("section", SECTIONS)
def test_deployment_page_has_the_defaults(section: str) -> None:
    """A default on the page is the one that the model has."""
    stated = _table_of(section)
    for field in dataclasses.fields(MODELS[section]):
        if field.name not in stated or stated[field.name] in ("required", "the hop before it"):
            continue
        if section == "deployment":
            continue
        shown = "none" if field.default in (None, ()) else f"`{_as_toml(field.default)}`"
        assert stated[field.name] == shown, field.name


def test_every_dependency_is_accounted_for() -> None:
    """docs/decisions says of each dependency, and of no other, what it saves and costs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    needed = {re.split(r"[\[>=<]", item)[0] for group in groups for item in group}
    page = (ROOT / "docs" / "decisions" / "0001-dependencies.md").read_text()
    extras = set(project["optional-dependencies"])
    cells = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    naming = [second if first.strip(" `") in extras else first for first, second in cells]
    assert {name for cell in naming for name in re.findall(r"`([\w.-]+)`", cell)} == needed


def test_every_pin_is_exact() -> None:
    """The constraints hold exact versions only, without hashes and addresses."""
    for file in ROOT.glob("constraints*.txt"):
        lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
        assert lines
        assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def _command_lines(page: Path) -> Iterator[str]:
    for language, block in FENCE.findall(page.read_text()):
        if language in ("sh", "console", "bash"):
            for line in block.replace("\\\n", " ").splitlines():
                command = PROMPTS.sub("", line)
                if command.startswith("exonerate "):
                    yield re.split(r" [|>]| 2>| &$", command)[0]


def _objection(words: list[str]) -> str | None:
    """What is wrong with the words after `exonerate`, or None."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        below = command.get_command(click.Context(command), words[0])
        if below is None:
            break
        command, words = below, words[1:]
    if command is cli and words and not words[0].startswith("-"):
        return f"no command `{words[0]}`"
    known = {"-h", "--help"} | {
        option for p in command.params for option in (*p.opts, *p.secondary_opts)
    }
    unknown = [w for w in words if re.match(r"--?[a-zA-Z]", w) and w.split("=")[0] not in known]
    return f"`{command.name}` has no {', '.join(unknown)}" if unknown else None


@cache
def _names(file: Path) -> frozenset[str]:
    if not file.exists():
        return frozenset()
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = ast.parse(file.read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, definitions))


def _table_of(section: str) -> dict[str, str]:
    """Key -> default of one section of docs/deployment.md."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    heading = rf"^## `\[+{section}\]+`\n(.*?)(?=^## |\Z)"
    found = re.search(heading, text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return dict(re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|", found[1], re.MULTILINE))


def _as_toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return f'"{value}"' if isinstance(value, str) else str(value)
