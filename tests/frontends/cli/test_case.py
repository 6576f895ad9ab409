"""`exonerate case` as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.case import case
from exonerate.frontends.cli.debt import debt

DOCUMENT = Path(__file__).parents[2] / "data" / "documents" / "DSV4_DECODE_PERF_PLAN.md"
KNOB = "SGLANG_SM120_MMA_TARGET_CTAS"
SUSPECT = (
    "suspect",
    "add",
    "512 hangs it",
    "--knob",
    KNOB,
    "--predicts",
    "stops at 256",
    "--if-false",
    "goes on",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXONERATE_LEDGER", raising=False)
    return tmp_path


def run(*arguments: str) -> Result:
    """`exonerate case` with those arguments."""
    result = CliRunner().invoke(case, arguments, standalone_mode=False)
    if isinstance(result.exception, ExonerateError):
        raise result.exception
    assert result.exception is None, result.output
    return result


def answer(*arguments: str) -> dict[str, Any]:
    """The answer that a command prints with --json."""
    printed = json.loads(run(*arguments, "--json").stdout)
    assert isinstance(printed, dict)
    return printed


def test_looking_makes_nothing(folder: Path) -> None:
    """`list`, `verify` and `debt` in a folder without a ledger leave it empty."""
    assert run("list").return_value == 0
    assert run("verify").return_value == 0
    assert CliRunner().invoke(debt, [], standalone_mode=False).return_value == 0
    assert list(folder.iterdir()) == []


def test_case_is_opened_shown_and_closed() -> None:
    """A case is opened by title, shown by default and closed with a reason."""
    identity = run("open", "Agent hangs", "--symptom", "hang").stdout.strip()
    shown = answer("show")
    assert (shown["schema"], shown["id"], shown["symptom"]) == (
        "exonerate.case/1",
        identity,
        "hang",
    )
    assert run("close", "--why", "proxy replaced").return_value == 0
    (listed,) = answer("list")["cases"]
    assert (listed["id"], listed["open"]) == (identity, False)


def test_statement_opens_a_case_and_names_it_on_stderr() -> None:
    """With no case open, evidence goes into a new one whose id is told, not printed as data."""
    result = run("evidence", "--statement", "a proxy acted up all week", "--by", "ann")
    assert result.stdout.startswith("statement-")
    assert "opened case case-" in result.stderr
    assert "ann: “a proxy acted up all week”" in run("show").stdout


def test_document_and_statement_raise_a_suspect() -> None:
    """What a document and a person say raises the suspect and does no more."""
    run("open", "Agent hangs", "--symptom", "hang")
    run(*SUSPECT)
    for _ in range(2):
        run("evidence", "--file", str(DOCUMENT), "--suspect", KNOB)
    run("evidence", "--statement", "it was that knob", "--by", "bob", "--suspect", KNOB)
    shown = answer("show")
    assert shown["suspects"][0]["state"] == "raised"
    assert [piece["grade"] for piece in shown["evidence"]] == ["D", "E"]


def test_refused_suspect_and_mistyped_file_open_no_case() -> None:
    """A command that fails leaves no case behind."""
    with pytest.raises(ExonerateError, match="not admitted"):
        run("suspect", "add", "it is cursed")
    with pytest.raises(ExonerateError, match="does not exist"):
        run("evidence", "--file", "nowhere.md")
    with pytest.raises(ExonerateError, match="no case is open"):
        run("evidence", "--statement", "x", "--by", "ann", "--suspect", "s")
    assert answer("list")["cases"] == []


@pytest.mark.parametrize(
    "arguments", [[], ["--statement", "x"], ["--statement", "x", "--by", "a", "--file", "y"]]
)
def test_half_given_evidence_is_a_usage_error(arguments: list[str]) -> None:
    """A statement needs a name; a statement and a file are two commands."""
    result = CliRunner().invoke(case, ["evidence", *arguments])
    assert result.exit_code == 2
    assert "--by" in result.output or "--file" in result.output


def test_verify_finds_one_changed_word(folder: Path) -> None:
    """A ledger that was edited on the disk is broken: exit status 1 and the record's number."""
    run("open", "Agent hangs")
    run("evidence", "--statement", "all was well", "--by", "ann")
    assert run("verify").return_value == 0
    path = folder / ".exonerate" / "ledger.db"
    path.write_bytes(path.read_bytes().replace(b"all was well", b"all was hell"))
    result = run("verify")
    assert result.return_value == 1
    assert "chain broken at record 2 of 2" in result.stdout
    assert answer("verify")["first_bad"] == 2


def test_ledger_of_the_environment_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EXONERATE_LEDGER names the ledger; --ledger goes before it."""
    monkeypatch.setenv("EXONERATE_LEDGER", str(folder / "shared.db"))
    run("open", "Agent hangs")
    assert (folder / "shared.db").exists()
    run("open", "Other", "--ledger", "own.db")
    assert (folder / "own.db").exists()
    assert len(answer("list")["cases"]) == 1


def test_ledger_lies_beside_the_deployment_file(folder: Path) -> None:
    """A command in a folder below finds the deployment's ledger and records its name."""
    (folder / "exonerate.toml").write_text(
        '[deployment]\nname = "dsv4"\nmodel = "dsv4"\n\n[[hop]]\nname = "engine"\n'
        'role = "engine"\nurl = "http://127.0.0.1:1"\n'
    )
    below = folder / "below"
    below.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(below)
        run("open", "Agent hangs")
        assert answer("list")["cases"][0]["deployment"] == "dsv4"
    assert (folder / ".exonerate" / "ledger.db").exists()
    assert list(below.iterdir()) == []


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A title that would steer the terminal is shown without its control characters."""
    run("open", "evil \x1b[2J title")
    assert "\x1b" not in run("list").stdout + run("show").stdout
