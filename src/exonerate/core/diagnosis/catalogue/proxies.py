"""Suspects that live in a proxy or a router, or at its boundary with the next hop."""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass

_BOXES = ("proxy", "router")


def _any(*values: str) -> frozenset[str]:
    return frozenset(values)


DROPS_REQUESTS = SuspectClass(
    slug="drops-requests",
    layer="proxy",
    roles=_BOXES,
    prior=0.12,
    mechanism="takes the request, sends nothing on, and keeps the client's connection open",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "fails-at": _any("same-request", "varying", "first-request"),
        "beyond-meanwhile": _any("ok"),
        "engine-meanwhile": _any("idle"),
        "request-left": _any("no"),
        "request-read": _any("read"),
        "ended-by": _any("us"),
        "phase": _any("before-head"),
        "delivered": _any("acked"),
        "onward-delivered": _any("acked"),
        "pool": _any("kept-closed", "sound"),
        "next-idle": _any("other-time", "stays-open"),
        "keepalive-flip": _any("same"),
        # What it keeps goes nowhere else either.
        "left-to": _any("next"),
    },
    flips="the same requests past the hop are answered; a new connection through it is answered "
    "while the old one still waits",
    settings=(
        "limit how many requests a client connection may carry at this hop, or let the client "
        "open a new connection each round, until the hop is repaired",
    ),
)
KEEPS_ANSWERS = SuspectClass(
    slug="drops-requests",
    layer="proxy",
    roles=_BOXES,
    # Below the network that loses answers on the way back, so that this has to be ruled out.
    prior=0.05,
    mechanism="sends the request on and keeps the answer that comes back, with the client's "
    "connection open",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "fails-at": _any("same-request", "varying", "first-request"),
        "beyond-meanwhile": _any("ok"),
        # The engine is done: what only collects an answer would have passed it on by now.
        "engine-meanwhile": _any("idle"),
        "request-left": _any("answered"),
        "request-copies": _any("one"),
        "left-to": _any("next"),
        "request-read": _any("read"),
        "ended-by": _any("us"),
        "phase": _any("before-head", "before-token"),
        "delivered": _any("acked"),
        "onward-delivered": _any("acked"),
        "keepalive-flip": _any("same"),
    },
    needs=("request-left", "engine-meanwhile"),
    flips="the same requests past the hop are answered; the answer reached the hop's own socket",
    settings=DROPS_REQUESTS.settings,
)
KEEPS_THE_REST = SuspectClass(
    slug="drops-requests",
    layer="proxy",
    roles=_BOXES,
    prior=0.05,
    mechanism="passes the beginning of the answer on and keeps the rest, with the client's "
    "connection open",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "fails-at": _any("same-request", "varying", "first-request"),
        "beyond-meanwhile": _any("ok"),
        "request-left": _any("answered"),
        "request-copies": _any("one"),
        "left-to": _any("next"),
        "request-read": _any("read"),
        "ended-by": _any("us"),
        "phase": _any("before-token", "after-token"),
        "delivered": _any("acked"),
        "onward-delivered": _any("acked"),
        "answer-lost": _any("no"),
        "keepalive-flip": _any("same"),
    },
    flips="the same answers come whole past the hop",
    settings=DROPS_REQUESTS.settings,
)
BUFFERING = SuspectClass(
    slug="buffering",
    layer="proxy",
    roles=_BOXES,
    prior=0.15,
    mechanism="collects the whole answer before it passes the first byte on",
    predicts={
        "through": _any("burst"),
        "beyond": _any("ok", "slow"),
        "answer-held": _any("yes"),
        "control": _any("quick"),
        "processor-wait": _any("fed"),
    },
    flips="the same stream past the hop is spread in time",
    settings=(
        "nginx: `proxy_buffering off;` and `proxy_http_version 1.1;`",
        "mitmproxy: `--set stream_large_bodies=1`",
    ),
)
COALESCING = SuspectClass(
    slug="coalescing",
    layer="proxy",
    roles=_BOXES,
    prior=0.04,
    mechanism="holds small writes back and merges tokens",
    predicts={
        "through": _any("jerky"),
        "beyond": _any("ok", "slow"),
        "control": _any("quick"),
        "processor-wait": _any("fed"),
    },
    flips="the same stream past the hop is smooth",
    settings=("HAProxy: `option http-no-delay`",),
)
IDLE_TIMER = SuspectClass(
    slug="idle-timer",
    layer="proxy",
    roles=_BOXES,
    prior=0.12,
    mechanism="closes an answer that was silent for longer than its timer",
    predicts={
        "spoken-by": _any("hop"),
        "request-read": _any("read"),
        "through": _any("cut", "server-error", "no-answer"),
        "beyond": _any("ok", "slow"),
        "ended-by": _any("hop"),
        "ended-after": _any("constant-silence"),
        "request-left": _any("yes", "answered"),
        # Varnish says 503 when a first byte is late.
        "error-said": _any("timeout", "bad-gateway", "unavailable", "error"),
        "idle-flip": _any("same"),
    },
    needs=("ended-after",),
    flips="an answer without a silence of that length survives",
    settings=(
        "nginx: `proxy_read_timeout`",
        "HAProxy: `timeout server`",
        "Envoy: `stream_idle_timeout`",
        "Caddy: `read_timeout`, `response_header_timeout`",
        "LiteLLM: `timeout`, `stream_timeout`",
        "sglang-router: `--request-timeout-secs`",
    ),
)
TOTAL_TIMER = SuspectClass(
    slug="total-timer",
    layer="proxy",
    roles=_BOXES,
    prior=0.06,
    mechanism="closes an answer that took longer than its timer, silent or not",
    predicts={
        "length-flip": _any("flips"),
        "spoken-by": _any("hop"),
        "request-read": _any("read"),
        "through": _any("cut", "server-error", "no-answer"),
        "beyond": _any("ok", "slow"),
        "ended-by": _any("hop"),
        "phase": _any("after-token"),
        "ended-after": _any("constant-total"),
        "error-said": _any("timeout", "bad-gateway", "error"),
        "idle-flip": _any("same"),
    },
    needs=("ended-after",),
    flips="a shorter answer survives",
    settings=("raise the hop's limit on the whole request",),
)
REQUEST_REFUSED = SuspectClass(
    slug="request-refused",
    layer="proxy",
    roles=_BOXES,
    prior=0.08,
    mechanism="refuses the request by its size, content or framing",
    predicts={
        "spoken-by": _any("hop"),
        "request-read": _any("read"),
        "through": _any("refused", "no-answer"),
        "beyond": _any("ok", "slow"),
        "ended-by": _any("hop"),
        "request-left": _any("no"),
        "phase": _any("before-head", "before-token"),
        "ended-after": _any("at-once"),
    },
    flips="a smaller request passes",
    settings=("nginx: `client_max_body_size`",),
)
LIMITED = SuspectClass(
    slug="request-refused",
    layer="proxy",
    roles=("proxy",),  # a router that says 503 at once believes that it has no worker left
    prior=0.04,
    mechanism="refuses the request by a limit of its own, of rate or of connections",
    predicts={
        "spoken-by": _any("hop"),
        "request-read": _any("read"),
        "through": _any("server-error"),
        "beyond": _any("ok", "slow"),
        "ended-by": _any("hop"),
        "error-said": _any("unavailable", "error"),  # 502 and 504 speak of another hop
        "request-left": _any("no"),
        "ended-after": _any("at-once"),
    },
    needs=("spoken-by", "error-said"),
    flips="fewer requests at a time, or more slowly, pass",
    settings=("nginx: `limit_req`",),
)
CORRUPTION = SuspectClass(
    slug="corruption",
    layer="proxy",
    roles=_BOXES,
    prior=0.08,
    mechanism="changes, loses or invents bytes of the answer",
    predicts={
        "through": _any("corrupt", "lost-ending", "ok"),
        "beyond": _any("ok", "slow"),
        "same-text": _any("differs"),
        "defect-kind": _any("transport", "garbled", "foreign"),
    },
    flips="the same answer past the hop is whole",
)
PERIODIC_KILL = SuspectClass(
    slug="periodic-kill",
    layer="proxy",
    roles=_BOXES,
    prior=0.03,
    mechanism="ends every answer in flight at fixed times, or leaves them all unfinished",
    predicts={
        "through": _any("cut", "hang"),
        "beyond": _any("ok", "slow"),
        # A clock does not count requests.
        "fails-at": _any("varying", "first-request"),
        "fresh-meanwhile": _any("ok"),
        "beyond-meanwhile": _any("ok"),
        "request-copies": _any("one"),
        "left-to": _any("next"),
        "request-read": _any("read"),
        "answer-lost": _any("no"),
        "delivered": _any("acked"),
        "onward-delivered": _any("acked"),
        "ended-by": _any("hop", "us"),
        "ended-after": _any("varying"),
        "phase": _any("after-token", "before-token"),
        "period": _any("regular", "together"),
        "idle-flip": _any("same"),
    },
    needs=("period",),
    flips="changing the period moves the cuts",
)
STALE_UPSTREAM_POOL = SuspectClass(
    slug="stale-upstream-pool",
    layer="boundary",
    roles=_BOXES,
    prior=0.05,
    mechanism="sends on a pooled connection that the next hop has already closed",
    predicts={
        "spoken-by": _any("hop"),
        "request-read": _any("read"),
        "through": _any("server-error", "hang", "no-answer"),
        "beyond": _any("ok", "slow"),
        "engine-meanwhile": _any("idle"),
        "phase": _any("before-head", "before-token"),
        "delivered": _any("acked"),
        "onward-delivered": _any("acked"),
        "idle-dependence": _any("longer-fails"),
        "next-idle": _any("same-time"),
        "pool": _any("used-closed"),
        "idle-flip": _any("flips"),
        "keepalive-flip": _any("same"),
    },
    needs=("idle-flip", "next-idle"),
    flips="what is idle for less time than the next hop's timer goes through",
    settings=(
        "this hop: keep idle connections to the next hop for less time than that one does (nginx: "
        "`keepalive_timeout` in `upstream`, HAProxy: `timeout http-keep-alive`, "
        "`pool-purge-delay`), or try again on a new one",
        "the next hop: a longer keep-alive timeout (uvicorn: `--timeout-keep-alive`)",
    ),
)
BREAKER_OPEN = SuspectClass(
    slug="breaker-open",
    layer="router",
    roles=("router",),
    prior=0.04,
    mechanism="has taken healthy workers out after earlier errors",
    predicts={
        "spoken-by": _any("hop"),
        "request-read": _any("read"),
        "through": _any("server-error"),
        "beyond": _any("ok", "slow"),
        "ended-by": _any("hop"),
        "request-left": _any("no"),
        "error-said": _any("unavailable", "error"),
        "breaker": _any("open"),
        "fails-at": _any("first-request"),
        # A router may try again for a while before it says no.
        "ended-after": _any("at-once", "constant-silence", "own-silence"),
    },
    needs=("request-left",),
    flips="after the breaker's period the same request passes",
)

