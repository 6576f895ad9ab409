"""Suspects that live in an engine, and the healthy engines that only look guilty."""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass

_ENGINES = ("engine", "prefill", "decode")


def _any(*values: str) -> frozenset[str]:
    return frozenset(values)


SATURATED = SuspectClass(
    slug="saturated",
    layer="engine",
    roles=_ENGINES,
    prior=0.12,
    mechanism="has more work than it can do at once, so requests wait their turn",
    predicts={
        "through": _any("slow", "hang"),
        "engine-meanwhile": _any("queueing"),
        "ended-by": _any("us", "nobody"),
        "request-read": _any("read"),
        "phase": _any("before-head", "before-token"),
        "abort-through": _any("freed"),
        "leaving": _any("passed-on"),
        "requests-behind": _any("as-many"),
        "slots-held": _any("as-live"),
        "control": _any("quick"),
        "processor-wait": _any("fed"),
        "delivered": _any("acked"),
        "connecting": _any("quick"),
        "request-copies": _any("one"),
    },
    is_fault=False,
    flips="with less load the same requests are quick",
    settings=("add capacity, or limit admission in front of the engine",),
)
LONG_PREFILL = SuspectClass(
    slug="long-prefill",
    layer="engine",
    roles=_ENGINES,
    prior=0.06,
    mechanism="reads a long prompt before its first token",
    predicts={
        "through": _any("slow"),
        "engine-meanwhile": _any("progressing"),
        "requests-behind": _any("as-many"),
        "ended-by": _any("us", "nobody"),
        "phase": _any("before-head", "before-token", "after-token"),
        "control": _any("quick"),
        "processor-wait": _any("fed"),
        "connecting": _any("quick"),
        "request-copies": _any("one"),
    },
    is_fault=False,
    flips="a shorter prompt is answered at once",
)
SCHEDULER_STUCK = SuspectClass(
    slug="scheduler-stuck",
    layer="engine",
    roles=_ENGINES,
    prior=0.06,
    mechanism="holds requests and computes nothing",
    predicts={
        "through": _any("hang"),
        "engine-meanwhile": _any("stuck"),
        "request-read": _any("read", "unread"),
        "ended-by": _any("us"),
        "fresh-meanwhile": _any("fails"),
        "leg-answered": _any("no"),
        "slots-held": _any("as-live"),
        "delivered": _any("acked"),
        "deep-health": _any("fails", "silent"),
        "keepalive-flip": _any("same"),
    },
    flips="after a restart the same requests are answered",
)
FRONTEND_LOST = SuspectClass(
    slug="frontend-lost",
    layer="engine",
    roles=_ENGINES,
    prior=0.04,
    mechanism="read the request and lost it before it was scheduled",
    predicts={
        "through": _any("hang"),
        "engine-meanwhile": _any("idle"),
        "ended-by": _any("us"),
        "request-read": _any("read"),
        "answer-lost": _any("no"),
        "leg-answered": _any("no"),
        "phase": _any("before-head"),
        "engine-process": _any("same"),
        "delivered": _any("acked"),
        "keepalive-flip": _any("same"),
        "slots-held": _any("as-live"),
    },
    needs=("request-read", "engine-meanwhile"),
    flips="only an engine setting changes it, never the path",
)
ENGINE_RESTART = SuspectClass(
    slug="engine-restart",
    layer="engine",
    roles=_ENGINES,
    prior=0.04,
    mechanism="is down or is being started again",
    predicts={
        "through": _any("no-connect", "cut", "server-error", "no-answer", "mixed"),
        "engine-process": _any("restarted", "down"),
        "ended-by": _any("hop", "network"),
    },
    needs=("engine-process",),
    flips="once it is up the same requests are answered",
)
KERNEL_CORRUPTION = SuspectClass(
    slug="kernel-corruption",
    layer="engine",
    roles=_ENGINES,
    prior=0.03,
    mechanism="computes wrong tokens in some batches",
    predicts={
        "through": _any("corrupt"),
        "defect-kind": _any("transport", "garbled"),
        "load-text": _any("garbled"),
        "load-flip": _any("flips"),
        "tokens-flip": _any("same"),
    },
    needs=("load-flip",),
    flips="eager mode, or a smaller batch, gives sensible text",
    settings=(
        "serve smaller batches until it is repaired (vLLM `--max-num-seqs`, SGLang "
        "`--max-running-requests`)",
        "try eager mode (vLLM `--enforce-eager`, SGLang `--disable-cuda-graph`): a graph captured "
        "for one batch size is a usual place",
    ),
)
LONG_CONTEXT_CORRUPTION = SuspectClass(
    slug="long-context-corruption",
    layer="engine",
    roles=_ENGINES,
    prior=0.03,
    mechanism="computes wrong tokens once the prompt is longer than some length",
    predicts={
        "through": _any("corrupt"),
        "defect-kind": _any("garbled"),
        "load-text": _any("garbled"),
        "load-flip": _any("same"),
        "tokens-flip": _any("flips"),
    },
    needs=("tokens-flip",),
    flips="the same bytes with fewer prompt tokens get sensible text",
    settings=("try a dense attention backend, or limit the context length",),
)
KV_MIXUP = SuspectClass(
    slug="kv-mixup",
    layer="engine",
    roles=_ENGINES,
    prior=0.03,
    mechanism="gives a request words of another one",
    predicts={
        "through": _any("corrupt"),
        "defect-kind": _any("foreign"),
        "load-text": _any("foreign"),
        "load-flip": _any("flips"),
    },
    needs=("load-flip",),
    flips="a request that is alone gets its own text",
    settings=("flush the prefix cache, and try without it",),
)
TEMPLATE_LEAK = SuspectClass(
    slug="template-leak",
    layer="engine",
    roles=_ENGINES,
    prior=0.03,
    mechanism="lets special tokens of its template or parser into the text",
    predicts={"through": _any("corrupt"), "defect-kind": _any("special-token")},
    flips="the raw completion endpoint is clean",
)
SLOT_LEAK = SuspectClass(
    slug="slot-leak",
    layer="engine",
    roles=_ENGINES,
    prior=0.035,
    mechanism="does not give a slot back when a client leaves",
    predicts={
        "through": _any("slow", "hang"),
        "engine-meanwhile": _any("queueing", "stuck"),
        "request-read": _any("read"),
        "ended-by": _any("us", "nobody"),
        "phase": _any("before-head", "before-token"),
        "abort-through": _any("kept", "leaked"),
        "leaving": _any("passed-on"),
        "requests-behind": _any("as-many"),
        "slots-held": _any("above-live"),
        "control": _any("quick"),
        "delivered": _any("acked"),
        "connecting": _any("quick"),
    },
    needs=("slots-held",),
    flips="a restart gives the slots back",
)
FD_EXHAUSTED_ENGINE = SuspectClass(
    slug="fd-exhausted",
    layer="host",
    roles=_ENGINES,
    prior=0.05,
    mechanism="has no file descriptor left: the kernel takes connections, the program never does",
    predicts={
        "through": _any("hang"),
        "fails-at": _any("first-request"),
        "request-read": _any("not-accepted"),
        "engine-meanwhile": _any("idle"),
        "phase": _any("before-head"),
        "delivered": _any("acked"),
        "keepalive-flip": _any("same"),
    },
    needs=("request-read",),
    flips="with a higher limit of open files new connections are taken",
    settings=("raise `LimitNOFILE=` (`ulimit -n`) of the process, or close idle connections",),
)

