"""The job `snapshot`: look, say what is remarkable, and put it into the case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from exonerate.core.case.model import Case
from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.snapshot import recorded, suggestions
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import Clock, CounterReader, PageReader
from exonerate.jobs.case import CaseBook

METRICS_TIMEOUT_S = 3.0


class SnapshotTaker(Protocol):
    """Looks at processes and hops of this host."""

    def __call__(self, hops: Sequence[Hop], pids: Sequence[int]) -> JsonObject:
        """The snapshot `exonerate.snapshot/1`, without suggestions."""


def snapshot(hops: Sequence[Hop], pids: Sequence[int], *, take: SnapshotTaker) -> JsonObject:
    """What was seen and what it suggests; nothing is sent to anybody."""
    seen = take(hops, pids)
    found: list[Json] = [suggestion.to_json() for suggestion in suggestions(seen)]
    return {**seen, "suggestions": found, "verdict": None}


async def read_metrics(
    hops: Sequence[Hop], *, get: PageReader, read_counters: CounterReader
) -> Mapping[str, JsonObject]:
    """The metrics page of every hop that has one, once; the only request a snapshot can send."""
    found: dict[str, JsonObject] = {}
    for hop in hops:
        if hop.metrics is None:
            continue
        page = await get(hop.metrics, timeout_s=METRICS_TIMEOUT_S)
        if page.status == 200:
            kind, values = read_counters(page.text)
            found[hop.name] = {"engine": kind, "values": dict(values)}
        else:
            found[hop.name] = {"error": page.error or f"HTTP status {page.status}"}
    return found


def record_snapshot(answer: JsonObject, *, case: Case, book: CaseBook, clock: Clock) -> str:
    """Put the snapshot into the case as an observation; returns the evidence's id."""
    return book.add_observation(
        case, source="exonerate snapshot", content=recorded(answer), clock=clock
    )
