"""How failing rounds ended: who ended them, in which phase, and after which time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond
from exonerate.core.diagnosis.facts import ERROR_EVENT, Facts, Round, Session
from exonerate.core.diagnosis.sense import FOREIGN, GARBLED
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S, seconds_between

REPEATS_MIN = 3
"""Fewer failures show no regularity."""
SILENCE_S_MIN = 0.4
"""A shorter pause before the end is the pace of the tokens, not a silence."""
SILENCE_SHARE = 0.5
"""A silence that is not half as long sets off no timer, however roughly it is measured."""
AT_ONCE_S, REFUSED_AT_ONCE_S = 0.3, 0.9
"""An error answer takes its own time to be made; timers of boxes are set in whole seconds."""
TOLERANCE_S, TOLERANCE_SHARE = 0.25, 0.08
LATE_IN = 5
"""One ending in so many may be late: a timer is obeyed late on a busy host, and never early."""
OUTLIVED_RATIO = 2.0
ENDED_BY_A_TIMER = frozenset({"cut", "no-answer", "server-error"})
"""What the running out of a box's timer looks like to its client."""
BEATS_MIN, BEAT_PARTS_MAX = 4, 3
BEAT_TOLERANCE_S, PERIOD_S_MIN = 0.15, 2.0
KEPT_UP = "kept-"
"""How the names of sessions begin that keep answers under way (`beats`)."""
TOGETHER_S, APART_S = 0.25, 0.5
"""Streams that began so far apart and stopped so close to each other stopped together."""
TIMEOUTS = frozenset({504, 408})
_SAID = {504: "timeout", 408: "timeout", 503: "unavailable", 502: "bad-gateway"}
TRANSPORT_DEFECTS = frozenset(
    {"invalid-utf8", "invalid-json", "framing-in-body", "duplicated-event", "text-after-finish",
     "invalid-coding"}
)  # fmt: skip


def ended_by(round_: Round) -> str:
    """Who ended the exchange, from its end code; an error in the stream is the hop's word."""
    if ERROR_EVENT in round_.exchange.content.defects:
        return "hop"
    names = {"c": "us", "h": "hop", "n": "network"}
    return names.get(round_.exchange.end[:1], "nobody")


def phase(round_: Round) -> str:
    """How far the answer had come."""
    if round_.exchange.first_token_ns is not None:
        return "after-token"
    return "before-head" if round_.exchange.first_byte_ns is None else "before-token"


def error_said(rounds: Sequence[Round]) -> str | None:
    """What kind of error came back, where every failure was the same one of 5xx."""
    statuses = {round_.exchange.status for round_ in rounds if round_.outcome == "server-error"}
    if len(statuses) != 1 or any(round_.outcome != "server-error" for round_ in rounds):
        return None
    return _SAID.get(statuses.pop() or 0, "error")


def silence_s(round_: Round) -> float:
    """Seconds without a byte of the answer before the end."""
    exchange = round_.exchange
    last = exchange.begun_ns
    if exchange.arrivals_ms:
        last = exchange.begun_ns + int(exchange.arrivals_ms[-1] * 1e6)
    return seconds_between(last, exchange.ended_ns)


def longest_silence_s(round_: Round) -> float:
    """The longest time without a token that the round lived through, before the first included."""
    arrivals = round_.exchange.arrivals_ms
    if not arrivals:
        return round_.total_s
    gaps = (later - earlier for earlier, later in pairwise(arrivals))
    return max(arrivals[0], *gaps) / 1000 if len(arrivals) > 1 else arrivals[0] / 1000


def ended_after(rounds: Sequence[Round]) -> str | None:
    """What the endings have in common: the same silence, the same total time, neither, or at once.

    None below `REPEATS_MIN` endings. A silence that is the whole time counts as a silence: which
    of two timers it was cannot be told without an answer that flows.
    """
    if len(rounds) < REPEATS_MIN:
        return None
    totals = _totals(rounds)
    silences = [silence_s(round_) for round_ in rounds]
    statuses = {round_.exchange.status or 0 for round_ in rounds}
    # Who says that it took too long has waited, however short its patience.
    refusals = min(statuses) >= 400 and not statuses <= TIMEOUTS
    if median(totals) < (REFUSED_AT_ONCE_S if refusals else AT_ONCE_S):
        return "at-once"
    if median(silences) >= SILENCE_S_MIN and _alike_but_late(silences):
        return "constant-silence"
    return "constant-total" if _alike(totals) else "varying"


