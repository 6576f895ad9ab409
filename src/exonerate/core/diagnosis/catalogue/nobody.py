"""Nobody is guilty, as far as the path goes."""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass

HEALTHY = SuspectClass(
    slug="healthy",
    layer="host",
    roles=(),
    prior=0.2,
    mechanism="everything that was asked answered as it should",
    predicts={
        "through": frozenset({"ok"}),
        "beyond": frozenset({"ok"}),
        "same-text": frozenset({"same"}),
        "connecting": frozenset({"quick"}),
        # A hang can be over by now; errors that keep coming do not go with a sound path.
        "complaint": frozenset({"hang", "slow", "corrupted", "truncated"}),
    },
    is_fault=False,
)

STALE_REUSE = SuspectClass(
    slug="stale-reuse",
    layer="boundary",
    roles=(),
    prior=0.1,
    mechanism="closes connections that are idle for longer than its timer, and the client sends "
    "its next request on one of them",
    predicts={
        "through": frozenset({"ok"}),
        "closed-while-idle": frozenset({"after-a-while"}),
        "connecting": frozenset({"quick"}),
        "complaint": frozenset({"errors", "truncated"}),
    },
    needs=("closed-while-idle", "complaint"),
    flips="after a shorter idle time the same connection is still open",
    settings=(
        "the client's pool: keep idle connections for less time than the server does",
        "the server: a longer keep-alive timeout (uvicorn `--timeout-keep-alive`, nginx "
        "`keepalive_timeout`)",
    ),
)

CLASSES = (HEALTHY, STALE_REUSE)
