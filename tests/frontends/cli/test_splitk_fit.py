"""`exonerate splitk fit` as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.read import read
from exonerate.frontends.cli.splitk_fit import fit

DATA = Path(__file__).parents[2] / "data"
FOUNDING = str(DATA / "splitk" / "founding.csv")
GOLDEN = DATA / "splitk" / "founding_fit.txt"
DOCUMENT = str(DATA / "documents" / "DSV4_DECODE_PERF_PLAN.md")


def run(*arguments: str, stdin: str | None = None) -> Result:
    """The command with those arguments."""
    return CliRunner().invoke(fit, arguments, input=stdin, standalone_mode=False)


def test_the_founding_fit_reads_like_this() -> None:
    """The whole report, to the letter; exit status 3, for the data do not suffice."""
    result = run(FOUNDING, "--gpu", "RTX PRO 6000", "--layers", "43", "--bytes-per-token", "584")
    assert result.return_value == 3
    assert result.stdout == GOLDEN.read_text()
    assert result.stderr == ""


def test_the_documentation_shows_what_the_command_prints() -> None:
    """The excerpt in docs/splitk-plan.md is the beginning of the report."""
    text = (Path(__file__).parents[3] / "docs" / "splitk-plan.md").read_text()
    excerpt = text.split("bytes-per-token 584\n")[1].split("...\n```")[0]
    assert len(excerpt) > 300
    assert GOLDEN.read_text().startswith(excerpt)


def test_a_document_and_its_reading_give_the_same_fit(tmp_path: Path) -> None:
    """The table once as Markdown, once through `read --json` on stdin; a plot on the way."""
    reading = CliRunner().invoke(read, [DOCUMENT, "--json"], standalone_mode=False).stdout
    picture = tmp_path / "fit.svg"
    answers = [
        json.loads(run("--table", DOCUMENT, "--json", "--plot", str(picture)).stdout),
        json.loads(run("-", "--json", stdin=reading).stdout),
    ]
    assert answers[0] == answers[1]
    assert answers[0]["best"]["rule"] == "target_ctas:ceil"
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("", (), "columns are nothing"),
        ("concurrency,target,value\n48,256,684.7\n", (), "too few for a fit"),
        ("concurrency,target,value\n48,256,nan\n", (), "is nan"),
        ("concurrency,target,value\n48,baseline,684.7\n", (), "target is `baseline`"),
        ("{}", (), "does not say schema"),
        ("\x00", ("--arm", "baseline"), "not NAME=TARGET"),
        ("\x00", ("--arm", "=3"), "not NAME=TARGET"),
        ("\x00", ("--gpu", "RTX PRO 7000"), "not in the table"),
        ("\x00", ("--plot", "fit.bmp"), "neither SVG nor PNG"),
    ],
)
def test_bad_input_is_refused_in_words(
    tmp_path: Path, text: str, arguments: tuple[str, ...], said: str
) -> None:
    """A problem and a hint, never a traceback."""
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ExonerateError, match=said) as refused:
        CliRunner().invoke(
            fit, [str(path), *arguments], standalone_mode=False, catch_exceptions=False
        )
    assert refused.value.hint


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """None, two, missing, not text, too large."""
    binary = tmp_path / "table.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    for arguments, said in (
        ([], "no table"),
        ([FOUNDING, "--table", FOUNDING], "two tables"),
        (["missing.csv"], "cannot be read"),
        ([str(tmp_path)], "cannot be read"),
        ([str(binary)], "not UTF-8"),
        (["/dev/zero"], "larger than 64 MiB"),
    ):
        with pytest.raises(ExonerateError, match=said):
            CliRunner().invoke(fit, arguments, standalone_mode=False, catch_exceptions=False)


def test_arms_by_name_get_their_targets(tmp_path: Path) -> None:
    """A reading whose arms are called baseline and candidate."""
    cells = [
        {"cell": c, "values": {"baseline": 680.0 + c, "candidate": 690.0 + c}} for c in (48, 64, 80)
    ]
    document = {"schema": "exonerate.reading/1", "sources": [{"comparisons": [{"cells": cells}]}]}
    path = tmp_path / "reading.json"
    path.write_text(json.dumps(document))
    result = run(str(path), "--arm", "baseline=256", "--arm", "candidate=512", "--json")
    found = json.loads(result.stdout)["best"]["cells"]
    assert {cell["target"] for cell in found} == {256, 512}
