"""The `details` of a fault: what the symptom depends on, and from which value on, measured.

A threshold is an interval: the largest value that went well and the smallest that did not.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence
from statistics import median

from exonerate.core.diagnosis.aside import fresh_sessions
from exonerate.core.diagnosis.axes.points import Bracket, brackets, points_of
from exonerate.core.diagnosis.axes.refining import CAUSES, REFINED
from exonerate.core.diagnosis.connecting import connecting_times
from exonerate.core.diagnosis.dependence import Border, closing_border, idle_border, size_border
from exonerate.core.diagnosis.endings import (
    BEAT_TOLERANCE_S,
    beat_of,
    clocked_endings,
    longest_silence_s,
    silence_s,
    stopped_s,
)
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.walk_sessions import repeats_in_walks
from exonerate.core.instant import NS_PER_S
from exonerate.core.json_types import Json, JsonObject

QUANTITY_WORDS: Mapping[str, str] = {
    "number": "the number of the request on its connection",
    "age": "the age of the connection",
    "idle": "the silence before the request",
    "size": "the size of the request's body",
}

_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "age": (
        "let the client close connections that are older than this hop bears, or raise the age "
        "that it bears",
    ),
    "idle": (
        "let the client close idle connections sooner than this hop forgets them, or send TCP "
        "keep-alive probes",
    ),
    "size": ("raise this hop's limit of the request's size, or send less history",),
    "content-flip": ("make an exception from this hop's rule on contents for these requests",),
    "framing-flip": (
        "let the client send its bodies with `Content-Length`, or let this hop accept chunked ones",
    ),
    "stream-flip": ("until this hop passes streams on, ask for whole answers (`stream = false`)",),
    "encoding-flip": ("do not offer compression to this hop (`Accept-Encoding: identity`)",),
}


def fault_details(judgement: Judgement) -> JsonObject:
    """Scope and thresholds of the top suspect's fault, as far as the facts show them."""
    suspect = judgement.top.suspect
    suspect_class = suspect.suspect_class
    details: dict[str, Json] = {}
    if suspect_class.predicts.get("fails-at"):
        details.update(_request_number(judgement.facts, suspect.hop))
    if suspect_class.slug in REFINED:
        details.update(_dependence(judgement))
        walked = repeats_in_walks(judgement.facts, suspect.hop)
        if walked:
            details["repeated_in_walks"] = walked
    if "ended-after" in suspect_class.predicts:
        details.update(_times(judgement.facts, suspect_class.slug))
    if suspect_class.slug == "periodic-kill":
        ended = clocked_endings(suspect.hop, judgement.facts, judgement.deployment)
        details.update(_beat(judgement.facts, ended))
    if suspect_class.layer in ("network", "boundary"):
        details.update(_of_the_way(judgement.facts, suspect.hop, suspect_class.slug))
    settings = settings_of(judgement)
    if settings:
        details["setting"] = list(settings)
    return details


def settings_of(judgement: Judgement) -> tuple[str, ...]:
    """What to change: by what the fault depends on where that is known, else by its class."""
    suspect = judgement.top.suspect
    usual = suspect.suspect_class.settings
    if suspect.suspect_class.slug not in REFINED:
        return usual
    flipped = _flipped(judgement)
    left = list(brackets(points_of(judgement.facts, suspect.hop)))
    cause = flipped[0] if flipped else left[0] if len(left) == 1 else ""
    if cause == "size" and suspect.suspect_class.slug == "request-refused":
        return usual
    return _SETTINGS.get(cause, usual)


def _flipped(judgement: Judgement) -> list[str]:
    """The causes whose one change makes the symptom go."""
    return [name for name in CAUSES if (o := judgement.observed(name)) and o.value == "flips"]


def _of_the_way(facts: Facts, hop: str, slug: str) -> JsonObject:
    """Thresholds of what lies between two hops."""
    sessions = _victims(facts)
    match slug:
        case "slow-connect":
            times = connecting_times(facts, hop)
            return {} if times is None else {"dns_s": _ms(times[0]), "connect_s": _ms(times[1])}
        case "mtu-black-hole":
            border = size_border([s for s in sessions if s.failed is not None])
            return {} if border is None else {"request_bytes": _interval(_bracket("size", border))}
        case "stale-reuse":
            return _idle(closing_border([s for s in sessions if s.hop == hop]))
        case "stale-upstream-pool" | "silent-drop":
            own = [s for s in sessions if s.hop == hop]
            failed = [s for s in sessions if s.failed is not None]
            return _idle(idle_border(own) or idle_border(failed))
    return {}


def _idle(border: Border | None) -> JsonObject:
    """Where idle times begin to matter: the timer lies between the two, so its middle is told."""
    if border is None:
        return {}
    between = _interval(_bracket("idle", border))
    return {"idle_s": round((border.well + border.failed) / 2, 2), "idle_s_between": between}


