"""The built-in suspect classes, and the suspects of one deployment."""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import entry_hop
from exonerate.core.diagnosis.catalogue import dropping, engines, network, nobody, proxies
from exonerate.core.diagnosis.suspect import Suspect, SuspectClass

BUILT_IN: tuple[SuspectClass, ...] = (
    *dropping.CLASSES, *proxies.CLASSES, *engines.CLASSES, *network.CLASSES, *nobody.CLASSES,
)  # fmt: skip


def suspects_of(
    deployment: Deployment, classes: Sequence[SuspectClass] = BUILT_IN
) -> list[Suspect]:
    """Every class at every hop that can be guilty of it; `healthy` stands at the entry."""
    found = [
        Suspect(suspect_class, hop.name)
        for suspect_class in classes
        for hop in deployment.hops
        if hop.role in suspect_class.roles
    ]
    entry = entry_hop(deployment).name
    found.extend(Suspect(c, entry) for c in classes if not c.roles)
    return found
