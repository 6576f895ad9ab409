"""The decisive exchanges as lanes in time, for the plot of the report."""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.diagnosis.facts import Facts, Outcome, Session
from exonerate.core.instant import seconds_between
from exonerate.core.json_types import JsonObject

BARS_MAX = 400
STATES: Mapping[Outcome, str] = {
    "ok": "ok", "slow": "late", "hang": "hung", "cut": "truncated", "lost-ending": "truncated",
    "refused": "refused", "server-error": "error", "no-answer": "reset", "no-connect": "refused",
    "corrupt": "error", "unfinished": "idle",
}  # fmt: skip
"""How the report paints each outcome."""


def timeline(facts: Facts) -> list[JsonObject]:
    """One bar a round: `{lane, label, begin_s, end_s, state}`, seconds since the run began."""
    bars = [bar for session in facts.sessions for bar in _bars(session, facts.began_ns)]
    return bars[:BARS_MAX]


def _bars(session: Session, began_ns: int) -> list[JsonObject]:
    # A probe that a stall started goes over a new connection: that is what its lane is called.
    lane = session.plan.name.split("/")[0].replace("meanwhile@", "new@")
    return [
        {
            "lane": lane,
            "label": f"{session.scene} round {round_.exchange.round}",
            "begin_s": round(seconds_between(began_ns, round_.exchange.begun_ns), 3),
            "end_s": round(seconds_between(began_ns, round_.exchange.ended_ns), 3),
            "state": STATES[round_.outcome],
        }
        for round_ in session.rounds
    ]