def _bracket(quantity: str, border: Border) -> Bracket:
    return Bracket(quantity, border.well, border.failed)


def _ms(seconds: float) -> float:
    return round(seconds, 3)


def _request_number(facts: Facts, hop: str) -> JsonObject:
    failing = [s.failed.exchange.connection for s in _victims(facts) if s.failed is not None]
    fresh = fresh_sessions(hop, facts)
    numbers = {connection.request_number for connection in failing}
    fresh_ok = bool(fresh) and all(s.failed is None for s in fresh)
    if not fresh:
        return {"request_numbers": sorted(numbers)}
    left = brackets(points_of(facts, hop))
    by_number = "number" in left or not left
    details: dict[str, Json] = {}
    if fresh_ok or (by_number and all(s.failed for s in fresh)):
        # A new connection can also fail for what its request is like, or not each time.
        details["scope"] = "socket" if fresh_ok else "process"
    counted = by_number and numbers != {1}
    if len(numbers) == 1 and counted:
        details["after_requests"] = numbers.pop() - 1
    else:
        details["request_numbers"] = sorted(numbers)
    details["ages_s"] = [round(connection.age_s, 2) for connection in failing]
    return details


def _dependence(judgement: Judgement) -> JsonObject:
    """What parts the good requests from the bad ones: an axis that flips, else quantities."""
    flipped = _flipped(judgement)
    if flipped:
        return {"depends_on": [CAUSES[name] for name in flipped]}
    left = brackets(points_of(judgement.facts, judgement.top.suspect.hop))
    if not left:
        return {}
    details: dict[str, Json] = {"depends_on": [QUANTITY_WORDS[name] for name in left]}
    refused = judgement.top_is("request-refused")
    for name, key in (("size", "request_bytes"), ("age", "age_s"), ("idle", "idle_before_s")):
        if name in left and (len(left) == 1 or (refused and name == "size")):
            details[key] = _interval(left[name])
    return details


def _interval(bracket: Bracket) -> JsonObject:
    whole = bracket.quantity == "size"
    ok, bad = bracket.largest_ok, bracket.smallest_bad
    if whole:
        return {"largest_ok": None if ok is None else int(ok), "smallest_bad": int(bad)}
    return {"largest_ok": None if ok is None else round(ok, 2), "smallest_bad": round(bad, 2)}


def _times(facts: Facts, slug: str) -> JsonObject:
    """The timer behind constant endings: seconds of silence, or in all, and between which."""
    failing = [s.failed for s in _victims(facts) if s.failed is not None]
    if not failing:
        return {}
    good = [
        round_
        for session in facts.sessions
        if session.hop in {s.hop for s in _victims(facts) if s.failed is not None}
        for round_ in session.rounds
        if round_.outcome in ("ok", "slow")
    ]
    if slug == "idle-timer":
        silences = [silence_s(round_) for round_ in failing]
        return _timer("idle_s", silences, [longest_silence_s(round_) for round_ in good])
    if slug == "total-timer":
        totals = [round_.total_s for round_ in failing]
        return _timer("total_s", totals, [round_.total_s for round_ in good])
    return {}


def _timer(key: str, fatal: Sequence[float], survived: Sequence[float]) -> JsonObject:
    """The measured timer, the longest that survived below it, and the range of the endings."""
    below = [seconds for seconds in survived if seconds < min(fatal)]
    return {
        key: round(median(fatal), 2),
        f"{key}_between": {
            "largest_ok": round(max(below), 2) if below else None,
            "smallest_bad": round(min(fatal), 2),
        },
        f"{key}_range": [round(min(fatal), 2), round(max(fatal), 2)],
    }


def _beat(facts: Facts, failing: Sequence[Round]) -> JsonObject:
    """Period and phase of the endings; the phase counts from the beginning of the run."""
    period_s = beat_of(failing)
    if period_s is None:
        return {}
    times = sorted(stopped_s(r) - facts.began_ns / NS_PER_S for r in failing)
    beats = max(1, round((times[-1] - times[0]) / period_s))
    spread_s = BEAT_TOLERANCE_S / beats
    # Moments of a cycle are averaged on its circle: shortly before and after the beat is near it.
    turns = sum(cmath.exp(2j * cmath.pi * time / period_s) for time in times)
    phase_s = (cmath.phase(turns) / (2 * cmath.pi) % 1.0) * period_s
    return {
        "period_s": round(period_s, 2),
        "period_s_range": [round(period_s - spread_s, 2), round(period_s + spread_s, 2)],
        "phase_s": round(phase_s, 2),
        "endings": len(times),
    }


def _victims(facts: Facts) -> list[Session]:
    return [session for session in facts.sessions if session.victim_shaped]