def ended_after_at(
    hop: str, through: Sequence[Session], past: Sequence[Session] = ()
) -> str | None:
    """What the endings have in common, where they are met first if there are enough.

    A hop further out may hold an answer back, so that a silence looks like a total time there.
    `past` are sessions past the hop: a timer of silence does not go off where nobody is silent.
    """
    bad = [s.failed for s in through if s.failed is not None]
    own = [s.failed for s in through if s.failed is not None and s.hop == hop]
    rounds = own if len(own) >= REPEATS_MIN else bad
    value = ended_after(rounds)
    if value == "constant-silence" and _nobody_is_so_silent(rounds, past):
        # A box may drain a connection for a while after it has ended the answer.
        flowing = all(round_.exchange.first_token_ns is not None for round_ in rounds)
        return "constant-total" if flowing and _alike(_totals(rounds)) else "own-silence"
    silent = any(silence_s(round_) >= SILENCE_S_MIN for round_ in own)
    return None if rounds is bad and silent and value == "constant-total" else value


def _nobody_is_so_silent(bad: Sequence[Round], past: Sequence[Session]) -> bool:
    """Whether enough answers past the hop were whole, and none of them paused nearly as long."""
    whole = [r for s in past for r in s.rounds if r.outcome in ("ok", "slow")]
    if len(whole) < REPEATS_MIN:
        return False
    limit = SILENCE_SHARE * median(silence_s(round_) for round_ in bad)
    return max(map(longest_silence_s, whole)) < limit


def merely_late(through: Sequence[Session], past: Sequence[Session]) -> list[Session]:
    """Sessions past the hop that hung to their deadline, and only show how late answers can come.

    Where the hop ended everything after the same silence, what was left waiting for at least
    `OUTLIVED_RATIO` times as long was not ended; that answers do come, and later than that, is
    said by the others past the hop, which must be more.
    """
    ends = [s.failed for s in through if s.failed is not None]
    hung = [s for s in past if s.failed is not None and s.failed.outcome == "hang"]
    answered = [s for s in past if s.failed is None and s.rounds]
    if not hung or len(answered) < 2 * len(hung) or len(ends) < max(REPEATS_MIN, len(through)):
        return []
    if any(ended_by(r) != "hop" for r in ends) or ended_after(ends) != "constant-silence":
        return []
    limit_s = median(silence_s(r) for r in ends)
    if any(max(map(longest_silence_s, s.rounds)) < limit_s for s in answered):
        return []
    waits = [s.failed for s in hung if s.failed is not None]
    outlived = all(
        r.exchange.given_up == "deadline" and silence_s(r) >= OUTLIVED_RATIO * limit_s
        for r in waits
    )
    return hung if outlived else []


def _totals(rounds: Sequence[Round]) -> list[float]:
    return [round_.total_s for round_ in rounds]


def one_ending(sessions: Sequence[Session], symptoms: Sequence[str]) -> list[str]:
    """The symptoms again; one of them where the same timer ended all that failed.

    A box whose timer runs out says so with a status of 5xx, or closes, as the head of the answer
    has passed it or not. What ended after the same silence was ended by the same thing.
    """
    bad = [s.failed for s in sessions if s.failed is not None]
    kinds = {r.outcome for r in bad}
    ended = [silence_s(r) for r in bad if ended_by(r) == "hop"]
    mixed = "server-error" in kinds and len(kinds) > 1 and kinds <= ENDED_BY_A_TIMER
    if not mixed or len(ended) < len(bad) or min(ended) < REFUSED_AT_ONCE_S or not _alike(ended):
        return list(symptoms)
    return ["cut" if symptom in ENDED_BY_A_TIMER else symptom for symptom in symptoms]


