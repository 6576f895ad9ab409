"""The job `snapshot`: looks, suggests, reads metrics only when told to, and records."""

from __future__ import annotations

import asyncio
from pathlib import Path

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import open_ledger
from exonerate.core.case.fold import fold_cases
from exonerate.core.case.redaction import Redactor
from exonerate.core.deployment.model import Hop
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Page
from exonerate.jobs.case import CaseBook
from exonerate.jobs.snapshot import read_metrics, record_snapshot, snapshot

HOPS = (
    Hop(name="edge", role="proxy", url="http://h:1"),
    Hop(name="engine", role="engine", url="http://h:2", metrics="http://h:2/metrics"),
)


def taken(hops: object, pids: object) -> JsonObject:
    """A look at a hop that does not accept."""
    return {
        "schema": "exonerate.snapshot/1",
        "hops": [{"hop": "edge", "accept_queue": 5, "log_tail": ["secret diary"]}],
        "processes": [],
    }


def test_a_snapshot_suggests_and_gives_no_verdict() -> None:
    """One look convicts nobody."""
    answer = snapshot(HOPS, (), take=taken)
    assert answer["verdict"] is None
    assert len(answer["suggestions"]) == 1  # type: ignore[arg-type]  # JSON


def test_metrics_are_asked_of_those_who_have_them() -> None:
    """A page that does not answer is an observation."""
    asked: list[str] = []

    async def get(url: str, *, timeout_s: float) -> Page:
        asked.append(url)
        return Page(None, "", "refused")

    pages = asyncio.run(read_metrics(HOPS, get=get, read_counters=lambda _: (None, {})))
    assert asked == ["http://h:2/metrics"]
    assert pages == {"engine": {"error": "refused"}}


def test_a_snapshot_is_evidence_of_the_case_without_log_lines(tmp_path: Path) -> None:
    """It is graded as one look, and what logs quote stays out of the ledger."""
    ledger = open_ledger(tmp_path / "ledger.db", clock=SystemClock())
    book = CaseBook(ledger, Redactor(ledger.key()))
    book.open("a hang", symptom="hang", deployment=None)
    (case,) = fold_cases(ledger.records())
    answer = snapshot(HOPS, (), take=taken)
    identity = record_snapshot(answer, case=case, book=book, clock=SystemClock())
    (case,) = fold_cases(ledger.records())
    (evidence,) = case.evidence
    assert (evidence.id, evidence.type, evidence.grade) == (identity, "observation", "D")
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"diary" in content for content in files)
