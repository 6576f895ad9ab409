"""`exonerate ab --from`: standard output, standard error and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exonerate.frontends.cli.main import main

HEADER = "block,order,arm,cell,value"


def write(folder: Path, ratios: list[float], cells: tuple[int, ...] = (8,)) -> str:
    """A CSV with one block for each ratio of candidate to baseline."""
    rows = [HEADER]
    for block, ratio in enumerate(ratios, start=1):
        places = (1, 2) if block % 2 else (2, 1)
        for cell in cells:
            rows.append(f"{block},{places[0]},old,{cell},{100 + block}")
            rows.append(f"{block},{places[1]},new,{cell},{(100 + block) * ratio:.6f}")
    path = folder / "trials.csv"
    path.write_text("\n".join(rows))
    return str(path)


def run(*arguments: str) -> int:
    """The exit status of the command."""
    with pytest.raises(SystemExit) as left:
        main(["ab", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


QUIET = [0.999, 1.001, 1.0005, 0.9995, 1.0]


@pytest.mark.parametrize(
    ("factor", "verdict", "status"),
    [(1.10, "better", 0), (1.0, "flat", 0), (0.9, "worse", 1)],
)
def test_the_exit_status_follows_the_verdict(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    factor: float,
    verdict: str,
    status: int,
) -> None:
    """Better and flat leave with 0, worse with 1; stdout is exactly the contract's JSON."""
    path = write(tmp_path, [factor * ratio for ratio in QUIET])
    assert run("--from", path, "--json") == status
    out, err = capsys.readouterr()
    assert json.loads(out)["primary"]["verdict"] == verdict
    assert err == ""


def test_undecided_leaves_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two blocks decide nothing, however large the difference."""
    assert run("--from", write(tmp_path, [1.5, 1.51])) == 3
    assert "~ undecided" in capsys.readouterr().out


def test_an_uncleared_guard_fails_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A better primary band with a guard that is not cleared is not good enough."""
    path = write(tmp_path, [1.1 * ratio for ratio in QUIET], cells=(8, 64))
    rows = Path(path).read_text().splitlines()
    noisy = [
        f"{row[: row.rindex(',')]},{100 * (1.2 if row[0] in '135' else 0.8)}"
        if ",new,8," in row
        else row
        for row in rows
    ]
    Path(path).write_text("\n".join(noisy))
    assert run("--from", path, "--primary", "64") == 0
    assert run("--from", path, "--primary", "64", "--guard", "8") == 3
    assert "guard C8: regression not excluded" in capsys.readouterr().out


def test_a_bad_file_is_the_operators_to_mend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bad line leaves with 2, nothing on stdout, and file and line on stderr."""
    path = tmp_path / "bad.csv"
    path.write_text(HEADER + "\n1,1,old,8,0\n")
    assert run("--from", str(path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"error: {path}:2: `value` is 0" in err
    assert "hint: " in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "missing.csv"], "missing.csv"),
        ([], "needs a knob"),
        (["PACE", "--from", __file__], "a knob and `--from` were both given"),
        (["--margin", "2"], "0.02 means 2 %"),
        (["--margin", "x"], "0.02 means 2 %"),
        (["--primary", "8,x"], "`x` is not a number"),
        (["--primary", "8,8"], "stands there twice"),
        (["--guard", "-1"], "is not above 0"),
    ],
)
def test_bad_options_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    """A missing file and options that mean nothing leave with 2 and say why."""
    assert run(*arguments) == 2
    assert words in capsys.readouterr().err


def test_markdown_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--markdown` prints a pipe table."""
    assert run("--from", write(tmp_path, QUIET), "--markdown") == 0
    assert "| C8 |" in capsys.readouterr().out
