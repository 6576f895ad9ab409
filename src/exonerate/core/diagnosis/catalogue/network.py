"""Suspects between the hops."""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass

_BOXES = ("proxy", "router")

SILENT_DROP = SuspectClass(
    slug="silent-drop",
    layer="network",
    roles=_BOXES,
    prior=0.05,
    mechanism="something between this hop and the next forgets idle connections without a word",
    predicts={
        "through": frozenset({"hang"}),
        "beyond": frozenset({"ok", "slow"}),
        "engine-meanwhile": frozenset({"idle"}),
        "request-left": frozenset({"yes"}),
        "left-to": frozenset({"next"}),
        "request-read": frozenset({"read"}),
        "ended-by": frozenset({"us"}),
    },
    needs=("keepalive-flip",),
    flips="TCP keep-alive every second cures it",
)

CLASSES = (SILENT_DROP,)
