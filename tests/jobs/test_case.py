"""Cases by hand: what may be said, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.case.model import Case
from exonerate.core.case.redaction import Redactor
from exonerate.core.instant import Instant
from exonerate.errors import ExonerateError
from exonerate.jobs.case import CaseBook, Claim, find_case, list_cases, needed_case

CLAIM = Claim(
    claim="512 CTAs hang it",
    mechanism="",
    predicts=["stops at 256"],
    predicted_if_false=["goes on"],
)


class TickingClock:
    """A clock on which a second passes with every question."""

    def __init__(self) -> None:
        self._asked = 0

    def now(self) -> Instant:
        """The next second."""
        self._asked += 1
        return Instant(self._asked)

    def wall(self) -> str:
        """The next second."""
        self._asked += 1
        return f"2026-01-01T00:{self._asked // 60:02}:{self._asked % 60:02}Z"


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """An empty ledger."""
    return open_ledger(tmp_path / "ledger.db", clock=TickingClock())


@pytest.fixture
def book(ledger: SqlLedger) -> CaseBook:
    """Writes cases into the ledger."""
    return CaseBook(ledger, Redactor(ledger.key()))


def opened(book: CaseBook, ledger: SqlLedger, title: str = "Agent hangs") -> Case:
    """A new case, folded."""
    return needed_case(ledger, book.open(title, symptom="hang", deployment="dsv4"))


def test_opened_case_is_the_only_open_one(book: CaseBook, ledger: SqlLedger) -> None:
    """Without `--case` a command finds the one case that is open."""
    assert find_case(ledger, None) is None
    case = opened(book, ledger)
    found = find_case(ledger, None)
    assert found == case
    assert (case.title, case.symptom, case.deployment) == ("Agent hangs", "hang", "dsv4")


def test_several_open_cases_must_be_told_apart(book: CaseBook, ledger: SqlLedger) -> None:
    """With two open cases the command names both and asks which; closing one settles it."""
    first, second = opened(book, ledger), opened(book, ledger, "Slow at noon")
    with pytest.raises(ExonerateError, match="Slow at noon"):
        find_case(ledger, None)
    book.close(first, "proxy replaced")
    assert needed_case(ledger, None).id == second.id


def test_no_open_case_is_an_error_where_one_is_needed(ledger: SqlLedger) -> None:
    """A command that shows a case says how to open one."""
    with pytest.raises(ExonerateError, match="no case is open"):
        needed_case(ledger, None)


def test_closed_case_is_not_closed_again(book: CaseBook, ledger: SqlLedger) -> None:
    """Closing twice is an error that says when it was closed."""
    case = opened(book, ledger)
    book.close(case, "done")
    with pytest.raises(ExonerateError, match="was closed at 2026-01-01"):
        book.close(needed_case(ledger, case.id), "again")


def test_suspect_is_admitted_with_its_predictions(book: CaseBook, ledger: SqlLedger) -> None:
    """A falsifiable suspect stands beside the two that every case has."""
    case = opened(book, ledger)
    name = book.add_suspect(case, CLAIM)
    suspects = {suspect.id: suspect for suspect in needed_case(ledger, case.id).suspects}
    assert suspects[name].predicted_if_false == ("goes on",)
    assert len(suspects) == 3


def test_unfalsifiable_suspect_is_refused_before_it_is_recorded(
    book: CaseBook, ledger: SqlLedger
) -> None:
    """A claim that nothing could disprove leaves no record."""
    case = opened(book, ledger)
    vague = Claim(claim="it is cursed", mechanism="", predicts=["woe"], predicted_if_false=[])
    with pytest.raises(ExonerateError, match="if it were false"):
        book.add_suspect(case, vague)
    assert len(ledger.records()) == 1


def test_suspects_get_ids_that_are_free(book: CaseBook, ledger: SqlLedger) -> None:
    """Unnamed suspects are numbered; a name that is taken is refused."""
    case = opened(book, ledger)
    for expected in ("suspect-1", "suspect-2"):
        assert book.add_suspect(needed_case(ledger, case.id), CLAIM) == expected
    again = Claim(id="suspect-1", claim="x", mechanism="", predicts=["a"], predicted_if_false=["b"])
    with pytest.raises(ExonerateError, match="already"):
        book.add_suspect(needed_case(ledger, case.id), again)


def test_statement_raises_a_suspect_and_names_who_said_it(
    book: CaseBook, ledger: SqlLedger
) -> None:
    """What somebody says is evidence of grade E with a name and a time."""
    case = opened(book, ledger)
    suspect = book.add_suspect(case, CLAIM)
    case = needed_case(ledger, case.id)
    book.add_statement(case, "it was that knob", by="ann", raises=[suspect], clock=TickingClock())
    (piece,) = needed_case(ledger, case.id).statements
    assert (piece.by, piece.grade, piece.statement) == ("ann", "E", "it was that knob")
    assert needed_case(ledger, case.id).suspects[0].state == "raised"


def test_statement_about_an_unknown_suspect_is_refused(book: CaseBook, ledger: SqlLedger) -> None:
    """A mistyped suspect is an error that lists those there are."""
    with pytest.raises(ExonerateError) as caught:
        book.add_statement(
            opened(book, ledger), "x", by="ann", raises=["knbo"], clock=TickingClock()
        )
    assert "measurement-artefact" in caught.value.hint


@pytest.mark.parametrize("statement", ["", "   ", "x" * 10_001])
def test_empty_or_endless_statement_is_refused(
    book: CaseBook, ledger: SqlLedger, statement: str
) -> None:
    """A statement has some words and not a book of them."""
    with pytest.raises(ExonerateError, match="statement"):
        book.add_statement(
            opened(book, ledger), statement, by="ann", raises=[], clock=TickingClock()
        )


def test_secret_in_a_statement_is_not_kept(
    book: CaseBook, ledger: SqlLedger, tmp_path: Path
) -> None:
    """A key that somebody pastes into a statement does not reach the disk."""
    pasted = "I ran curl -H 'Authorization: Bearer verysecret1'"
    book.add_statement(opened(book, ledger), pasted, by="ann", raises=[], clock=TickingClock())
    assert b"verysecret1" not in (tmp_path / "ledger.db").read_bytes()


def test_unfinished_case_is_listed_first(book: CaseBook, ledger: SqlLedger) -> None:
    """What a crash left behind comes before newer cases; closed cases come last."""
    broken, closed, newest = (opened(book, ledger, title) for title in ("a", "b", "c"))
    ledger.append(case=broken.id, kind="intervention_planned", body={"id": "r", "type": "revert"})
    book.close(closed, "done")
    assert [case.id for case in list_cases(ledger)] == [broken.id, newest.id, closed.id]


def test_unknown_symptom_is_refused(book: CaseBook) -> None:
    """A symptom is one of those that `locate` knows."""
    with pytest.raises(ExonerateError, match="not a symptom"):
        book.open("x", symptom="haunted", deployment=None)