HALF_PAIR = SuspectClass(
    slug="half-pair",
    layer="router",
    roles=("router",),
    prior=0.03,
    mechanism="waits for the decode engine, which waits for a prefill engine that has answered "
    "already and will send nothing",
    predicts={
        "through": _any("hang"),
        "legs": _any("decode-waits"),
        "engine-meanwhile": _any("holding", "stuck"),
        "request-left": _any("answered"),
        "request-copies": _any("several"),
        "left-to": _any("next"),
        "request-read": _any("read"),
        # The same request on a new connection fails as this one does, where it is the request.
        "small-meanwhile": _any("ok"),
        "delivered": _any("acked"),
        "onward-delivered": _any("acked"),
        "ended-by": _any("us"),
        "phase": _any("before-head"),
    },
    needs=("legs", "request-left"),
    flips="a request that the prefill engine takes is answered while the other still waits",
    settings=(
        "ask the prefill engine directly what it says to the failing request (its log names it)",
        "a time limit on the decode side's wait for the transfer turns the hang into an error "
        "(SGLang: `SGLANG_DISAGGREGATION_WAITING_TIMEOUT`)",
    ),
)
CLASSES = (
    HALF_PAIR,
    SLOT_LEAK, FD_EXHAUSTED_ENGINE,
    SATURATED, LONG_PREFILL, SCHEDULER_STUCK, FRONTEND_LOST, ENGINE_RESTART, KERNEL_CORRUPTION,
    LONG_CONTEXT_CORRUPTION, KV_MIXUP, TEMPLATE_LEAK,
)  # fmt: skip
