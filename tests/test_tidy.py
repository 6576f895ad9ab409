"""The style as a test: sizes, names, mirrored tests, docstrings, and words that do not belong.

Limits are a ratchet. A list of exceptions may only get shorter: an entry that is no longer needed
fails too, so that nobody has to remember to take it out.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

from exonerate.frontends.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "exonerate"
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

FILE_LINES_MAX = {"src": 400, "tests": 600, "scripts": 400, "benchmarks": 400}
FUNCTION_LINES_MAX = 60
LONG_FUNCTIONS = {
    # One table, a key a line.
    "src/exonerate/report/waves_json.py:fit_json",
    # One kernel is one function: the compiler of Triton sees it whole.
    "src/exonerate/kernels/triton_kernels.py:combine_kernel",
    "src/exonerate/kernels/triton_kernels.py:split_kernel",
}

MIRRORED = ("core", "jobs", "adapters")
UNMIRRORED = ROOT / "tests" / "unmirrored.txt"
"""Modules without a test file of their own: tested from outside, through what uses them."""

PRINTING_IS_THEIR_JOB = ("src/exonerate/frontends/", "benchmarks/", "scripts/")
REFUSED_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc", "base"}
ALLOWED_NAMES = {"src/exonerate/adapters/engines/base.py"}
# Written in two parts, so that this file does not hold what it looks for.
REFUSED_WORDS = {
    "a path of somebody's machine": "/wor" + "k/",
    "an address of a package registry": "pypi" + r"\.org|python" + r"hosted\.org",
    "a word of how it was made": r"\bsub-?ag" + r"ents?\b|\bwork" + r"tree\b",
    "a conflict that nobody settled": r"(?m)^<{7} |^>{7} ",
    "a leftover": r"\bFIX" + r"ME\b|\bTO" + r"DO\b",
}
READ_CLOCK = re.compile(r"\b(?:monotonic|monotonic_ns|perf_counter|perf_counter_ns)\(\)")
MAY_ASSERT_ON_A_CLOCK = {
    # Waits by looking again, and gives up after long.
    "tests/support/patience.py",
    # The clock itself is tested; a later reading is not smaller.
    "tests/adapters/test_clock.py",
}
REFUSED_PROSE = r"\b(simply|seamless(ly)?|comprehensive|blazing(ly)?|cutting-edge)\b|Note that"
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".sh", ".j2", ".css", ""}


def test_files_are_short() -> None:
    """A file that can no longer be read in one sitting is to be split."""
    long = [
        f"{_name(path)} has {lines} lines; at most {FILE_LINES_MAX[top]}"
        for top in FILE_LINES_MAX
        for path in _python_files(top)
        if (lines := len(path.read_text().splitlines())) > FILE_LINES_MAX[top]
    ]
    assert not long


def test_functions_are_short() -> None:
    """A function fits on a screen; the few that do not are listed, and the list only shrinks."""
    long = {
        f"{_name(path)}:{function.name}"
        for top in ("src", "scripts", "benchmarks")
        for path in _python_files(top)
        for function in _functions(path)
        if _lines(function) > FUNCTION_LINES_MAX
    }
    assert long == LONG_FUNCTIONS


def test_every_module_that_decides_or_acts_has_its_own_test_file() -> None:
    """`core/stats/power.py` is tested in `tests/core/stats/test_power.py`; exceptions shrink."""
    missing = {
        str(path.relative_to(SOURCE))
        for package in MIRRORED
        for path in _python_files(f"src/exonerate/{package}")
        if _has_behaviour(path) and not _mirror(path).exists()
    }
    listed = set(UNMIRRORED.read_text().split())
    assert missing - listed == set(), "write the test file that mirrors the module"
    assert listed - missing == set(), f"take these out of {_name(UNMIRRORED)}"


def test_only_programs_print() -> None:
    """What is not a front end or a program of its own returns its text."""
    printing = [
        f"{_name(path)}:{call.lineno}"
        for top in FILE_LINES_MAX
        for path in _python_files(top)
        if not _name(path).startswith(PRINTING_IS_THEIR_JOB) and not _is_program(path)
        for call in ast.walk(_tree(path))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "print"
    ]
    assert not printing


def test_modules_are_named_after_what_they_hold() -> None:
    """A module called `utils` says nothing; everything ends up in it."""
    refused = [
        _name(path)
        for top in ("src", "tests")
        for path in (ROOT / top).rglob("*.py")
        if REFUSED_NAMES & {*path.relative_to(ROOT).with_suffix("").parts}
        and _name(path) not in ALLOWED_NAMES
    ]
    assert not refused


def test_packages_only_re_export() -> None:
    """An `__init__` holds a docstring and imports; tests have none at all."""
    allowed = (ast.Import, ast.ImportFrom, ast.Expr)
    wrong = [
        f"{_name(path)}:{node.lineno}"
        for path in (ROOT / "src").rglob("__init__.py")
        for node in _tree(path).body
        if not isinstance(node, allowed) and not _is_list_of_names(node)
    ]
    assert not wrong
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_public_names_have_a_docstring() -> None:
    """Every module, class, function and method that others may use says what it is."""
    silent = [
        f"{_name(path)}:{name}"
        for path in _python_files("src")
        if path.read_text().strip()
        for name, node in _public(_tree(path))
        if ast.get_docstring(node) is None
    ]
    assert not silent


def test_every_test_states_a_behaviour() -> None:
    """A test's docstring is the sentence that it proves."""
    silent = [
        f"{_name(path)}:{function.name}"
        for path in _python_files("tests")
        for function in _functions(path)
        if function.name.startswith("test_") and ast.get_docstring(function) is None
    ]
    assert not silent


