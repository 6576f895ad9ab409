"""A real distribution beside Exonerate: what it adds is there, what is wrong with it is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "acme-exonerate"
LOOK = """
import json, sys
from exonerate.adapters.engines.names import counter_reader, engine_states
from exonerate.adapters.plugins import plugged_suspects
from exonerate.errors import ExonerateError
try:
    plugged = plugged_suspects()
    read = counter_reader()
    seen = read("acme:in_flight 2\\nacme:tokens_out_total 9\\n")
    found = {
        "slugs": [c.slug for c in plugged.classes], "rules": plugged.rules("locate/7"),
        "seen": seen, "traits": dict(engine_states().traits("acme")),
    }
except ExonerateError as error:
    found = {"problem": error.problem, "hint": error.hint}
print(json.dumps(found))
"""


def installed(folder: Path, module: str) -> Path:
    """Where pip has put the example distribution with this module, from a wheel of it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items())
        for group, rows in project["entry-points"].items()
    )
    info = f"{name}-{version}.dist-info"
    files = {
        "acme_exonerate.py": module,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    target = folder / "site"
    argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    argv += ["--disable-pip-version-check", "--target", str(target), str(wheel)]
    subprocess.run(argv, check=True, timeout=120)
    return target


def beside(target: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """A Python program with that distribution installed."""
    paths = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, *argv],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=target,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_example_of_the_documentation_adds_a_class_and_an_engine(tmp_path: Path) -> None:
    """Once pip has installed it; the verdicts' rules are named after it."""
    target = installed(tmp_path, (EXAMPLE / "acme_exonerate.py").read_text())
    found = json.loads(beside(target, "-c", LOOK).stdout)
    assert found == {
        "slugs": ["acme-nightly-limit"],
        "rules": "locate/7+acme-exonerate-1.2",
        "seen": ["acme", {"running": 2, "generated_tokens": 9}],
        "traits": {"gauge_lag_s": 5.0},
    }


BROKEN = """
from exonerate.adapters.engines.names import SeriesNames
from exonerate.core.diagnosis.suspect import SuspectClass
ENGINE = SeriesNames("acme", {})
CLASSES = SuspectClass(
    slug="healthy", layer="moon", roles=(), prior=3.0, mechanism="x",
    predicts={"throuhg": frozenset({"ok"}), "phase": frozenset({"noon"})},
)
"""


def test_a_class_that_cannot_be_used_ends_the_command_with_its_name_and_a_way_out(
    tmp_path: Path,
) -> None:
    """Everything that is wrong with it is said at once; nothing was sent and nothing written."""
    target = installed(tmp_path, BROKEN)
    done = beside(
        target, "-m", "exonerate", "locate", "127.0.0.1:9", "127.0.0.1:10", "--model", "m"
    )
    assert done.returncode == 2
    for said in ("`acme` of `acme-exonerate`", "healthy", "moon", "roles", "prior", "throuhg"):
        assert said in done.stderr
    assert "pip uninstall acme-exonerate" in done.stderr


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("CLASSES = 7\nENGINE = None", "no `SuspectClass` but int"),
        ("CLASSES = ()\nENGINE = 'llama'", "no `SeriesNames` but str"),
        ("CLASSES = ()", "AttributeError"),
    ],
)
def test_what_is_no_plug_in_is_named(tmp_path: Path, module: str, said: str) -> None:
    """Whatever foreign code does when it is loaded."""
    found = json.loads(beside(installed(tmp_path, module), "-c", LOOK).stdout)
    assert said in found["problem"]
    assert "acme-exonerate" in found["problem"]
    assert "pip uninstall acme-exonerate" in found["hint"]
