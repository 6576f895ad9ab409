"""What every scene watches beside its probes, where the deployment names it: logs, taps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.beside import TAP
from exonerate.core.scene import Activity, ReadLog, Tap


def watches(deployment: Deployment) -> tuple[Activity, ...]:
    """Background activities for any scene that sends probes."""
    return (*_logs(deployment), *taps(deployment))


def taps(deployment: Deployment) -> list[Tap]:
    """A tap before each hop that has one; it outlives the scenes that listen to it."""
    return [
        Tap(
            name=f"{TAP}{hop.name}",
            hop=hop.name,
            listen_port=urlsplit(hop.tap).port or 80,
            upstream_url=hop.url,
        )
        for hop in deployment.hops
        if hop.tap is not None
    ]


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
