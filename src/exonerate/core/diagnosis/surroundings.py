"""What every scene watches beside its probes, where the deployment names it: logs of hops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exonerate.core.deployment.model import Deployment
from exonerate.core.scene import Activity, ReadLog


def watches(deployment: Deployment) -> tuple[Activity, ...]:
    """Background activities for any scene that sends probes."""
    return tuple(_logs(deployment))


def log_paths(deployment: Deployment) -> Mapping[str, str]:
    """Activity name -> path, as the operator wrote it."""
    return {activity.name: activity.path for activity in _logs(deployment)}


def _logs(deployment: Deployment) -> Iterator[ReadLog]:
    for hop in deployment.hops:
        if hop.log is not None:
            yield ReadLog(name=f"log@{hop.name}", hop=hop.name, path=hop.log, kind=hop.kind)
        if hop.error_log is not None:
            yield ReadLog(
                name=f"error-log@{hop.name}", hop=hop.name, path=hop.error_log, kind=hop.kind
            )
