"""The decisive exchanges as lanes in time, for the plot of the report."""

from __future__ import annotations

from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.instant import seconds_between
from exonerate.core.json_types import JsonObject

BARS_MAX = 400


def timeline(facts: Facts) -> list[JsonObject]:
    """One bar a round: `{lane, label, begin_s, end_s, state}`, seconds since the run began."""
    bars = [bar for session in facts.sessions for bar in _bars(session, facts.began_ns)]
    return bars[:BARS_MAX]


def _bars(session: Session, began_ns: int) -> list[JsonObject]:
    lane = session.plan.name.split("/")[0]
    return [
        {
            "lane": lane,
            "label": f"{session.scene} round {round_.exchange.round}",
            "begin_s": round(seconds_between(began_ns, round_.exchange.begun_ns), 3),
            "end_s": round(seconds_between(began_ns, round_.exchange.ended_ns), 3),
            "state": round_.outcome,
        }
        for round_ in session.rounds
    ]