def period(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """What the clock has to do with the endings: a regular beat, or all in flight at once."""
    bad = clocked_endings(hop.name, facts, deployment)
    if beat_of(bad):
        return Observation(hop.name, "period", "regular", len(bad), len(bad))
    times = len(moments(hop.name, facts, deployment))
    return Observation(hop.name, "period", "together", times, times) if times else None


def clocked_endings(hop: str, facts: Facts, deployment: Deployment) -> list[Round]:
    """What failed through the hop of the victim's copies, and of what was kept under way there."""
    passing = before(deployment, hop)
    entries = {h.name for h in passing}
    copies = [s for s in facts.sessions if s.hop in entries and s.victim_shaped]
    return [s.failed for s in (*copies, *kept_up(facts, passing)) if s.failed]


def kept_up(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """The answers that were kept under way at these hops (`beats`)."""
    names = {hop.name for hop in hops}
    return [s for s in facts.sessions if s.hop in names and s.plan.name.startswith(KEPT_UP)]


def ended_itself(session: Session) -> bool:
    """Whether the session failed before we gave it up."""
    return session.failed is not None and session.failed.exchange.given_up == "no"


def moments(hop: str, facts: Facts, deployment: Deployment) -> list[float]:
    """The moments at which all that was under way through the hop stopped, and not past it."""
    entries = {h.name for h in before(deployment, hop)}
    inner = {h.name for h in beyond(deployment, hop)}
    through = [s for s in facts.sessions if s.hop in entries]
    return stopped_together(through, [s for s in facts.sessions if s.hop in inner])


def stopped_s(round_: Round) -> float:
    """When the answer stopped: at its end, or with its last token where we gave it up."""
    exchange = round_.exchange
    if exchange.given_up == "no" or not exchange.arrivals_ms:
        return exchange.ended_ns / NS_PER_S
    return exchange.begun_ns / NS_PER_S + exchange.arrivals_ms[-1] / 1000


def stopped_together(through: Sequence[Session], past: Sequence[Session]) -> list[float]:
    """The moments at which every answer in flight through a hop stopped, and none past it.

    At least two that began `APART_S` from each other, so that it was no timer of theirs. One that
    was hardly begun may be on another connection already, and is not counted.
    """
    broken = [r for s in through if (r := s.failed) and r.exchange.first_token_ns is not None]
    inside = [r for s in through for r in s.rounds if r not in broken]
    outside = [r for s in past for r in s.rounds]
    found: list[float] = []
    for at_s in sorted(map(stopped_s, broken)):
        if found and at_s - found[-1] < APART_S:
            continue
        began = [_began_s(r) for r in broken if 0 <= stopped_s(r) - at_s <= TOGETHER_S]
        spared = any(_went_on(r, at_s) and at_s - _began_s(r) >= APART_S for r in inside)
        alone = max(began) - min(began) < APART_S
        if not alone and not spared and any(_went_on(r, at_s) for r in outside):
            found.append(at_s)
    return found


def _began_s(round_: Round) -> float:
    return round_.exchange.begun_ns / NS_PER_S


def _went_on(round_: Round, at_s: float) -> bool:
    """Whether it was under way at that moment, and for some time more."""
    return _began_s(round_) < at_s and stopped_s(round_) > at_s + TOGETHER_S


def beat_of(rounds: Sequence[Round]) -> float | None:
    """The period in seconds on which every ending falls, or None.

    The smallest gap between two endings is a multiple of the period, so its fractions are tried,
    largest first. With `BEATS_MIN` endings and the tolerance of `BEAT_TOLERANCE_S`, endings at
    random moments pass for a beat of 4 s with a chance below 0.0005.
    """
    times = sorted(stopped_s(round_) for round_ in rounds)
    if len(times) < BEATS_MIN:
        return None
    if _alike([round_.total_s for round_ in rounds]):
        # A timer ends our evenly spaced requests as evenly.
        return None
    gaps = [later - earlier for earlier, later in pairwise(times)]
    real = [gap for gap in gaps if gap > 2 * BEAT_TOLERANCE_S]
    if len(real) < BEATS_MIN - 1:
        return None
    for parts in range(1, BEAT_PARTS_MAX + 1):
        period = _refined(times, min(real) / parts)
        if period >= PERIOD_S_MIN and _on_beat(times, period):
            return period
    return None


def _refined(times: Sequence[float], guess: float) -> float:
    """The period again, from the longest stretch that the guess can count."""
    beats = round((times[-1] - times[0]) / guess)
    return (times[-1] - times[0]) / beats if beats else guess


def _on_beat(times: Sequence[float], period: float) -> bool:
    offsets = [(time - times[0]) / period for time in times]
    return all(abs(offset - round(offset)) * period <= BEAT_TOLERANCE_S for offset in offsets)


def defect_kind(rounds: Sequence[Round]) -> str | None:
    """What is wrong with the content: another's text, no text, a template's token, or bytes."""
    defects = {defect for round_ in rounds for defect in round_.exchange.content.defects}
    if not defects:
        return None
    if FOREIGN in defects:
        return "foreign"
    if GARBLED in defects:
        return "garbled"
    if defects & TRANSPORT_DEFECTS:
        return "transport"
    return "special-token" if "special-token" in defects else None


def _alike_but_late(values: Sequence[float]) -> bool:
    """Whether they are the same time, but for few that are longer."""
    return _alike(sorted(values)[: len(values) - len(values) // LATE_IN])


def _alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= max(TOLERANCE_S, TOLERANCE_SHARE * median(values))
