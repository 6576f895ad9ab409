"""The sentences of a verdict about the client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exonerate.core.diagnosis.client.judge import ClientJudgement
from exonerate.core.diagnosis.client.observed import Observed
from exonerate.core.diagnosis.facts import outcome_of
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.timeline import BARS_MAX, STATES
from exonerate.core.diagnosis.wording import clean_tries_sentence
from exonerate.core.instant import seconds_between
from exonerate.core.json_types import JsonObject

_TEXTS: Mapping[tuple[str, str], str] = {
    ("client-exit", "well"): "the program ended with status 0",
    ("client-exit", "failed"): "the program ended by itself, and not well",
    ("client-exit", "stopped"): "the program did not end by itself",
    ("client-stood", "not"): "it never stood still for long",
    ("client-stood", "waiting"): "at the end it was waiting for an answer",
    ("client-stood", "unread"): "at the end a whole answer lay unread in its own socket",
    ("client-stood", "holding"): "at the end it asked nothing, and held connections whose answers "
    "were whole",
    ("client-stood", "locked"): "at the end every thread of it waited for a lock",
    ("client-stood", "busy"): "at the end it computed and asked nothing",
    ("client-stood", "idle"): "at the end it asked nothing",
    ("client-closes", "never"): "it ended no exchange that was under way",
    ("client-closes", "half"): "it ended its sending side right after the request",
    ("client-closes", "constant"): "it gave exchanges up, always after the same time",
    ("client-closes", "once"): "it gave one exchange up",
    ("client-closes", "varying"): "it gave exchanges up, after various times",
    ("client-reuse", "sound"): "it asked on open connections only",
    ("client-reuse", "after-close"): "it asked on a connection that the hop had already closed",
    ("client-repeats", "no"): "it did not ask again what had been answered",
    ("client-repeats", "answered"): "it asked the very same again after a whole answer",
    ("client-route", "tap"): "its connections and requests came to the tap",
    ("client-route", "env-proxy"): "it talked to the proxy that its environment names",
    ("client-route", "elsewhere"): "it talked to somebody else than the tap",
    ("client-route", "nowhere"): "it opened no connection",
    ("wire", "ok"): "answers crossed whole",
    ("wire", "errors"): "errors crossed, whole",
    ("wire", "bad"): "exchanges did not cross whole",
    ("own-probe", "ok"): "the same requests sent by this tool were answered",
    ("own-probe", "late"): "the same requests sent by this tool were answered, but only after "
    "the time that the client allows",
    ("own-probe", "fails"): "the same requests sent by this tool failed as well",
    ("half-close-probe", "fails"): "sent by this tool with a half-close they failed",
    ("half-close-probe", "ok"): "sent by this tool with a half-close they were answered",
    ("idle-probe", "closed"): "after a pause of that length the hop had closed",
    ("idle-probe", "kept"): "after a pause of that length the hop had not closed",
}  # fmt: skip


def sign_text(observation: Observation) -> str:
    """One sign as a sentence with its counts."""
    text = _TEXTS[observation.observable, observation.value]
    if observation.text:
        text += f" ({observation.text})"
    return f"{text}, {observation.times} of {observation.tries}"


def client_paragraph(judged: ClientJudgement, outcome: str) -> str:
    """The verdict in a few sentences."""
    observed = judged.observed
    cost = f"{judged.elapsed_s:.0f} s, {len(observed.rounds)} requests of the client seen"
    suspect_class = judged.top.suspect.suspect_class
    if outcome == "fault":
        seen = "; ".join(sign_text(o) for o in judged.top.predicted)
        return (
            f"The client {suspect_class.mechanism} (`{suspect_class.slug}`). Seen: {seen}. "
            f"What flips it: {suspect_class.flips}. ({cost})"
        )
    if outcome == "no_fault":
        rounds = len(observed.rounds)
        return (
            f"Nobody is at fault as far as this could see: the program ended well, and all "
            f"{rounds} of its requests were answered whole; {clean_tries_sentence(rounds)}. "
            f"({cost})"
        )
    seen = "; ".join(sign_text(o) for o in judged.observations)
    if not observed.connections:
        return f"Nothing crossed the tap, so that nobody can be judged. Seen: {seen}. ({cost})"
    return f"The evidence does not suffice to name anybody. Seen: {seen}. ({cost})"


def summary(judged: ClientJudgement) -> JsonObject:
    """Numbers of the observed run."""
    observed = judged.observed
    victim = judged.deployment.victim
    return {
        "connections": len(observed.connections),
        "requests": len(observed.rounds),
        "answered": sum(r.exchange.complete for r in observed.rounds),
        "program": {"status": observed.status, "ended_by": observed.ended_by},
        "still_s": round(observed.still_s, 2),
        "victim": {
            "endpoint": victim.endpoint,
            "rounds": victim.rounds,
            "think_s": victim.think_s,
            "stream": victim.stream,
            "connection": victim.connection,
            "concurrency": victim.concurrency,
            "prompt_tokens": victim.prompt_tokens,
            "growth_tokens": victim.growth_tokens,
            "max_tokens": victim.max_tokens,
            "deadline_s": victim.deadline_s,
        },
    }


def lanes(observed: Observed) -> Iterator[JsonObject]:
    """One bar for each of the client's requests, on the lane of its connection."""
    for number, round_ in enumerate(observed.rounds[:BARS_MAX], start=1):
        exchange = round_.exchange
        yield {
            "lane": f"client connection {exchange.connection.ordinal}",
            "label": f"request {number}",
            "begin_s": round(seconds_between(observed.began_ns, exchange.begun_ns), 3),
            "end_s": round(seconds_between(observed.began_ns, exchange.ended_ns), 3),
            "state": STATES[outcome_of(exchange, None)],
        }
