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
        "engine-up": _any("up"),
        "through": _any("slow", "hang", "mixed"),
        "engine-meanwhile": _any("queueing"),
        "ended-by": _any("us", "nobody"),
        "abort-through": _any("freed"),
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
        "ended-by": _any("us", "nobody"),
        "phase": _any("before-head", "before-token", "after-token"),
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
        "phase": _any("before-head"),
    },
    needs=("request-read",),
    flips="only an engine setting changes it, never the path",
)
ENGINE_RESTART = SuspectClass(
    slug="engine-restart",
    layer="engine",
    roles=_ENGINES,
    prior=0.04,
    mechanism="is down or is being started again",
    predicts={
        "engine-up": _any("refuses", "restarted"),
        "through": _any("no-connect", "cut", "server-error", "no-answer", "mixed"),
    },
    flips="once it is up the same requests are answered",
)
KERNEL_CORRUPTION = SuspectClass(
    slug="kernel-corruption",
    layer="engine",
    roles=_ENGINES,
    prior=0.03,
    mechanism="computes wrong tokens",
    predicts={"through": _any("corrupt"), "defect-kind": _any("transport")},
    flips="eager mode, or a smaller batch, gives sensible text",
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
    prior=0.05,
    mechanism="does not give a slot back when a client leaves",
    predicts={
        "engine-up": _any("up"),
        "through": _any("slow", "hang", "mixed"),
        "engine-meanwhile": _any("queueing", "stuck"),
        "abort-through": _any("kept"),
    },
    needs=("abort-through",),
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
    },
    needs=("request-read",),
    flips="with a higher limit of open files new connections are taken",
    settings=("raise `LimitNOFILE=` (`ulimit -n`) of the process, or close idle connections",),
)

CLASSES = (
    SLOT_LEAK, FD_EXHAUSTED_ENGINE,
    SATURATED, LONG_PREFILL, SCHEDULER_STUCK, FRONTEND_LOST, ENGINE_RESTART, KERNEL_CORRUPTION,
    TEMPLATE_LEAK,
)  # fmt: skip
