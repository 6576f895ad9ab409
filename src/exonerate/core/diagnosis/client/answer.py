"""A judgement about the client in the contract `exonerate.verdict/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exonerate.core.deployment.topology import entry_hop
from exonerate.core.diagnosis.answer import SCHEMA
from exonerate.core.diagnosis.client.judge import ClientJudgement
from exonerate.core.diagnosis.client.signs import (
    CLIENT,
    after_close,
    held_connections,
    stale_idle_s,
    timer_seen,
)
from exonerate.core.diagnosis.client.wording import (
    client_paragraph,
    lanes,
    sign_text,
    summary,
)
from exonerate.core.diagnosis.confidence import supported
from exonerate.core.diagnosis.posterior import Rating
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.wording import clean_tries_sentence
from exonerate.core.json_types import Json, JsonObject

IMITATED = "the client program itself: its own requests were imitated, not recorded"


def client_answer(judged: ClientJudgement, outcome: str) -> JsonObject:
    """The whole answer where the client is convicted, cleared, or cannot be judged."""
    fault = outcome == "fault"
    answer: dict[str, Json] = {
        "schema": SCHEMA,
        "outcome": outcome,
        "faults": [_fault(judged, judged.top)] if fault else [],
        "explanation": None,
        "cleared": _cleared(judged, outcome),
        "not_examined": _not_examined(judged),
        "next": _next(judged, outcome),
        "elapsed_s": round(judged.elapsed_s, 3),
        "observations": _observations(judged),
        "suspects": [_row(rating) for rating in judged.ratings],
        "none_of_these": round(judged.none_of_these, 4),
        "timeline": list(lanes(judged.observed)),
        "requests_sent": sum(len(s.rounds) for s in judged.sessions),
        "observed": summary(judged),
    }
    answer["paragraph"] = client_paragraph(judged, outcome)
    return answer


def handed_over_answer(judged: ClientJudgement, path: JsonObject) -> JsonObject:
    """The localiser's answer, with what the client's own run adds to it."""
    answer: dict[str, Json] = dict(path)
    answer["observations"] = [*_observations(judged), *_list(path, "observations")]
    answer["timeline"] = [*lanes(judged.observed), *_list(path, "timeline")]
    answer["observed"] = summary(judged)
    answer["elapsed_s"] = round(judged.elapsed_s, 3)
    answer["not_examined"] = [item for item in _list(path, "not_examined") if item != IMITATED]
    answer["requests_sent"] = int(str(path.get("requests_sent", 0))) + sum(
        len(session.rounds) for session in judged.sessions
    )
    if path["outcome"] == "fault":
        _beside_the_path(judged, answer)
    elif path["outcome"] == "no_fault" and not path.get("explanation") and judged.unwell:
        _not_reproduced(judged, answer)
    return answer


def _beside_the_path(judged: ClientJudgement, answer: dict[str, Json]) -> None:
    """A client that had no part in it is cleared; one whose limit is short is the second fault."""
    timer = next(r for r in judged.ratings if r.suspect.suspect_class.slug == "client-timer")
    if judged.timer_is_too_short() and not timer.contradicted_by:
        answer["faults"] = [_fault(judged, timer), *_list(answer, "faults")]
        answer["paragraph"] = (
            f"Two faults, and only both together fail. First, on the path: {answer['paragraph']} "
            f"Second, the client {timer.suspect.suspect_class.mechanism}: it waits "
            f"{_limit_s(judged):.2f} s, and through the path our own requests were answered whole, "
            "but later than that."
        )
        return
    why = "its requests were whole, and it ended none of them before the path had failed it"
    answer["cleared"] = [{"hop": CLIENT, "why": why}, *_list(answer, "cleared")]


def _not_reproduced(judged: ClientJudgement, answer: dict[str, Json]) -> None:
    """The victim failed and our imitation did not: nobody can be cleared by that."""
    answer["outcome"] = "insufficient_evidence"
    answer["explanation"] = None
    answer["cleared"] = []
    names = ("client-exit", "wire")
    text = "; ".join(sign_text(o) for o in judged.observations if o.observable in names)
    answer["paragraph"] = (
        f"The client's own run did not go well ({text}), but the same shape of requests sent by "
        f"this tool did. The evidence does not suffice to name anybody. {answer['paragraph']}"
    )
    answer["next"] = [
        "run it again: a fault that comes and goes needs more than one `exonerate locate --run`",
        *_list(answer, "next"),
    ]


def _fault(judged: ClientJudgement, rating: Rating) -> JsonObject:
    suspect_class = rating.suspect.suspect_class
    boundary = suspect_class.layer == "boundary"
    hops: list[Json] = [CLIENT, entry_hop(judged.deployment).name] if boundary else [CLIENT]
    return {
        "layer": suspect_class.layer,
        "hops": hops,
        "class": suspect_class.slug,
        "details": {
            **_details(judged, suspect_class.slug),
            "setting": list(suspect_class.settings),
        },
        "confidence": supported(rating.posterior, _tries(judged)),
        "evidence": [o.id for o in rating.predicted],
        "mechanism": suspect_class.mechanism,
        "flips": suspect_class.flips,
    }


def _tries(judged: ClientJudgement) -> int:
    """The client's own requests and ours: each could have spoken against the class."""
    return len(judged.observed.exchanges) + sum(len(s.rounds) for s in judged.sessions)


