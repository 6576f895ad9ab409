"""What every scene watches beside its probes, where the deployment names it: logs and pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.beside import PAGE
from exonerate.core.scene import Activity, ReadLog, SampleMetrics

PAGE_SAMPLES_MAX = 1000
PAGE_PERIOD_S = 0.5


def watches(deployment: Deployment) -> tuple[Activity, ...]:
    """Background activities for any scene that sends probes."""
    return (*_logs(deployment), *_pages(deployment))


def _pages(deployment: Deployment) -> Iterator[SampleMetrics]:
    """Every page of counters, from before the first request to after the last."""
    for hop in deployment.hops:
        if hop.metrics is not None:
            yield SampleMetrics(
                name=f"{PAGE}{hop.name}",
                hop=hop.name,
                url=hop.metrics,
                count=PAGE_SAMPLES_MAX,
                every_s=PAGE_PERIOD_S,
                background=True,
            )


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
