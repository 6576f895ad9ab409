"""The victim's shape, taken from what it really sent: what every later probe copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean, median

from exonerate.core.deployment.model import Victim
from exonerate.core.scene import Connection
from exonerate.core.wire.tapped import TappedExchange
from exonerate.core.workload.words import WORDS

BYTES_PER_TOKEN = mean(len(word) for word in WORDS) + 1
"""Of the filler that probes send: a word and a blank are one token."""
ENVELOPE_BYTES = 160
"""What a body holds beside the text of its messages."""
ROUNDS_MAX = 30
THINK_S_MAX = 30.0
DEADLINE_S_MAX = 120.0
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """One request of the victim as far as its shape matters."""

    begun_ns: int
    ended_ns: int
    path: str
    body_bytes: int
    request_number: int | None = None
    """On its connection; None where that is not known."""
    stream: bool | None = None
    model: str | None = None
    max_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    answered: bool = True


def sent_of(tapped: TappedExchange) -> SentRequest:
    """The shape of one exchange that crossed a tap."""
    exchange = tapped.exchange
    return SentRequest(
        begun_ns=exchange.begun_ns,
        ended_ns=exchange.ended_ns,
        path=tapped.asked.path,
        body_bytes=tapped.asked.body_bytes,
        request_number=exchange.connection.request_number,
        stream=tapped.asked.stream,
        model=tapped.asked.model,
        max_tokens=tapped.asked.max_tokens,
        prompt_tokens=exchange.content.prompt_tokens,
        completion_tokens=exchange.content.completion_tokens,
        answered=exchange.complete,
    )


def victim_of(sent: Sequence[SentRequest], base: Victim) -> Victim:
    """The victim with everything that the requests show; what they do not show stays as given."""
    if not sent:
        return base
    rows = sorted(sent, key=lambda row: row.begun_ns)
    sizes = [_tokens(row) for row in rows]
    # A request that is sent again adds no history, and another conversation takes it away.
    growth = [later - earlier for earlier, later in pairwise(sizes) if later > earlier]
    streams = [row.stream for row in rows if row.stream is not None]
    limits = [row.max_tokens or row.completion_tokens for row in rows]
    known_limits = [limit for limit in limits if limit]
    numbers = [row.request_number for row in rows if row.request_number is not None]
    return replace(
        base,
        endpoint=rows[0].path or base.endpoint,
        rounds=max(2, min(ROUNDS_MAX, len(rows) + 1)),
        think_s=round(min(THINK_S_MAX, _pause_s(rows, base.think_s)), 3),
        stream=streams[-1] if streams else base.stream,
        connection=_connection(numbers, base),
        concurrency=_concurrency(rows),
        prompt_tokens=max(1, min(sizes[0], max(sizes))),
        growth_tokens=max(0, round(median(growth))) if growth else 0,
        max_tokens=max(known_limits) if known_limits else base.max_tokens,
        deadline_s=_deadline_s(rows, base),
    )


def model_of(sent: Sequence[SentRequest]) -> str | None:
    """The model that the requests named, if they named one."""
    return next((row.model for row in sent if row.model), None)


def _tokens(row: SentRequest) -> int:
    by_bytes = round(max(0, row.body_bytes - ENVELOPE_BYTES) / BYTES_PER_TOKEN)
    return max(1, by_bytes, row.prompt_tokens or 0)


def _pause_s(rows: Sequence[SentRequest], otherwise: float) -> float:
    ended_ns = 0
    pauses: list[float] = []
    for earlier, later in pairwise(rows):
        ended_ns = max(ended_ns, earlier.ended_ns)
        if later.begun_ns >= ended_ns:
            pauses.append((later.begun_ns - ended_ns) / NS_PER_S)
    return median(pauses) if pauses else otherwise


def _connection(numbers: Sequence[int], base: Victim) -> Connection:
    if any(number > 1 for number in numbers):
        return "reuse"
    return "fresh" if len(numbers) > 1 else base.connection


def _concurrency(rows: Sequence[SentRequest]) -> int:
    edges = [(row.begun_ns, 1) for row in rows] + [(row.ended_ns, -1) for row in rows]
    now = most = 0
    for _, step in sorted(edges):
        now += step
        most = max(most, now)
    return max(1, most)


def _deadline_s(rows: Sequence[SentRequest], base: Victim) -> float:
    """Long enough for four times the slowest good answer."""
    took = [(row.ended_ns - row.begun_ns) / NS_PER_S for row in rows if row.answered]
    return min(DEADLINE_S_MAX, max(base.deadline_s, 4 * max(took, default=0.0)))
