"""Bad situations that a run recognises: a missing key, a foreign certificate, an engine that is
still loading, hops that cannot be reached from here or are another page, hops in the wrong order.

In all of them `locate` goes on with what it has. What the operator must change himself ends the
run at once: no verdict about the path can come of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, hop_named, is_engine
from exonerate.core.diagnosis.beside import HEALTH, PageSample
from exonerate.core.diagnosis.chance import fisher_one_sided
from exonerate.core.diagnosis.engine_process import engine_process, refuses_connection
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.misaddressed import misaddressed, refuses_all
from exonerate.core.diagnosis.surroundings import computes
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S
from exonerate.core.scene import Activity, SampleMetrics

REPEATS_MIN = 2
CHANCE_MAX = 0.01
ASKED_LATER_NS = 5 * NS_PER_S
"""No page is waited for longer: what is answered so late was asked after the round began."""
_CERTIFICATE = "certificate"
NO_KEY = frozenset({401, 403})
_GATEWAY = (502, 503, 504)
_LOADING = "is loading its model"


@dataclass(frozen=True, slots=True)
class OperatorProblem:
    """What only the operator can put right, and how."""

    problem: str
    hint: str


def operator_problem(facts: Facts, deployment: Deployment) -> OperatorProblem | None:
    """A missing or refused key."""
    if not facts.sessions:
        return None
    return _refused_key(facts, deployment)


def not_seen(facts: Facts, deployment: Deployment) -> list[str]:
    """What these situations kept from being examined."""
    return [line for hop in deployment.hops for line in _about(facts, hop, deployment)]


def address_doubtful(facts: Facts, deployment: Deployment) -> list[str]:
    """What to check of hops that took nothing that they were asked, as it may have been wrong."""
    return [line for hop in deployment.hops for line in _asked_wrongly(facts, hop, deployment)]


def _asked_wrongly(facts: Facts, hop: Hop, deployment: Deployment) -> Iterator[str]:
    if instead := misaddressed(facts.shut_out, hop.name):
        yield (
            f"`{hop.name}` {instead}, always: check its `url` (`{deployment.victim.endpoint}` is "
            "added to it), `endpoint` in `[victim]`, and `model`; if the victim gets the same "
            "answer there, that is what is wrong"
        )
    status = None if is_engine(hop) else refuses_all(facts.sessions, hop.name)
    if status is not None:
        yield (
            f"`{hop.name}` answers {status} to all that it was asked: does it want a key "
            "(`api_key_env` in `[victim]`), another `model`, or what the victim's request has and "
            "ours has not (`request`, `headers`)?"
        )


def order_doubtful(facts: Facts, deployment: Deployment) -> list[str]:
    """Hops that fail where a hop before them, whose requests pass them, never does."""
    found = []
    for hop in deployment.hops:
        for inner in beyond(deployment, hop.name):
            outside, inside = _rounds(facts, hop.name), _rounds(facts, inner.name)
            good = len(outside) >= REPEATS_MIN and all(_answered(r) for r in outside)
            bad = sum(not _answered(r) for r in inside)
            always = bad == len(inside) >= REPEATS_MIN
            if not good or _unreached(inside):
                continue
            if always or fisher_one_sided(bad, len(inside), 0, len(outside)) < CHANCE_MAX:
                found.append(
                    f"`{inner.name}` fails where `{hop.name}` before it does not: are the hops in "
                    "order, client side first?"
                )
    return found


def without_shut_out(facts: Facts, deployment: Deployment) -> Facts:
    """The facts, where requests that lacked the key of a hop further in say nothing.

    The victim's own requests get that key from the hop before; ours, sent past it, have none. Nor
    do requests say anything that only ever met a page which takes no completions.
    """
    shut = {
        hop.name
        for hop in deployment.hops
        if _shut_out(facts, hop.name, deployment)
        or misaddressed(facts.sessions, hop.name)
        or _reached_by_others(facts, hop.name, deployment)
    }
    return replace(
        facts,
        sessions=tuple(s for s in facts.sessions if s.hop not in shut),
        shut_out=tuple(s for s in facts.sessions if s.hop in shut),
    )


def loading(facts: Facts, engine: str) -> bool:
    """Whether the engine said by its page that it is loading its model."""
    pages = (*facts.beside.pages, *facts.beside.health)
    said = [s.error or "" for s in pages if s.hop == engine and s.values is None]
    return any(_LOADING in text for text in said)


def restart_shown(facts: Facts, deployment: Deployment, engine: str) -> bool:
    """Whether an engine is shown to be down or restarting, and not only out of reach from here.

    Its counters began again; or it answered and then did not; or it answers errors itself; or its
    host refuses connections while a hop before it, which does answer, says 502 to 504.
    """
    if loading(facts, engine):
        return False
    rounds = _rounds(facts, engine)
    process = engine_process(hop_named(deployment, engine), facts)
    if process is not None and process.value == "restarted":
        return True
    broken = [r for r in rounds if r.outcome in ("no-connect", "cut", "no-answer")]
    if broken and any(_answered(r) for r in rounds):
        return True
    # An engine that says "503" is up: it loads, drains or has no room.
    failed = [r for r in rounds if r.outcome == "server-error" and r.exchange.status != 503]
    if failed or any(r.outcome in ("cut", "no-answer") for r in rounds):
        return True
    outside = [
        r
        for session in facts.sessions
        if engine in {h.name for h in beyond(deployment, session.hop)}
        for r in session.rounds
    ]
    # A name that is not known here, or a way that is closed, says nothing of who listens there.
    refused = any(refuses_connection(r) for r in broken)
    return refused and any(r.exchange.status in _GATEWAY for r in outside)


def engine_health(hop: Hop, facts: Facts, through: Sequence[Session]) -> Observation | None:
    """What its health page said while rounds waited; the page may be shallow, it clears nobody."""
    windows = [s.waiting.exchange for s in through if s.waiting is not None]
    read = [
        page
        for page in facts.beside.health
        if page.hop == hop.name
        and any(e.begun_ns <= page.at_ns <= e.ended_ns + NS_PER_S for e in windows)
    ]
    if not read:
        return None
    states = [_health_state(page) for page in read]
    worst = next(s for s in ("loading", "silent", "fails", "ok") if s in states)
    return Observation(hop.name, "health", worst, states.count(worst), len(states))


def deep_health(hop: Hop, facts: Facts, through: Sequence[Session]) -> Observation | None:
    """Whether the engine made something for its health page that was asked while rounds waited.

    A page that only says that a front end is up is none of these.
    """
    if not any(_reads_deep(activity, hop) for s in facts.scenes for activity in s.activities):
        return None
    windows = [s.waiting.exchange for s in through if s.waiting is not None]
    read = [
        page
        for page in facts.beside.health
        if page.hop == hop.name
        and any(e.begun_ns + ASKED_LATER_NS <= page.at_ns <= e.ended_ns for e in windows)
    ]
    if len(read) < REPEATS_MIN:
        return None
    states = [_health_state(page) for page in read]
    value = "ok" if "ok" in states else states[-1]
    return Observation(hop.name, "deep-health", value, states.count(value), len(states))


def _reads_deep(activity: Activity, hop: Hop) -> bool:
    return (
        isinstance(activity, SampleMetrics)
        and activity.hop == hop.name
        and activity.name.startswith(HEALTH)
        and computes(activity.url)
    )


def _health_state(page: PageSample) -> str:
    if page.values is not None:
        return "ok"
    said = page.error or ""
    if _LOADING in said:
        return "loading"
    return "fails" if said.startswith("HTTP status") else "silent"


def _refused_key(facts: Facts, deployment: Deployment) -> OperatorProblem | None:
    victim = deployment.victim
    key = victim.api_key_env
    given = any(name.lower() in ("authorization", "x-api-key") for name, _ in victim.headers)
    asked = [hop.name for hop in deployment.hops if _rounds(facts, hop.name)]
    # 403 is also what a filter says; only where nobody at all lets the request in is it the key.
    everywhere = [n for n in asked if _always(_rounds(facts, n), (401, 403))]
    without_key = [n for n in asked if _always(_rounds(facts, n), (401,))]
    without_key = [n for n in without_key if not _shut_out(facts, n, deployment)]
    if key is None and not given and without_key:
        name = without_key[0]
        return OperatorProblem(
            f"`{name}` answers 401: it wants a key",
            'export it, name the variable in `[victim]` (`api_key_env = "OPENAI_API_KEY"`), or '
            "give the header in `headers`",
        )
    if asked and everywhere == asked:
        shown = f"the key in `{key}`" if key else "the victim's request"
        status = _rounds(facts, asked[0])[0].exchange.status
        return OperatorProblem(
            f"every hop answers {status}: {shown} is not accepted",
            "give the key that the victim's own program uses",
        )
    return None


def _shut_out(facts: Facts, hop: str, deployment: Deployment) -> bool:
    """Whether it answers us with 401 or 403, always, and a hop before it does not."""
    asked = [r.exchange.status for s in facts.sessions if s.hop == hop for r in s.rounds]
    return bool(asked) and set(asked) <= NO_KEY and _let_in_before(facts, hop, deployment)


def _reached_by_others(facts: Facts, hop: str, deployment: Deployment) -> bool:
    """Whether it takes no connection from here, while all that enters before it is answered.

    So it is there for the hop before it, and only our way to it is closed.
    """
    outer = [r for h in before(deployment, hop) if h.name != hop for r in _rounds(facts, h.name)]
    return _unreached(_rounds(facts, hop)) and bool(outer) and all(map(_answered, outer))


def _let_in_before(facts: Facts, hop: str, deployment: Deployment) -> bool:
    """Whether a hop further out takes requests without a key: it has one of its own for this."""
    outer = [h.name for h in before(deployment, hop) if h.name != hop]
    return any(
        rounds and not any(r.exchange.status in NO_KEY for r in rounds)
        for rounds in (_rounds(facts, name) for name in outer)
    )


def _about(facts: Facts, hop: Hop, deployment: Deployment) -> Iterator[str]:
    rounds = _rounds(facts, hop.name) or _rounds(facts, hop.name, facts.shut_out)
    if _distrusted(rounds):
        yield (
            f"`{hop.name}`: its certificate is not accepted here, so that it was not asked "
            "(`ca` of the hop names a private authority)"
        )
    elif _unreached(rounds):
        why = next((r.exchange.error for r in rounds if r.exchange.error), "no connection")
        yield f"`{hop.name}`: cannot be reached from here ({why}): it was not asked directly"
    elif instead := misaddressed(facts.shut_out, hop.name):
        yield f"`{hop.name}`: {instead}, always: it was not examined"
    elif any(s.hop == hop.name for s in facts.shut_out):
        yield (
            f"`{hop.name}`: wants a key that only the hop before it has (401 or 403): it was not "
            "asked directly"
        )
    if is_engine(hop) and loading(facts, hop.name):
        yield f"`{hop.name}`: it was still loading its model; wait until it is ready"
    if _process_hidden(facts, hop):
        yield f"`{hop.name}`: its process may not be looked into here: its own sockets stay unseen"


def _process_hidden(facts: Facts, hop: Hop) -> bool:
    """It listens on this host, and nobody showed which sockets are its own."""
    port = hop.url.rpartition(":")[2].partition("/")[0]
    samples = [s for (_, name), seen in facts.sockets.items() if name == hop.name for s in seen]
    here = any(
        str(row.get("local_port")) == port
        for s in samples
        for row in s.rows or ()
        if not row.get("up")
    )
    return here and not any(s.process_seen for s in samples)


def _rounds(facts: Facts, hop: str, among: Sequence[Session] | None = None) -> list[Round]:
    sessions = [s for s in (facts.sessions if among is None else among) if s.hop == hop]
    return [r for s in sessions for r in s.rounds if r.outcome != "unfinished"]


def _always(rounds: Sequence[Round], statuses: Sequence[int]) -> bool:
    return bool(rounds) and all(r.exchange.status in statuses for r in rounds)


def _answered(round_: Round) -> bool:
    return round_.outcome in ("ok", "slow")


def _unreached(rounds: Sequence[Round]) -> bool:
    return bool(rounds) and all(r.outcome == "no-connect" for r in rounds)


def _distrusted(rounds: Sequence[Round]) -> bool:
    return bool(rounds) and all(_CERTIFICATE in (r.exchange.error or "").lower() for r in rounds)
