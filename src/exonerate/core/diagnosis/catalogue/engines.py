"""Suspects that live in an engine, and the healthy engines that only look guilty."""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass, any_of

_ENGINES = ("engine", "prefill", "decode")


SATURATED = SuspectClass(
    slug="saturated",
    layer="engine",
    roles=_ENGINES,
    prior=0.12,
    mechanism="has more work than it can do at once, so requests wait their turn",
    predicts={
        "through": any_of("slow", "hang"),
        "engine-meanwhile": any_of("queueing"),
        "ended-by": any_of("us", "nobody"),
        "request-read": any_of("read"),
        "phase": any_of("before-head", "before-token"),
        "abort-through": any_of("freed"),
        "leaving": any_of("passed-on"),
        "requests-behind": any_of("as-many"),
        "slots-held": any_of("as-live"),
        "control": any_of("quick"),
        "processor-wait": any_of("fed"),
        "delivered": any_of("acked"),
        "connecting": any_of("quick"),
        "request-copies": any_of("one"),
        "gpu-slowed": any_of("yes"),
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
        "through": any_of("slow"),
        "engine-meanwhile": any_of("progressing"),
        "requests-behind": any_of("as-many"),
        "ended-by": any_of("us", "nobody"),
        "phase": any_of("before-head", "before-token", "after-token"),
        "control": any_of("quick"),
        "processor-wait": any_of("fed"),
        "connecting": any_of("quick"),
        "request-copies": any_of("one"),
        "gpu-slowed": any_of("yes"),
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
        "through": any_of("hang"),
        "engine-meanwhile": any_of("stuck"),
        "request-read": any_of("read", "unread"),
        "ended-by": any_of("us"),
        "fresh-meanwhile": any_of("fails"),
        "small-meanwhile": any_of("fails"),
        "leg-answered": any_of("no"),
        "slots-held": any_of("as-live"),
        "delivered": any_of("acked"),
        "deep-health": any_of("fails", "silent"),
        "steps": any_of("stop"),
        "watchdog": any_of("spoke"),
        "gpu-failed": any_of("yes"),
        "keepalive-flip": any_of("same"),
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
        "through": any_of("hang"),
        "engine-meanwhile": any_of("idle"),
        "ended-by": any_of("us"),
        "request-read": any_of("read"),
        "answer-lost": any_of("no"),
        "leg-answered": any_of("no"),
        "phase": any_of("before-head"),
        "engine-process": any_of("same"),
        "delivered": any_of("acked"),
        "keepalive-flip": any_of("same"),
        "slots-held": any_of("as-live"),
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
        "through": any_of("no-connect", "cut", "server-error", "no-answer", "mixed"),
        "engine-process": any_of("restarted", "down"),
        "ended-by": any_of("hop", "network"),
    },
    needs=("engine-process",),
    flips="once it is up the same requests are answered",
    settings=(
        "the engine's host: whether its process runs and listens where `url` of the hop says "
        "(`ss -ltnp`), and what its log says of its end",
    ),
)
KERNEL_CORRUPTION = SuspectClass(
    slug="kernel-corruption",
    layer="engine",
    roles=_ENGINES,
    prior=0.03,
    mechanism="computes wrong tokens in some batches",
    predicts={
        "through": any_of("corrupt"),
        "defect-kind": any_of("transport", "garbled"),
        "load-text": any_of("garbled"),
        "load-flip": any_of("flips"),
        "tokens-flip": any_of("same"),
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
        "through": any_of("corrupt"),
        "defect-kind": any_of("garbled"),
        "load-text": any_of("garbled"),
        "load-flip": any_of("same"),
        "tokens-flip": any_of("flips"),
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
        "through": any_of("corrupt"),
        "defect-kind": any_of("foreign"),
        "load-text": any_of("foreign"),
        "load-flip": any_of("flips"),
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
    predicts={"through": any_of("corrupt"), "defect-kind": any_of("special-token")},
    flips="the raw completion endpoint is clean",
)
SLOT_LEAK = SuspectClass(
    slug="slot-leak",
    layer="engine",
    roles=_ENGINES,
    prior=0.035,
    mechanism="does not give a slot back when a client leaves",
    predicts={
        "through": any_of("slow", "hang"),
        "engine-meanwhile": any_of("queueing", "stuck"),
        "request-read": any_of("read"),
        "ended-by": any_of("us", "nobody"),
        "phase": any_of("before-head", "before-token"),
        "abort-through": any_of("kept", "leaked"),
        "leaving": any_of("passed-on"),
        "requests-behind": any_of("as-many"),
        "slots-held": any_of("above-live"),
        "control": any_of("quick"),
        "delivered": any_of("acked"),
        "connecting": any_of("quick"),
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
        "through": any_of("hang"),
        "fails-at": any_of("first-request"),
        "request-read": any_of("not-accepted"),
        "engine-meanwhile": any_of("idle"),
        "phase": any_of("before-head"),
        "delivered": any_of("acked"),
        "keepalive-flip": any_of("same"),
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
        "through": any_of("hang"),
        "legs": any_of("decode-waits"),
        "engine-meanwhile": any_of("holding", "stuck"),
        "request-left": any_of("answered"),
        "request-copies": any_of("several"),
        "left-to": any_of("next"),
        "request-read": any_of("read"),
        # The same request on a new connection fails as this one does, where it is the request.
        "small-meanwhile": any_of("ok"),
        "delivered": any_of("acked"),
        "onward-delivered": any_of("acked"),
        "ended-by": any_of("us"),
        "phase": any_of("before-head"),
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
