"""On which quantity a symptom depends: those that part the good requests from the bad ones.

Every request that was sent over a kept connection is a point: its number on the connection, the
age of the connection, the silence before it, the size of its body, and whether it went well. A
quantity can be what the fault depends on only if every bad request has more of it than every good
one. History grows, so that at first several quantities do; a walk that keeps one of them small
leaves fewer (`walks`). Where none does, the fault depends on something else, or comes and goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.walk_sessions import PAUSE_S

COPIES = ("victim@", "control-", "fresh@", "walk-")
CLOCK_TOLERANCE_S = 0.05
"""The hop's clock of a connection and ours start at different moments."""


@dataclass(frozen=True, slots=True)
class Point:
    """One request, in what it may have depended on."""

    number: int
    age_s: float
    idle_s: float
    body_bytes: int
    ok: bool


@dataclass(frozen=True, slots=True)
class Bracket:
    """The threshold of one quantity lies between these two; `largest_ok` is None below all."""

    quantity: str
    largest_ok: float | None
    smallest_bad: float


_VALUES: Mapping[str, Callable[[Point], float]] = {
    "number": lambda point: point.number,
    "age": lambda point: point.age_s,
    "idle": lambda point: point.idle_s,
    "size": lambda point: point.body_bytes,
}
_FLOORS: Mapping[str, float] = {"number": 1, "age": 0.01, "idle": 2 * PAUSE_S, "size": 400}
"""What is bad at its smallest possible value does not depend on it."""
_TOLERANCES: Mapping[str, float] = {"age": CLOCK_TOLERANCE_S, "idle": CLOCK_TOLERANCE_S}


def points_of(facts: Facts, hop: str) -> list[Point]:
    """Every request in the victim's framing that entered at the hop and came to an end."""
    return [
        point
        for session in facts.sessions
        if session.hop == hop and session.plan.name.startswith(COPIES)
        for round_ in session.rounds
        if round_.outcome != "unfinished"
        for point in [_point(session, round_)]
    ]


def brackets(points: Sequence[Point]) -> dict[str, Bracket]:
    """The quantities on which the fault can depend, each with the place of its threshold."""
    found = (_bracket(points, quantity) for quantity in _VALUES)
    return {bracket.quantity: bracket for bracket in found if bracket is not None}


def _bracket(points: Sequence[Point], quantity: str) -> Bracket | None:
    value = _VALUES[quantity]
    bad = [value(point) for point in points if not point.ok]
    good = [value(point) for point in points if point.ok]
    if not bad or min(bad) <= _FLOORS[quantity]:
        return None
    if good and max(good) >= min(bad) + _TOLERANCES.get(quantity, 0.0):
        return None
    return Bracket(quantity, max(good, default=None), min(bad))


def _point(session: Session, round_: Round) -> Point:
    exchange = round_.exchange
    connection = exchange.connection
    return Point(
        number=connection.request_number,
        age_s=connection.age_s,
        idle_s=connection.idle_s,
        body_bytes=exchange.body_sent_bytes or exchange.request_bytes,
        ok=session.failed is not round_,
    )
