"""The sentences of a verdict: what was seen, what it means, what to do, what was not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import (
    entry_hop,
    hop_named,
    is_engine,
    next_hops,
    probeable,
)
from exonerate.core.diagnosis.axes.axis import Axis
from exonerate.core.diagnosis.axes.covered import unvaried
from exonerate.core.diagnosis.axes.registry import axis_of
from exonerate.core.diagnosis.between import unused_taps
from exonerate.core.diagnosis.captured import missed_packets
from exonerate.core.diagnosis.counted import unread_pages
from exonerate.core.diagnosis.details import settings_of
from exonerate.core.diagnosis.faces import own_upstream_side
from exonerate.core.diagnosis.facts import Facts, no_common_language
from exonerate.core.diagnosis.gpus import unseen_gpus
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.logged import unread_logs
from exonerate.core.diagnosis.observables import victim_sessions
from exonerate.core.diagnosis.situations import (
    address_doubtful,
    not_seen,
    order_doubtful,
)
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.unasked import alone_name
from exonerate.core.diagnosis.walk_sessions import repeats_in_walks
from exonerate.core.diagnosis.watchdogs import unheard_watchdogs
from exonerate.core.json_types import Json

_TEXTS: Mapping[tuple[str, str], str] = {
    ("through", "ok"): "sessions through {hop} went well",
    ("beyond", "ok"): "the same sessions past {hop} went well",
    ("through", "slow"): "sessions through {hop} were answered late",
    ("beyond", "slow"): "the same sessions past {hop} were answered late",
    ("through", "hang"): "sessions through {hop} hung",
    ("beyond", "hang"): "the same sessions past {hop} hung as well",
    ("through", "burst"): "through {hop} the whole answer came in one burst",
    ("through", "jerky"): "through {hop} tokens came in clumps that came one by one past it",
    ("through", "lost-ending"): "through {hop} the stream never said that it was done",
    ("through", "corrupt"): "through {hop} the content was damaged",
    ("beyond", "corrupt"): "past {hop} the content was damaged as well",
    ("through", "cut"): "through {hop} the answer was cut off",
    ("through", "refused"): "through {hop} the request was refused (4xx)",
    ("through", "server-error"): "through {hop} an error came back (5xx)",
    ("through", "no-answer"): "through {hop} the connection was closed without an answer",
    ("fresh-meanwhile", "ok"): "a new connection through {hop} was answered while the old waited",
    ("fresh-meanwhile", "fails"): "a new connection through {hop} failed as well",
    ("small-meanwhile", "ok"): "a small request through {hop} was answered, the victim's own not",
    ("small-meanwhile", "fails"): "a small request through {hop} failed as well",
    ("beyond-meanwhile", "ok"): "a new connection past {hop} was answered while the victim waited",
    ("beyond-meanwhile", "fails"): "a new connection past {hop} failed while the victim waited",
    ("fresh-session", "ok"): "many requests through {hop} on new connections went well",
    ("fresh-session", "fails"): "requests through {hop} on new connections failed as well",
    ("engine-meanwhile", "idle"): "the engine computed nothing and held nothing meanwhile",
    ("engine-meanwhile", "progressing"): "the engine's counters moved meanwhile",
    ("engine-meanwhile", "queueing"): "the engine worked for others and had a queue meanwhile",
    ("engine-meanwhile", "stuck"): "the engine held requests and computed nothing meanwhile",
    ("engine-meanwhile", "holding"): "the engine held the request and did not work on it, while "
    "others were answered",
    ("legs", "decode-waits"): "the decode engine held the request, the prefill engine did not",
    ("legs", "prefill-waits"): "the prefill engine held the request, the decode engine did not",
    ("legs", "both-wait"): "prefill and decode engine both held the request",
    ("legs", "neither"): "neither prefill nor decode engine held the request",
    ("leg-answered", "yes"): "{hop} answered what was sent to it of the request that waited",
    ("leg-answered", "no"): "{hop} got the request that waited and sent nothing back",
    ("request-left", "no"): "no connection of {hop} towards the next hop carried the request",
    ("request-left", "yes"): "{hop} sent the request on and nothing came back",
    ("request-left", "answered"): "{hop} sent the request on and an answer came back to it",
    ("steps", "go-on"): "{hop} still made steps, for whomever, when rounds were given up",
    ("gpu-failed", "yes"): "a GPU of the host of {hop} failed",
    ("gpu-slowed", "yes"): "a GPU of the host of {hop} was slowed down while rounds waited",
    ("watchdog", "spoke"): "the watchdog of {hop} said that its scheduler stood still meanwhile",
    ("watchdog", "silent"): "the watchdog of {hop} is on and stayed silent",
    ("engine-said", "gpu-error"): "{hop} wrote of an error of its GPU",
    ("engine-said", "out-of-memory"): "{hop} wrote that it ran out of memory",
    ("engine-said", "died"): "{hop} wrote that a process of it had ended",
    ("engine-said", "transfer-failed"): "{hop} wrote of a failed transfer between prefill and "
    "decode",
    ("engine-said", "front-end-stood-still"): "{hop} wrote that its front end stood still",
    ("engine-said", "no-token"): "{hop} wrote that its own health check got no token",
    ("answer-held", "yes"): "answer bytes kept reaching {hop} while its client had none",
    ("answer-held", "no"): "{hop} passed bytes on as they came",
    ("spoken-by", "hop"): "the error answer that came through {hop} is not the engine's own",
    ("spoken-by", "engine"): "the error answer that came through {hop} is the engine's own",
    ("ended-by", "us"): "nobody closed; the wait was ended by this tool",
    ("ended-by", "hop"): "{hop} ended the exchange",
    ("error-said", "timeout"): "{hop} said that something took too long (504 or 408)",
    ("error-said", "unavailable"): "{hop} said that nobody could serve it (503)",
    ("error-said", "bad-gateway"): "{hop} said that the next hop failed it (502)",
    ("error-said", "error"): "{hop} said that something broke (5xx)",
    ("health", "ok"): "the health page of {hop} said 200 meanwhile",
    ("health", "fails"): "the health page of {hop} reported an error meanwhile",
    ("health", "silent"): "the health page of {hop} did not answer meanwhile",
    ("health", "loading"): "the health page of {hop} said that it is loading",
    ("deep-health", "ok"): "{hop} made a token for its health page meanwhile",
    ("deep-health", "fails"): "{hop} made no token for its health page, which said so",
    ("deep-health", "silent"): "{hop} made no token for its health page in time",
    ("deep-health", "loading"): "the health page of {hop} said that it is loading",
    ("breaker", "open"): "{hop} had taken next hops out, or had none that it would ask",
    ("breaker", "closed"): "{hop} was willing to ask every next hop",
    ("ended-by", "upstream"): "the log of {hop} says that the next hop ended the exchange",
    ("through", "not-everywhere"): "it fails at some entries and never at others",
    ("upstream-face", "seen"): "the upstream side of {hop} was in sight",
    ("upstream-face", "elsewhere"): "{hop} sent its requests to an address that is no hop here",
    ("request-copies", "several"): "one request went on over several connections on its way",
    ("request-copies", "one"): "one request went on once from {hop}",
    ("left-to", "elsewhere"): "{hop} sent it to an address that is no hop of the deployment",
    ("left-to", "next"): "{hop} sent it to the next hop",
    ("request-read", "read"): "the program at {hop} took the request from its socket",
    ("request-read", "unread"): "the request lay unread in the socket of {hop}",
    ("request-read", "not-accepted"): "the kernel took the connection to {hop}, the program never",
    ("ended-after", "constant-silence"): "it always ended after the same silence",
    ("ended-after", "own-silence"): "it always ended after the same silence, and nobody past "
    "{hop} was silent for as long",
    ("ended-after", "constant-total"): "it always ended after the same time, tokens flowing or not",
    ("ended-after", "varying"): "it ended after varying times",
    ("ended-after", "at-once"): "it ended at once",
    ("same-text", "same"): "the same question got the same text through {hop} as past it",
    ("texts-past", "differs"): "past {hop} the same question got other texts",
    ("same-text", "differs"): "the same question got another text through {hop} than past it",
    ("load-text", "same"): "the same question got the same text alone and in a crowd",
    ("load-text", "diverges"): "alone and in a crowd the texts began alike and parted, both "
    "sensible",
    ("load-text", "unlike"): "alone and in a crowd the texts had nothing in common",
    ("load-text", "garbled"): "in one of two crowds the text made no sense",
    ("load-text", "foreign"): "in one of two crowds the text held words of another request",
    ("control", "slow"): "an exchange and a bit of work that pass no hop were slow here as well",
    ("answer-lost", "no"): "{hop}'s own end of the connection had nothing more to send",
    ("answer-lost", "yes"): "{hop} sent an answer again and again that nobody acknowledged",
    ("starved-path", "yes"): "the victim finds it slow, and past {hop} programs got no processor",
    ("processor-wait", "starved"): "{hop} stood ready to compute and got no processor",
    ("closed-while-idle", "never"): "idle connections to {hop} stayed open",
    ("closed-while-idle", "always"): "{hop} closed the connection after each answer",
    ("closed-while-idle", "after-a-while"): "{hop} closed connections that were idle for long",
    ("complaint", "errors"): "the victim complains of errors",
    ("complaint", "hang"): "the victim complains of hangs",
    ("complaint", "slow"): "the victim complains of slowness",
    ("complaint", "truncated"): "the victim complains of cut answers",
    ("complaint", "corrupted"): "the victim complains of corrupted text",
    ("period", "regular"): "the endings fall on a regular beat of the clock",
    ("period", "together"): "answers in flight stopped together, and none past it",
    ("defect-kind", "special-token"): "a token of a chat template stood in the text",
    ("defect-kind", "transport"): "the bytes were damaged",
    ("defect-kind", "garbled"): "the text made no sense",
    ("defect-kind", "foreign"): "the text held words of another request",
    ("abort-through", "freed"): "the engine stopped when a client left at {hop}",
    ("abort-through", "kept"): "the engine went on for a client that had left at {hop}",
    ("abort-beyond", "freed"): "the engine stopped when a client left past {hop}",
    ("abort-beyond", "kept"): "the engine went on for a client that had left past {hop}",
    ("abort-through", "leaked"): "the engine kept the cache of a client that had left at {hop}",
    ("abort-beyond", "leaked"): "the engine kept the cache of a client that had left past {hop}",
    ("leaving", "kept"): "{hop} kept a request going whose client had left",
    ("leaving", "passed-on"): "what a client leaves behind is ended as far as {hop}",
    ("leaving", "kept-without-harm"): "{hop} kept a request going whose client had left, and no "
    "other such request was there",
    ("leaving", "kept-before"): "a hop before {hop} keeps requests going whose client has left",
    ("requests-behind", "more"): "more requests waited behind {hop} (or a hop before it) than "
    "it had clients",
    ("requests-behind", "as-many"): "no more requests waited behind {hop} than it had clients",
    ("slots-held", "above-live"): "{hop} held slots or cache that belonged to no live request",
    ("slots-held", "as-live"): "{hop} held nothing when it had nothing to do",
    ("engine-process", "restarted"): "the process of {hop} was replaced meanwhile",
    ("engine-process", "down"): "nobody listened at {hop}",
    ("engine-process", "same"): "the process of {hop} stayed the same",
    ("phase", "before-head"): "not one byte of the answer came",
    ("phase", "before-token"): "the head came, no token",
    ("phase", "after-token"): "tokens had already come",
    ("delivered", "acked"): "the kernel at {hop} acknowledged the request",
    ("delivered", "unacked"): "nobody at {hop} acknowledged the request, however often it was sent",
    ("onward-delivered", "acked"): "nothing that {hop} sent to the next hop was left unanswered",
    ("onward-delivered", "unacked"): "nobody acknowledged what {hop} sent to the next hop",
    ("pool", "used-closed"): "{hop} sent it on a connection that the next hop had closed",
    ("pool", "kept-closed"): "{hop} left a connection alone that the next hop had closed",
    ("pool", "sound"): "no connection of {hop} to the next hop had been closed",
    ("idle-dependence", "longer-fails"): "through {hop} only what was idle for longer failed",
    ("idle-dependence", "unrelated"): "whether it fails through {hop} does not depend on idle time",
    ("size-dependence", "larger-fails"): "through {hop} only larger requests failed",
    ("size-dependence", "unrelated"): "whether it fails through {hop} does not depend on size",
    ("next-idle", "same-time"): "the hop past {hop} closes idle connections just where it fails",
    ("next-idle", "not-parted"): "the hop past {hop} closed idle connections whenever it failed, "
    "but no idle time shows yet whether that is chance",
    ("next-idle", "other-time"): "the hop past {hop} closes idle connections at other times",
    ("next-idle", "stays-open"): "the hop past {hop} leaves idle connections open",
    ("connecting", "quick"): "new connections to {hop} were there at once",
    ("connecting", "slow-name"): "resolving the name of {hop} took most of the time",
    ("connecting", "slow-handshake"): "opening connections to {hop} took most of the time",
    ("fails-at", "same-request"): "it was always the same request of a connection",
    ("fails-at", "first-request"): "it was the first request of a connection",
    ("fails-at", "varying"): "it was not always the same request of a connection",
}  # fmt: skip


def observation_text(observation: Observation) -> str:
    """One observation as a sentence with its counts."""
    axis = axis_of(observation.observable)
    if axis is not None:
        return flip_text(axis, observation)
    template = _TEXTS.get((observation.observable, observation.value))
    if template is None:
        place = "past" if observation.observable == "beyond" else "through"
        template = f"sessions {place} {{hop}}: {observation.value}"
    text = template.format(hop=observation.hop)
    if observation.text:
        text += f" ({observation.text})"
    return f"{text}, {observation.times} of {observation.tries}"


def flip_text(axis: Axis, observation: Observation) -> str:
    """What one change of the victim's session did, as a sentence."""
    what = "was gone" if observation.value == "flips" else "stayed"
    return f"at {observation.hop} the symptom {what} {axis.changed} ({observation.text})"