def test_no_test_asserts_on_a_real_clock() -> None:
    """What took how long is the machine's affair: order, causes, or a clock that skips."""
    offences = [
        f"{_name(path)}:{node.lineno} asserts on {read[0]}"
        for path in _python_files("tests")
        if _name(path) not in MAY_ASSERT_ON_A_CLOCK
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Assert) and (read := READ_CLOCK.search(ast.unparse(node)))
    ]
    assert not offences


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of a machine, no registry's address, no leftover stands in any file."""
    found = [
        f"{_name(path)}: {what}: {match.group()}"
        for path in _text_files()
        for what, pattern in REFUSED_WORDS.items()
        for match in re.finditer(pattern, path.read_text(errors="replace"))
    ]
    assert not found


def test_prose_is_plain() -> None:
    """Words that praise or patronise are left out of every page."""
    found = [
        f"{_name(path)}: {match.group()}"
        for path in _text_files()
        if path.suffix == ".md" and "data" not in path.relative_to(ROOT).parts
        for match in re.finditer(REFUSED_PROSE, path.read_text())
    ]
    assert not found


def test_every_plug_in_and_command_is_documented() -> None:
    """Each entry point group and name, and each command, stands in the documentation."""
    pages = "\n".join(
        path.read_text() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    )
    groups = _project()["project"]["entry-points"]
    plug_ins = {*groups, *(name for group in groups.values() for name in group)}
    commands = {f"exonerate {name}" for name in COMMANDS}
    assert {name for name in plug_ins | commands if f"`{name}" not in pages} == set()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


@cache
def _python_files(top: str) -> tuple[Path, ...]:
    return tuple(sorted((ROOT / top).rglob("*.py")))


def _text_files() -> Iterator[Path]:
    """What a reader of the project may open: programs, pages, settings; no recorded data."""
    for top in ("src", "tests", "docs", "scripts", "benchmarks", ".ci"):
        yield from (p for p in (ROOT / top).rglob("*") if p.is_file() and _is_text(p))
    yield from (p for p in ROOT.glob("[!.]*") if p.is_file() and _is_text(p))


def _is_text(path: Path) -> bool:
    return path.suffix in TEXT_SUFFIXES and "__pycache__" not in path.parts


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _is_program(path: Path) -> bool:
    return 'if __name__ == "__main__":' in path.read_text()


def _mirror(path: Path) -> Path:
    return ROOT / "tests" / path.relative_to(SOURCE).parent / f"test_{path.name}"


def _has_behaviour(path: Path) -> bool:
    """Whether the module does anything; tables, records and Protocols only say what is."""
    protocols = [
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(b) for b in node.bases)
    ]
    declared = {id(function) for protocol in protocols for function in ast.walk(protocol)}
    return any(id(function) not in declared for function in _functions(path))


def _functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, Function):
            yield node


def _lines(function: Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def _public(tree: ast.Module) -> Iterator[tuple[str, ast.Module | ast.ClassDef | Function]]:
    yield "module", tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from (
                    (f"{node.name}.{member.name}", member)
                    for member in node.body
                    if isinstance(member, Function) and not member.name.startswith("_")
                )


def _is_list_of_names(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)] == ["__all__"]


def _project() -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())
