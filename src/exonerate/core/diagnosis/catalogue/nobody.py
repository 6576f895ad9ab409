"""Nobody is guilty, as far as the path goes."""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass

HEALTHY = SuspectClass(
    slug="healthy",
    layer="host",
    roles=(),
    prior=0.2,
    mechanism="everything that was asked answered as it should",
    predicts={"through": frozenset({"ok"}), "beyond": frozenset({"ok"})},
    is_fault=False,
)

CLASSES = (HEALTHY,)