def paragraph(judgement: Judgement, outcome: str, answer: Mapping[str, Json]) -> str:
    """The whole verdict in a few sentences."""
    elapsed = f"{judgement.facts.elapsed_s:.0f} s, {answer['requests_sent']} requests"
    if outcome == "fault":
        return _fault_paragraph(judgement, elapsed)
    if outcome == "no_fault":
        return _no_fault_paragraph(judgement, elapsed)
    seen = "; ".join(observation_text(o) for o in judgement.observations[:6]) or "nothing"
    return f"The evidence does not suffice to name anybody. Seen in {elapsed}: {seen}."


def clean_tries_sentence(tries: int) -> str:
    """What n clean tries exclude: the 95 % bound 1 - 0.05^(1/n) on the rate of failure."""
    if tries == 0:
        return "no try, nothing excluded"
    bound = 1 - 0.05 ** (1 / tries)
    return f"at 95 % a failure rate above {bound:.0%} per round is excluded"


def not_examined(facts: Facts, deployment: Deployment) -> list[str]:
    """What this run could not see, or did not vary."""
    missing = [
        f"`{hop.name}`: a {hop.role} worker takes no plain request, it was not asked directly"
        for hop in deployment.hops
        if not probeable(hop)
    ]
    for hop in deployment.hops:
        if is_engine(hop) and hop.metrics is None:
            missing.append(f"`{hop.name}`: no metrics page is given, its state was not read")
    missing.extend(unread_pages(facts))
    blind = {hop for (_, hop), seen in facts.sockets.items() if any(s.rows is None for s in seen)}
    missing.extend(f"sockets towards `{name}`: not permitted here" for name in sorted(blind))
    missing.extend(missed_packets(facts))
    missing.extend(unread_logs(facts))
    missing.extend(unheard_watchdogs(facts, deployment))
    missing.extend(unused_taps(facts, deployment))
    missing.extend(not_seen(facts, deployment))
    missing.extend(unseen_gpus(facts, deployment))
    missing.append("the client program itself: its own requests were imitated, not recorded")
    missing.extend(unvaried(facts, alone=deployment.victim.concurrency == 1))
    return missing


