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
        "texts-past": frozenset({"same"}),
        "load-text": frozenset({"same"}),
        "connecting": frozenset({"quick"}),
        "starved-path": frozenset({"no"}),
        # Work that no client waits for makes everybody slow, entry by entry alike.
        "requests-behind": frozenset({"as-many"}),
        # A hang can be over by now; errors that keep coming do not go with a sound path.
        "complaint": frozenset({"hang", "slow", "corrupted", "truncated"}),
    },
    is_fault=False,
    total=True,
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

BENIGN_NONDETERMINISM = SuspectClass(
    slug="benign-nondeterminism",
    layer="engine",
    roles=(),
    prior=0.05,
    mechanism="is before an engine whose wording depends on what else runs: other batches round "
    "differently, and each answer is sensible",
    predicts={
        "through": frozenset({"ok"}),
        "beyond": frozenset({"ok"}),
        "same-text": frozenset({"same", "differs"}),
        "load-text": frozenset({"diverges"}),
        "complaint": frozenset({"corrupted"}),
    },
    is_fault=False,
    needs=("load-text",),
    flips="one request at a time gets the same text every time",
    settings=(
        "where the wording must not change: a deterministic mode of the engine (SGLang "
        "`--enable-deterministic-inference`, vLLM `VLLM_BATCH_INVARIANT=1`), at its price",
    ),
)
HOST_STARVED = SuspectClass(
    slug="host-starved",
    layer="host",
    roles=(),
    prior=0.05,
    mechanism="is on a host without processor time to give: a known-good exchange that passes no "
    "hop is slow as well",
    predicts={
        "through": frozenset({"ok", "slow", "jerky", "burst", "mixed"}),
        "beyond": frozenset({"slow"}),
        "control": frozenset({"slow"}),
        "complaint": frozenset({"slow", "hang"}),
    },
    is_fault=False,
    needs=("control",),
    flips="on an idle host the same requests are quick",
    settings=("move what else runs on this host away, or give the engine processors of its own",),
)
HOP_STARVED = SuspectClass(
    slug="host-starved",
    layer="host",
    roles=("proxy", "router", "prefill", "decode", "engine"),
    prior=0.03,
    mechanism="is ready to compute and gets no processor: other programs of its host have them",
    predicts={
        "through": frozenset({"slow", "hang", "jerky", "burst"}),
        "processor-wait": frozenset({"starved"}),
        "engine-meanwhile": frozenset({"progressing", "queueing"}),
        # Kernels still take connections, and nothing is asked twice.
        "connecting": frozenset({"quick"}),
        "request-copies": frozenset({"one"}),
        "requests-behind": frozenset({"as-many"}),
    },
    is_fault=False,
    needs=("processor-wait",),
    flips="on an idle host the same requests are quick",
    settings=("move what else runs on this host away, or give the hop processors of its own",),
)
PATH_STARVED = SuspectClass(
    slug="host-starved",
    layer="host",
    roles=(),
    prior=0.05,
    mechanism="answers as well as past every hop, and the victim finds it slow: programs on the "
    "path are ready to compute and get no processor",
    predicts={
        # Compared with each other, sessions that are all slow are all well.
        "through": frozenset({"ok"}),
        "beyond": frozenset({"ok", "slow"}),
        "same-text": frozenset({"same"}),
        "texts-past": frozenset({"same"}),
        "load-text": frozenset({"same"}),
        "connecting": frozenset({"quick"}),
        "starved-path": frozenset({"yes"}),
        "complaint": frozenset({"slow"}),
    },
    is_fault=False,
    needs=("starved-path",),
    flips=HOP_STARVED.flips,
    settings=HOP_STARVED.settings,
)
CLASSES = (HOST_STARVED, HOP_STARVED, PATH_STARVED, HEALTHY, BENIGN_NONDETERMINISM, STALE_REUSE)
