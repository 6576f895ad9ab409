"""What engines' watchdogs said while rounds waited, and when their silence says something.

A watchdog speaks when the scheduler has made no step for its time although it had work. So a line
says of all of that time that the scheduler stood still, and speaks for `scheduler-stuck`, at the
engine that wrote it. Its silence speaks for the engine, but only where it is known after how long
the watchdog speaks, somebody waited for longer, and the engine's own lines do arrive in the log
that was read. It is one observation whatever the number of waits: no rival is ruled out by
silence alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, is_engine
from exonerate.core.diagnosis.beside import EngineSaid, LogState
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.logs.engine import STANDS_STILL, EngineWord
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S, seconds_between

SPEAKS_WITHIN = 2.0
"""Times its setting. SGLang's looks every half of it at whether a step was made since, so that it
speaks after once to twice as long (0.5.23, `WatchdogRaw._watchdog_once`)."""
SLACK_S = 1.0
"""Before it speaks, a watchdog may dump stacks; and a log is read four times a second."""
BROKE: Sequence[EngineWord] = (
    "gpu-error", "out-of-memory", "died", "transfer-failed", "front-end-stood-still", "no-token",
)  # fmt: skip
"""What else an engine says of itself that is worth to be told, the gravest first."""


@dataclass(frozen=True, slots=True)
class _Wait:
    begun_ns: int
    ended_ns: int


def watchdog(hop: Hop, facts: Facts, through: Sequence[Session]) -> Observation | None:
    """`spoke` for the waits that its lines cover; `silent` where it had time to speak.

    Args:
        hop: an engine.
        facts: with what was read in its log.
        through: the victim's sessions whose requests pass it.
    """
    waits = _waits(through)
    said = [s for s in _said(facts, hop) if s.line.word in STANDS_STILL]
    spoke = sum(any(_covers(one, wait) for one in said) for wait in waits)
    if spoke:
        return Observation(hop.name, "watchdog", "spoke", spoke, len(waits))
    within_s, waited_s = _speaks_within_s(facts, hop), _longest_s(waits)
    if within_s is None or waited_s <= within_s or said or not _audible(facts, hop):
        return None
    text = f"it speaks within {within_s:g} s, and somebody waited for {waited_s:.1f} s"
    return Observation(hop.name, "watchdog", "silent", 1, 1, text)


def engine_said(hop: Hop, facts: Facts) -> Observation | None:
    """The gravest of what an engine's log said of itself; it accuses nobody, and is told."""
    times = Counter(one.line.word for one in _said(facts, hop))
    word = next((word for word in BROKE if times[word]), None)
    if word is None:
        return None
    return Observation(hop.name, "engine-said", word, times[word], times[word])


def unheard_watchdogs(facts: Facts, deployment: Deployment) -> Iterator[str]:
    """Engines whose watchdog was silent, where that says nothing, and why."""
    for hop in deployment.hops:
        if not is_engine(hop) or (hop.log is None and hop.watchdog_s is None):
            continue
        entries = {other.name for other in before(deployment, hop.name)}
        through = [s for s in facts.sessions if s.hop in entries and s.victim_shaped]
        waits = _waits(through)
        if waits and watchdog(hop, facts, through) is None:
            why = _why_unheard(facts, hop, _longest_s(waits))
            yield f"`{hop.name}`: {why}: the silence of its watchdog says nothing"


def _why_unheard(facts: Facts, hop: Hop, waited_s: float) -> str:
    within_s = _speaks_within_s(facts, hop)
    if hop.log is None:
        return "no `log` is given"
    if within_s is None:
        return "after how long its watchdog speaks is not known (`watchdog_s` of the hop)"
    if waited_s <= within_s:
        return (
            f"its watchdog can need up to {within_s:g} s to speak, and nobody waited for longer "
            f"than {waited_s:.1f} s"
        )
    return "none of the engine's own lines arrived in its log, or some were lost"


def _waits(through: Sequence[Session]) -> list[_Wait]:
    rounds = [s.waiting for s in through if s.waiting is not None]
    return [
        _Wait(r.exchange.begun_ns, r.exchange.ended_ns)
        for r in rounds
        if r.outcome in ("hang", "slow")
    ]


def _longest_s(waits: Sequence[_Wait]) -> float:
    return max((seconds_between(wait.begun_ns, wait.ended_ns) for wait in waits), default=0.0)


def _covers(said: EngineSaid, wait: _Wait) -> bool:
    """Whether the time of which a line speaks lies in a wait, in part at least."""
    stood_ns = (said.line.lasted_s or 0.0) * NS_PER_S
    slack_ns = SLACK_S * NS_PER_S
    return said.at_ns - stood_ns - slack_ns <= wait.ended_ns and wait.begun_ns <= said.at_ns


def _said(facts: Facts, hop: Hop) -> list[EngineSaid]:
    return [one for one in facts.beside.engines_said if one.hop == hop.name]


def _speaks_within_s(facts: Facts, hop: Hop) -> float | None:
    """At the latest; None where it is not known, or is off."""
    told = [
        seconds
        for page in facts.beside.settings
        if page.hop == hop.name
        for name in ("watchdog_s", "soft_watchdog_s")
        if (seconds := (page.values or {}).get(name))
    ]
    set_s = hop.watchdog_s or min(told, default=None)
    return None if set_s is None else SPEAKS_WITHIN * set_s + SLACK_S


def _audible(facts: Facts, hop: Hop) -> bool:
    """Whether its own lines arrive in the log that is read, and all of them were read."""
    states: list[LogState] = [state for name, state in facts.beside.logs if name == hop.name]
    whole = all(state.error is None and not state.skipped_bytes for state in states)
    return whole and any(one.line.word == "works" for one in _said(facts, hop))
