"""`exonerate case report` as an operator runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.case import case

DOCUMENT = Path(__file__).parents[2] / "data" / "documents" / "DSV4_DECODE_PERF_PLAN.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a case in which somebody said something and a document was read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXONERATE_LEDGER", raising=False)
    run("open", "Agent hangs", "--symptom", "hang")
    run("evidence", "--statement", "the <b>proxy</b> acted up all week", "--by", "ann")
    run("evidence", "--file", str(DOCUMENT))
    return tmp_path


def run(*arguments: str) -> Result:
    """`exonerate case` with those arguments."""
    result = CliRunner().invoke(case, arguments, standalone_mode=False)
    if isinstance(result.exception, ExonerateError):
        raise result.exception
    assert result.exception is None, result.output
    return result


def test_the_terminal_report_is_on_stdout() -> None:
    """Without options the story is printed for the terminal."""
    result = run("report")
    assert result.return_value == 0
    assert "Agent hangs" in result.stdout
    assert "ann" in result.stdout
    assert "has not been located yet" in " ".join(result.stdout.split())


def test_the_name_of_the_file_decides_the_form(folder: Path) -> None:
    """A page and a Markdown file are written whole; what a person said is escaped in both."""
    run("report", "-o", "report.html")
    run("report", "-o", "report.md")
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;proxy&lt;" in page
    assert "<b>proxy" not in page
    assert page.rstrip().endswith("</html>")
    assert "\\<b\\>proxy" in (folder / "report.md").read_text()
    assert {path.name for path in folder.iterdir()} == {".exonerate", "report.html", "report.md"}


def test_a_form_can_be_piped() -> None:
    """--form prints Markdown or the page on stdout."""
    assert run("report", "--form", "markdown").stdout.startswith("# Agent hangs")
    assert run("report", "--form", "html").stdout.startswith("<!doctype html>")


def test_a_folder_that_is_not_there_is_named(folder: Path) -> None:
    """A path that cannot be written is an error that names it, and nothing is left behind."""
    with pytest.raises(ExonerateError, match="nowhere"):
        run("report", "-o", "nowhere/report.html")
    assert {path.name for path in folder.iterdir()} == {".exonerate"}


def test_without_a_case_the_hint_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of nothing is an error with a way on."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    with pytest.raises(ExonerateError, match="no case is open"):
        run("report", "--ledger", str(empty / "ledger.db"))
