"""The command line as a whole: odd outputs, odd encodings, and what is whose fault."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOYMENT = '[deployment]\nname = "bücher → 模型"\nmodel = "m"\n'
EXONERATE = f"'{sys.executable}' -m exonerate"


def shell(folder: Path, line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in a folder with a deployment file."""
    (folder / "exonerate.toml").write_text(DEPLOYMENT)
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("command", ["status", "status --json"])
@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1", "TERM": "dumb"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"COLUMNS": "1", "NO_COLOR": "1"},
    ],
    ids=["ascii", "latin-1", "C locale", "narrow"],
)
def test_any_encoding_and_width_will_do(
    tmp_path: Path, command: str, environ: dict[str, str]
) -> None:
    """Letters that the terminal lacks are replaced; nothing fails because of them."""
    done = shell(tmp_path, f"{EXONERATE} {command}", **environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout
    if command.endswith("--json"):
        encoding = environ.get("PYTHONIOENCODING", "utf-8")
        assert json.loads(done.stdout.decode(encoding))["deployment"] == "bücher → 模型"


@pytest.mark.parametrize("command", ["--help", "status --json"])
def test_a_reader_that_goes_away_is_no_failure(tmp_path: Path, command: str) -> None:
    """`exonerate ... | head -0` ends with 0 and says nothing."""
    line = f"{EXONERATE} {command} | (exec <&-; sleep 1); exit ${{PIPESTATUS[0]}}"
    done = shell(tmp_path, line)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["--help", "status", "status --json"])
def test_a_closed_stdout_is_no_failure(tmp_path: Path, command: str) -> None:
    """Whoever closes it does not want the answer; the exit status is still given."""
    done = shell(tmp_path, f"{EXONERATE} {command} >&-")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["--help", "status", "status --json"])
def test_a_full_disk_under_the_output_is_the_operator_s_to_mend(
    tmp_path: Path, command: str
) -> None:
    """`> /dev/full`: it is said in words, with exit status 2."""
    done = shell(tmp_path, f"{EXONERATE} {command} > /dev/full")
    assert done.returncode == 2
    assert b"no space is left" in done.stderr
    assert b"Traceback" not in done.stderr
