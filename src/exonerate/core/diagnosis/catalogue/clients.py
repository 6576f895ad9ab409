"""Suspects that live in the client, or between the client and the first hop.

They are judged by what crossed a tap before the first hop (`client.signs`), so that they stand
only where the victim's own program was run through one.
"""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass, any_of

_ILL = any_of("failed", "stopped")

POOL_EXHAUSTED = SuspectClass(
    slug="pool-exhausted",
    layer="client",
    roles=("client",),
    prior=0.06,
    mechanism="does not give connections back to its pool, and then waits for one for ever",
    predicts={
        "client-exit": _ILL,
        "client-stood": any_of("holding"),
        "client-closes": any_of("never"),
        "client-reuse": any_of("sound"),
        "client-repeats": any_of("no"),
        "client-route": any_of("tap"),
        "wire": any_of("ok", "errors"),
        "own-probe": any_of("ok"),
    },
    flips="another size of its pool moves the round at which it stops; our own requests pass",
    settings=(
        "client: close every stream and every response, those of errors too "
        "(`with client.stream(...)`, `response.close()`)",
        "client: a time limit on waiting for a connection turns the hang into an error "
        "(httpx: `Timeout(pool=...)`)",
    ),
)
STALE_REUSE = SuspectClass(
    slug="stale-reuse",
    layer="boundary",
    roles=("client",),
    prior=0.06,
    mechanism="asks on a kept connection that the next hop has already closed",
    predicts={
        "client-exit": any_of("failed", "stopped", "well"),
        "client-stood": any_of("not", "waiting"),
        "client-closes": any_of("never", "once", "varying"),
        "client-reuse": any_of("after-close"),
        "client-route": any_of("tap"),
        "wire": any_of("bad"),
        "own-probe": any_of("ok"),
        "idle-probe": any_of("closed"),
    },
    flips="with shorter pauses between requests than the hop's timer it does not happen",
    settings=(
        "client: keep idle connections for less time than the hop does "
        "(httpx: `Limits(keepalive_expiry=...)`), or ask again once on a new connection",
        "hop: keep idle connections for longer (nginx: `keepalive_timeout`; HAProxy: `timeout "
        "http-keep-alive`; uvicorn: `--timeout-keep-alive`)",
    ),
)
CLIENT_DEADLOCK = SuspectClass(
    slug="client-deadlock",
    layer="client",
    roles=("client",),
    prior=0.03,
    mechanism="waits for itself: nothing in it takes the answer that has come",
    predicts={
        "client-exit": _ILL,
        "client-stood": any_of("unread", "locked"),
        "client-closes": any_of("never"),
        "client-reuse": any_of("sound"),
        "client-route": any_of("tap"),
        "wire": any_of("ok", "errors"),
        "own-probe": any_of("ok"),
    },
    flips="the answer lies in the client's own socket; read by anybody else it is whole",
    settings=(
        "client: look at its stacks while it hangs (`py-spy dump --pid PID`): a blocking call "
        "inside the event loop, or a lock that the reader itself holds",
    ),
)
CLIENT_PARSER = SuspectClass(
    slug="client-parser",
    layer="client",
    roles=("client",),
    prior=0.02,
    mechanism="does not understand answers that are whole and sound on the wire",
    predicts={
        "client-exit": _ILL,
        "client-stood": any_of("not", "idle", "busy"),
        "client-closes": any_of("never"),
        "client-reuse": any_of("sound"),
        "client-repeats": any_of("answered"),
        "client-route": any_of("tap"),
        "wire": any_of("ok"),
        "own-probe": any_of("ok"),
    },
    flips="another client reads the same bytes without complaint",
    settings=(
        "client: it asked again what had been answered whole: look at what it says of the answer, "
        "and feed its parser the same bytes, cut at other places",
    ),
)
CLIENT_TIMER = SuspectClass(
    slug="client-timer",
    layer="client",
    roles=("client",),
    prior=0.08,
    mechanism="gives up after a fixed time on answers that would have come",
    predicts={
        "client-stood": any_of("not", "waiting"),
        "client-closes": any_of("constant"),
        "client-reuse": any_of("sound"),
        "client-route": any_of("tap"),
        "wire": any_of("bad"),
        "own-probe": any_of("late"),
    },
    flips="with more patience the same requests are answered whole",
    settings=(
        "client: raise its limit on the first byte above the time that a long prompt needs "
        "(openai: `timeout=`; httpx: `Timeout(read=...)`)",
    ),
)
ENV_PROXY = SuspectClass(
    slug="env-proxy",
    layer="client",
    roles=("client",),
    prior=0.03,
    mechanism="sends its requests to the proxy that its environment names, not to the first hop",
    predicts={
        "client-exit": _ILL,
        "client-route": any_of("env-proxy"),
        "own-probe": any_of("ok"),
    },
    flips="without the variable, or with the hop in `NO_PROXY`, it talks to the hop",
    settings=(
        "client: put the hop's host into `NO_PROXY`, or do not trust the environment (httpx: "
        "`trust_env=False`)",
    ),
)
HALF_CLOSE = SuspectClass(
    slug="half-close",
    layer="boundary",
    roles=("client",),
    prior=0.02,
    mechanism="ends its sending side after the request, which the next hop takes for its leaving",
    predicts={
        "client-exit": _ILL,
        "client-stood": any_of("not", "waiting"),
        "client-closes": any_of("half"),
        "client-reuse": any_of("sound"),
        "client-route": any_of("tap"),
        "wire": any_of("bad"),
        "own-probe": any_of("ok"),
        "half-close-probe": any_of("fails"),
    },
    flips="the same bytes without the half-close are answered",
    settings=(
        "client: do not shut down the sending side before the answer has come",
        "hop: no common proxy has a switch for it; nginx: `proxy_ignore_client_abort on;`",
    ),
)
HEALTHY_CLIENT = SuspectClass(
    slug="healthy",
    layer="client",
    roles=("client",),
    prior=0.3,
    mechanism="asked, read and closed as it should, and got whole answers",
    predicts={
        "client-exit": any_of("well"),
        "client-stood": any_of("not"),
        "client-closes": any_of("never"),
        "client-reuse": any_of("sound"),
        "client-route": any_of("tap"),
        "wire": any_of("ok", "errors"),
        "own-probe": any_of("ok"),
        "half-close-probe": any_of("ok"),
    },
    is_fault=False,
)
ON_THE_PATH = SuspectClass(
    slug="on-the-path",
    layer="network",
    roles=("client",),
    prior=0.4,
    mechanism="asked as it should and did not get a whole answer",
    predicts={
        "client-stood": any_of("not", "waiting"),
        "client-closes": any_of("never", "once", "constant", "varying"),
        "client-reuse": any_of("sound"),
        "client-repeats": any_of("no"),
        "client-route": any_of("tap"),
        "wire": any_of("bad", "errors"),
        "own-probe": any_of("fails", "ok"),
        "half-close-probe": any_of("ok"),
        "idle-probe": any_of("kept"),
    },
    is_fault=False,
)
OWN_AFFAIR = SuspectClass(
    slug="own-affair",
    layer="client",
    roles=("client",),
    prior=0.1,
    mechanism="stood still or failed by itself, for a reason that did not cross the wire",
    predicts={
        "client-exit": _ILL,
        "client-stood": any_of("not", "idle", "busy"),
        "client-closes": any_of("never"),
        "client-reuse": any_of("sound"),
        "client-repeats": any_of("no"),
        "client-route": any_of("tap", "elsewhere", "nowhere"),
        "wire": any_of("ok"),
        "own-probe": any_of("ok"),
    },
    is_fault=False,
)

CLASSES = (
    POOL_EXHAUSTED, STALE_REUSE, CLIENT_DEADLOCK, CLIENT_PARSER, CLIENT_TIMER, ENV_PROXY,
    HALF_CLOSE, HEALTHY_CLIENT, ON_THE_PATH, OWN_AFFAIR,
)  # fmt: skip