def _strangers(judgement: Judgement) -> list[str]:
    """Boxes behind which somebody stands whom the deployment file does not name."""
    return [
        f"`{o.hop}` sends its requests to an address that is no hop of the deployment file: name "
        "what listens there, so that it can be asked as well"
        for o in judgement.observations
        if (o.observable, o.value) == ("upstream-face", "elsewhere")
    ]


def _slow_readers(judgement: Judgement) -> list[str]:
    """Engines that answer a few words, and the victim's request not within its deadline."""
    deadline_s = judgement.deployment.victim.deadline_s
    return [
        f"`{o.hop}` answers a few words, and not yet the victim's request after {deadline_s:g} s: "
        "raise `deadline_s` in `[victim]` above what such a request takes there"
        for o in judgement.observations
        if (o.observable, o.value) == ("small-meanwhile", "ok")
        and any(s.plan.name == alone_name(o.hop) for s in judgement.facts.sessions)
    ]


def suggestions(judgement: Judgement, outcome: str) -> list[str]:
    """What to do or to look at next."""
    suspect = judgement.top.suspect
    if outcome == "fault":
        steps = list(settings_of(judgement))
        steps.append(
            "after the repair run `exonerate locate` again: the verdict must turn to no_fault"
        )
        return steps
    if outcome == "no_fault" and suspect.suspect_class.slug == "healthy":
        return [
            *address_doubtful(judgement.facts, judgement.deployment),
            "run the victim's own program through a tap: the path is clean for its shape as given",
            "raise `rounds` or `--budget` to exclude a rarer fault",
        ]
    if outcome == "no_fault":
        return list(suspect.suspect_class.settings)
    apart = list(_language_hints(judgement))
    if apart:
        return apart
    believable = [r.suspect.id for r in judgement.ratings[:3] if r.posterior > 0.01]
    steps = [
        *address_doubtful(judgement.facts, judgement.deployment),
        *order_doubtful(judgement.facts, judgement.deployment),
        *_strangers(judgement),
        *_slow_readers(judgement),
        *_status_hints(judgement),
    ]
    if believable and not steps:
        steps.append(f"still believable: {', '.join(believable)}")
    if not any(hop.metrics for hop in judgement.deployment.hops if is_engine(hop)):
        steps.append("give the engine's `metrics` URL in exonerate.toml")
    steps.append("raise `--budget`, or copy the victim more closely in `[victim]`")
    return steps


