"""`read` as a job: files in, a reading out, evidence only where a case is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.documents.answer import reading_json
from exonerate.core.instant import Instant
from exonerate.core.json_access import at
from exonerate.core.json_types import JsonObject
from exonerate.errors import ExonerateError
from exonerate.jobs.read import ArmFile, read_documents, record_reading

DATA = Path(__file__).parents[1] / "data" / "documents"
FOUNDING = DATA / "DSV4_DECODE_PERF_PLAN.md"


class FixedClock:
    """A clock that stands."""

    def now(self) -> Instant:
        """Always zero."""
        return Instant(0)

    def wall(self) -> str:
        """Always the same moment."""
        return "2026-11-30T17:00:00.000000Z"


@pytest.fixture(name="ledger")
def ledger_on_disk(tmp_path: Path) -> SqlLedger:
    """A ledger in a file of its own."""
    return open_ledger(tmp_path / "ledger.db", clock=FixedClock())


def evidence(ledger: SqlLedger) -> list[JsonObject]:
    """The bodies of the evidence that a ledger holds."""
    return [record.body for record in ledger.records() if record.kind == "evidence_added"]


def test_a_document_becomes_one_piece_of_evidence(ledger: SqlLedger) -> None:
    """A document is recorded once, with its hash, grade, group and the whole reading."""
    reading = read_documents([FOUNDING])
    (identity,) = record_reading(reading, ledger=ledger, clock=FixedClock(), case="c1")
    (body,) = evidence(ledger)
    assert body["id"] == identity
    assert body["type"] == "document"
    assert body["grade"] == "D"
    assert body["group"] == reading.sources[0].comparisons[0].group
    assert at(body, "reading", "sources", 0, "sha256") == body["sha256"]


def test_a_short_knob_name_finds_the_knob(ledger: SqlLedger) -> None:
    """A table that says TARGET_CTAS speaks of the knob whose full name ends so."""
    knobs = ["OMP_NUM_THREADS", "SGLANG_SM120_MMA_TARGET_CTAS"]
    reading = read_documents([FOUNDING])
    record_reading(reading, ledger=ledger, clock=FixedClock(), case="c1", knobs=knobs)
    assert evidence(ledger)[0]["knob"] == "SGLANG_SM120_MMA_TARGET_CTAS"


def test_reading_twice_adds_nothing(ledger: SqlLedger) -> None:
    """The same file read again is the same evidence."""
    reading = read_documents([FOUNDING])
    record_reading(reading, ledger=ledger, clock=FixedClock(), case="c1")
    assert record_reading(reading, ledger=ledger, clock=FixedClock(), case="c1") == []


def test_copies_in_two_files_share_a_group(ledger: SqlLedger, tmp_path: Path) -> None:
    """A copy of the table in another file is recorded with the same independence group."""
    copy = tmp_path / "notes.md"
    copy.write_text("From the plan.\n\n" + FOUNDING.read_text())
    reading = read_documents([FOUNDING, copy])
    record_reading(reading, ledger=ledger, clock=FixedClock(), case="c1")
    assert len({str(body["group"]) for body in evidence(ledger)}) == 1


def test_missing_files_and_devices_are_named() -> None:
    """A file that is not there, a folder and a device are errors that name the path."""
    for path in (Path("/nowhere/plan.md"), Path("/"), Path("/dev/zero")):
        with pytest.raises(ExonerateError, match=str(path)):
            read_documents([path])


def test_binary_is_an_error_with_a_hint(tmp_path: Path) -> None:
    """A binary file is an error that says so, with something to do."""
    path = tmp_path / "model.bin"
    path.write_bytes(b"\x00\x01\xff\xfe" * 100)
    with pytest.raises(ExonerateError, match=r"model\.bin") as caught:
        read_documents([path])
    assert caught.value.hint


def test_arms_of_different_tools_are_refused() -> None:
    """Arms measured with different tools are an error that gives the reason."""
    arms = [ArmFile("256", DATA / "sglang.jsonl"), ArmFile("512", DATA / "vllm.json")]
    with pytest.raises(ExonerateError, match="different tools"):
        read_documents([], arms=arms)
    compared = read_documents([], arms=arms, across_tools=True)
    assert at(reading_json(compared), "sources", 2, "format") == "arms"