def _details(judged: ClientJudgement, slug: str) -> dict[str, Json]:
    observed = judged.observed
    match slug:
        case "pool-exhausted":
            held = len(held_connections(observed))
            return {"scope": "process", "after_requests": held, "held_connections": held}
        case "client-timer":
            return {"total_s": round(_limit_s(judged), 2)}
        case "stale-reuse":
            idle_s = stale_idle_s(observed, after_close(observed))
            return {} if idle_s is None else {"idle_s": round(idle_s, 2)}
        case "env-proxy":
            route = next(o for o in judged.observations if o.observable == "client-route")
            return {"peer": route.text, "variables": sorted(observed.proxies)}
        case "client-deadlock":
            return {"after_requests": len(observed.rounds) - 1}
        case _:
            return {}


def _limit_s(judged: ClientJudgement) -> float:
    timer = timer_seen(judged.observed)
    return timer.limit_s if timer is not None else 0.0


def _cleared(judged: ClientJudgement, outcome: str) -> list[Json]:
    """The path, by the client's own exchanges or by our own requests in its shape."""
    cleared: list[Json] = []
    good = [r for r in judged.observed.rounds if r.exchange.complete]
    own = next((o for o in judged.observations if o.observable == "own-probe"), None)
    if outcome == "no_fault":
        why = f"carried {len(good)} of {len(judged.observed.rounds)} of the client's own requests"
        text = f"{why} ({clean_tries_sentence(len(good))})"
        cleared = [{"hop": hop.name, "why": text} for hop in judged.deployment.hops]
        cleared.insert(0, {"hop": CLIENT, "why": judged.top.suspect.suspect_class.mechanism})
    elif own is not None and own.value != "fails" and own.times == own.tries:
        why = f"answered {own.times} of {own.tries} requests in the client's shape"
        if good:
            why += f", and {len(good)} of the client's own"
        skip = 1 if judged.top.suspect.suspect_class.layer == "boundary" else 0
        cleared = [{"hop": hop.name, "why": why} for hop in judged.deployment.hops[skip:]]
    return cleared


def _not_examined(judged: ClientJudgement) -> list[Json]:
    missing: list[Json] = []
    if not judged.observed.samples:
        missing.append("the client's sockets and threads: it ended before they could be read")
    if any(c.unread for c in judged.observed.connections):
        missing.append("connections on which something else than plain HTTP/1.1 was spoken")
    missing.append("the inside of the client: only what it sent, read and held was seen")
    if not judged.sessions:
        missing.append("the hops behind the first one: nothing was asked of them by this tool")
    return missing


def _next(judged: ClientJudgement, outcome: str) -> list[Json]:
    suspect_class = judged.top.suspect.suspect_class
    if outcome == "fault":
        again = "after the repair run `exonerate locate --run` again: it must turn to no_fault"
        return [*suspect_class.settings, again]
    if outcome == "no_fault":
        return ["run it longer, or `exonerate watch`, if the symptom comes back"]
    if not judged.observed.connections:
        return [
            "the program did not talk to the tap: give it its address by the variable or option "
            "that it reads (the URL of the first hop on its command line is rewritten too)"
        ]
    more = list(suspect_class.settings) if suspect_class.is_fault else []
    return [
        *more,
        "look at the program while it stands still: `exonerate snapshot --pid PID`, "
        "`py-spy dump --pid PID`",
        "run `exonerate locate` without `--run` to examine the path alone",
    ]


def _observations(judged: ClientJudgement) -> list[Json]:
    return [{"id": o.id, "text": sign_text(o)} for o in _shown(judged.observations)]


def _shown(observations: Sequence[Observation]) -> list[Observation]:
    return list(observations)


def _row(rating: Rating) -> JsonObject:
    suspect_class = rating.suspect.suspect_class
    return {
        "class": suspect_class.slug,
        "layer": suspect_class.layer,
        "hop": rating.suspect.hop,
        "posterior": round(rating.posterior, 4),
        "predicted": [o.id for o in rating.predicted],
        "contradicted_by": [o.id for o in rating.contradicted_by],
    }


def _list(answer: Mapping[str, Json], name: str) -> list[Json]:
    items = answer.get(name)
    return list(items) if isinstance(items, list | tuple) else []