_STATUS_HINTS: Mapping[int, str] = {
    401: "the engine itself answers 401: set `api_key_env` in `[victim]`",
    403: "the engine itself answers 403: check the key that `api_key_env` names",
    400: "the engine itself answers 400: check `model`, `max_tokens` and the victim's request",
    429: "the engine itself answers 429: it limits the rate; try again later or with `--gentle`",
    503: "the engine itself answers 503: is it still loading its model?",
}


def _status_hints(judgement: Judgement) -> Iterator[str]:
    """What the engine says when it is asked directly and refuses every time."""
    engines = {hop.name for hop in judgement.deployment.hops if is_engine(hop)}
    direct = [s for s in judgement.facts.sessions if s.hop in engines]
    statuses = {r.exchange.status for s in direct for r in s.rounds if r.exchange.status}
    if len(statuses) == 1:
        hint = _STATUS_HINTS.get(statuses.pop())
        if hint is not None:
            yield hint


def _language_hints(judgement: Judgement) -> Iterator[str]:
    """What kept the probes from asking at all, once for each hop."""
    seen: dict[tuple[str, str], None] = {}
    for session in judgement.facts.sessions:
        for round_ in session.rounds:
            if no_common_language(round_.exchange) and round_.exchange.error:
                seen.setdefault((session.hop, round_.exchange.error))
    for hop, error in seen:
        yield f"`{hop}`: {_OTHER_HTTP.get(error, error)}"