CANCEL_NOT_PROPAGATED = SuspectClass(
    slug="cancel-not-propagated",
    layer="proxy",
    roles=_BOXES,
    prior=0.05,
    mechanism="does not tell the engine when a client leaves, so that it works for nobody",
    predicts={
        "request-read": _any("read"),
        "through": _any("slow", "hang"),
        "engine-meanwhile": _any("queueing", "progressing"),
        "request-copies": _any("one"),
        "request-left": _any("yes"),
        "ended-by": _any("us"),
        "phase": _any("before-head", "before-token"),
        "abort-through": _any("kept"),
        "abort-beyond": _any("freed"),
        "leaving": _any("kept"),
        "delivered": _any("acked"),
        "connecting": _any("quick"),
        "requests-behind": _any("more"),
        "onward-delivered": _any("acked"),
        "pool": _any("kept-closed", "sound"),
        "next-idle": _any("other-time", "stays-open"),
        "keepalive-flip": _any("same"),
    },
    needs=("leaving",),
    flips="a client that leaves past the hop frees the engine at once",
    settings=("nginx: `proxy_ignore_client_abort off;`",),
)
RETRY_MULTIPLICATION = SuspectClass(
    slug="retry-multiplication",
    layer="proxy",
    roles=_BOXES,
    prior=0.05,
    mechanism="sends a request again without cancelling the first: the engine does it twice",
    predicts={
        "request-read": _any("read"),
        "through": _any("slow", "hang", "ok"),
        "request-left": _any("yes", "answered"),
        "request-copies": _any("several"),
        "delivered": _any("acked"),
        "connecting": _any("quick"),
        "requests-behind": _any("more"),
        "leaving": _any("passed-on"),
        "onward-delivered": _any("acked"),
        "pool": _any("kept-closed", "sound"),
        "next-idle": _any("other-time", "stays-open"),
        "keepalive-flip": _any("same"),
    },
    flips="with retries off one request is one request",
    settings=("nginx: `proxy_next_upstream off;`",),
)
SICK_WORKER = SuspectClass(
    slug="sick-worker",
    layer="router",
    roles=("router",),
    prior=0.12,
    mechanism="keeps sending a share of the requests to a worker that does not answer",
    predicts={
        "request-read": _any("read"),
        "through": _any("hang", "slow", "server-error"),
        "beyond": _any("ok", "slow"),
        "request-left": _any("yes", "answered"),
        "left-to": _any("elsewhere"),
        "beyond-meanwhile": _any("ok"),
        "fails-at": _any("varying", "same-request", "first-request"),
        "ended-by": _any("us", "hop"),
        "phase": _any("before-head"),
        "engine-meanwhile": _any("idle"),
        "delivered": _any("acked"),
        "connecting": _any("quick"),
        "onward-delivered": _any("acked"),
        "pool": _any("kept-closed", "sound"),
        "next-idle": _any("other-time", "stays-open"),
        "keepalive-flip": _any("same"),
    },
    needs=("left-to",),
    flips="every worker that is asked directly answers",
    settings=("sglang-router: `--health-check-interval-secs`, `--health-failure-threshold`",),
)
FD_EXHAUSTED_BOX = SuspectClass(
    slug="fd-exhausted",
    layer="host",
    roles=_BOXES,
    prior=0.05,
    mechanism="has no file descriptor left: the kernel takes connections, the program never does",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "fails-at": _any("first-request"),
        "request-read": _any("not-accepted"),
        "engine-meanwhile": _any("idle"),
        "phase": _any("before-head"),
        "delivered": _any("acked"),
        "keepalive-flip": _any("same"),
        "onward-delivered": _any("acked"),
        "pool": _any("kept-closed", "sound"),
        "next-idle": _any("other-time", "stays-open"),
    },
    needs=("request-read",),
    flips="with a higher limit of open files new connections are taken",
    settings=("raise `LimitNOFILE=` (`ulimit -n`) of the process, or close idle connections",),
)

CLASSES = (
    CANCEL_NOT_PROPAGATED, RETRY_MULTIPLICATION, SICK_WORKER, FD_EXHAUSTED_BOX,
    DROPS_REQUESTS, KEEPS_ANSWERS, KEEPS_THE_REST, BUFFERING, COALESCING, IDLE_TIMER, TOTAL_TIMER,
    REQUEST_REFUSED, LIMITED, CORRUPTION,
    PERIODIC_KILL, STALE_UPSTREAM_POOL, BREAKER_OPEN,
)  # fmt: skip
