"""What one site knows of its own gateway and engine, for Exonerate."""

from exonerate.adapters.engines.names import SeriesNames
from exonerate.core.diagnosis.suspect import SuspectClass

NIGHTLY_LIMIT = SuspectClass(
    slug="acme-nightly-limit",
    layer="proxy",
    roles=("proxy",),
    prior=0.05,
    mechanism="answers 429 to everybody from the third request of a connection on, at night",
    predicts={
        "through": frozenset({"refused"}),
        "fails-at": frozenset({"same-request"}),
        "beyond": frozenset({"ok"}),
        "beyond-meanwhile": frozenset({"ok"}),
        "ended-by": frozenset({"hop"}),
        "phase": frozenset({"before-token"}),
        "fresh-session": frozenset({"ok"}),
    },
    needs=("fails-at",),
    flips="on a new connection the same request is answered",
    settings=("raise `night_limit` in /etc/acme/gateway.conf",),
)
CLASSES = (NIGHTLY_LIMIT,)

ENGINE = SeriesNames(
    "acme",
    {
        "running": ("acme:in_flight",),
        "waiting": ("acme:queued",),
        "generated_tokens": ("acme:tokens_out_total",),
    },
    gauge_lag_s=5.0,
)
