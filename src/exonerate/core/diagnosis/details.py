"""The `details` of a fault: what the symptom depends on, measured."""

from __future__ import annotations

from statistics import median

from exonerate.core.diagnosis.connecting import connecting_times
from exonerate.core.diagnosis.dependence import Border, closing_border, idle_border, size_border
from exonerate.core.diagnosis.endings import beat_of, silence_s
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.observables import is_victim_shaped
from exonerate.core.diagnosis.suspect import SuspectClass
from exonerate.core.json_types import Json, JsonObject


def fault_details(facts: Facts, hop: str, suspect_class: SuspectClass) -> JsonObject:
    """Scope and thresholds of a fault at a hop, as far as the facts show them."""
    details: dict[str, Json] = {}
    if suspect_class.predicts.get("fails-at"):
        details.update(_request_number(facts, hop))
    if "ended-after" in suspect_class.predicts:
        details.update(_times(facts, suspect_class.slug))
    if suspect_class.layer in ("network", "boundary"):
        details.update(_of_the_way(facts, hop, suspect_class.slug))
    if suspect_class.settings:
        details["setting"] = list(suspect_class.settings)
    return details


def _of_the_way(facts: Facts, hop: str, slug: str) -> JsonObject:
    """Thresholds of what lies between two hops."""
    sessions = [s for s in facts.sessions if is_victim_shaped(s)]
    match slug:
        case "slow-connect":
            times = connecting_times(facts, hop)
            return {} if times is None else {"dns_s": _ms(times[0]), "connect_s": _ms(times[1])}
        case "mtu-black-hole":
            border = size_border([s for s in sessions if s.failed is not None])
            return {} if border is None else {"request_bytes": round(border.failed)}
        case "stale-reuse":
            return _idle(closing_border([s for s in sessions if s.hop == hop]))
        case "stale-upstream-pool" | "silent-drop":
            own = [s for s in sessions if s.hop == hop]
            failed = [s for s in sessions if s.failed is not None]
            return _idle(idle_border(own) or idle_border(failed))
    return {}


def _idle(border: Border | None) -> JsonObject:
    """Where idle times begin to matter; the timer itself lies between the two."""
    if border is None:
        return {}
    return {"idle_s": round(border.failed, 2), "idle_s_well": round(border.well, 2)}


def _ms(seconds: float) -> float:
    return round(seconds, 3)


def _request_number(facts: Facts, hop: str) -> JsonObject:
    failing = [
        s.failed.exchange.connection
        for s in facts.sessions
        if is_victim_shaped(s) and s.failed is not None
    ]
    fresh = [s for s in facts.sessions if s.plan.name == f"fresh@{hop}"]
    numbers = {connection.request_number for connection in failing}
    fresh_ok = bool(fresh) and all(s.failed is None for s in fresh)
    if len(numbers) != 1 or not fresh:
        return {"request_numbers": sorted(numbers)}
    scope = "socket" if fresh_ok else "process"
    details: dict[str, Json] = {"scope": scope, "after_requests": numbers.pop() - 1}
    details["ages_s"] = [round(connection.age_s, 2) for connection in failing]
    return details


def _times(facts: Facts, slug: str) -> JsonObject:
    """The timer behind constant endings: seconds of silence, or in all."""
    failing = [s.failed for s in facts.sessions if is_victim_shaped(s) and s.failed is not None]
    if not failing:
        return {}
    if slug == "idle-timer":
        return {"idle_s": round(median(silence_s(round_) for round_ in failing), 2)}
    if slug == "total-timer":
        return {"total_s": round(median(round_.total_s for round_ in failing), 2)}
    if slug == "periodic-kill":
        period_s = beat_of(failing)
        return {} if period_s is None else {"period_s": round(period_s, 2)}
    if slug == "request-refused":
        return {"request_bytes": min(round_.exchange.request_bytes for round_ in failing)}
    return {}