_OTHER_HTTP: Mapping[str, str] = {
    "speaks-http2": 'it answered in HTTP/2: set `http = "2"` in its `[[hop]]`',
    "not-http2": "it answered in HTTP/1.1: take `http` out of its `[[hop]]`",
}


def _fault_paragraph(judgement: Judgement, elapsed: str) -> str:
    top = judgement.top
    suspect_class, hop = top.suspect.suspect_class, top.suspect.hop
    seen = "; ".join(observation_text(o) for o in top.predicted)
    if repeats_in_walks(judgement.facts, hop):
        seen += "; requests in a row failed in the same way in a walk, and not past the hop"
    return (
        f"{_who(judgement)} {suspect_class.mechanism} (`{suspect_class.slug}`). Seen: {seen}. "
        f"What flips it: {suspect_class.flips}. ({elapsed})"
    )


def _who(judgement: Judgement) -> str:
    """The hop, or it and what may stand behind it, where only one of its faces is known."""
    suspect = judgement.top.suspect
    hop = hop_named(judgement.deployment, suspect.hop)
    nexts = " and ".join(f"`{other.name}`" for other in next_hops(judgement.deployment, hop.name))
    between = suspect.suspect_class.layer in ("proxy", "router") and bool(nexts)
    if not between or own_upstream_side(judgement.facts, hop, judgement.observations):
        return f"`{hop.name}`"
    return f"`{hop.name}`, or something between it and {nexts},"


def _no_fault_paragraph(judgement: Judgement, elapsed: str) -> str:
    top = judgement.top.suspect
    if top.suspect_class.slug != "healthy":
        seen = "; ".join(observation_text(o) for o in judgement.top.predicted)
        why = f"`{top.hop}` {top.suspect_class.mechanism}"
        return f"Nobody is at fault: {why}. Seen: {seen}. ({elapsed})"
    entry = entry_hop(judgement.deployment)
    sessions = victim_sessions(judgement.facts, [entry])
    rounds = sum(len(session.rounds) for session in sessions)
    return (
        f"Nobody is at fault as far as this could see: {rounds} rounds of the victim's shape "
        f"through `{entry.name}` in {len(sessions)} sessions all went well; "
        f"{clean_tries_sentence(rounds)}. ({elapsed})"
    )
