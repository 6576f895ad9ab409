"""A proxy or router that takes requests and never ends them: the founding story, and its kin.

They are one class, told apart by what the box is seen to keep: the request, the answer, or the rest
of an answer that had begun.
"""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import BOXES, SuspectClass, any_of

DROPS_REQUESTS = SuspectClass(
    slug="drops-requests",
    layer="proxy",
    roles=BOXES,
    prior=0.12,
    mechanism="takes the request, sends nothing on, and keeps the client's connection open",
    predicts={
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "fails-at": any_of("same-request", "varying", "first-request"),
        "beyond-meanwhile": any_of("ok"),
        "engine-meanwhile": any_of("idle"),
        "request-left": any_of("no"),
        "request-read": any_of("read"),
        "ended-by": any_of("us"),
        "phase": any_of("before-head"),
        "delivered": any_of("acked"),
        "onward-delivered": any_of("acked"),
        "pool": any_of("kept-closed", "sound"),
        "next-idle": any_of("other-time", "stays-open"),
        "keepalive-flip": any_of("same"),
        # What it keeps goes nowhere else either.
        "left-to": any_of("next"),
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
    roles=BOXES,
    # Below the network that loses answers on the way back, so that this has to be ruled out.
    prior=0.05,
    mechanism="sends the request on and keeps the answer that comes back, with the client's "
    "connection open",
    predicts={
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "fails-at": any_of("same-request", "varying", "first-request"),
        "beyond-meanwhile": any_of("ok"),
        # The engine is done: what only collects an answer would have passed it on by now.
        "engine-meanwhile": any_of("idle"),
        "request-left": any_of("answered"),
        "request-copies": any_of("one"),
        "left-to": any_of("next"),
        "request-read": any_of("read"),
        "ended-by": any_of("us"),
        "phase": any_of("before-head", "before-token"),
        "delivered": any_of("acked"),
        "onward-delivered": any_of("acked"),
        "keepalive-flip": any_of("same"),
    },
    needs=("request-left", "engine-meanwhile"),
    flips="the same requests past the hop are answered; the answer reached the hop's own socket",
    settings=DROPS_REQUESTS.settings,
)
KEEPS_THE_REST = SuspectClass(
    slug="drops-requests",
    layer="proxy",
    roles=BOXES,
    prior=0.05,
    mechanism="passes the beginning of the answer on and keeps the rest, with the client's "
    "connection open",
    predicts={
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        # At whatever request: then it may be a clock that ends all that is in flight.
        "fails-at": any_of("same-request", "first-request"),
        "beyond-meanwhile": any_of("ok"),
        # A reading of sockets can be older than the first bytes of the answer.
        "request-left": any_of("yes", "answered"),
        "request-copies": any_of("one"),
        "left-to": any_of("next"),
        "request-read": any_of("read"),
        "ended-by": any_of("us"),
        "phase": any_of("before-token", "after-token"),
        "delivered": any_of("acked"),
        "onward-delivered": any_of("acked"),
        "answer-lost": any_of("no"),
        "keepalive-flip": any_of("same"),
    },
    flips="the same answers come whole past the hop",
    settings=DROPS_REQUESTS.settings,
)
CLASSES = (DROPS_REQUESTS, KEEPS_ANSWERS, KEEPS_THE_REST)
