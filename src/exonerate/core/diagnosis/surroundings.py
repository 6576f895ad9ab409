"""What every scene watches beside its probes, where the deployment names it: logs, taps, health."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import hop_port, is_engine
from exonerate.core.diagnosis.beside import ERROR_LOG, HEALTH, SETTINGS, TAP
from exonerate.core.diagnosis.gpus import on_this_host
from exonerate.core.scene import (
    Activity,
    ReadLog,
    SampleMetrics,
    Scene,
    Tap,
    WatchGpus,
    WatchPackets,
)

DEEP_HEALTH: Mapping[str, str] = {
    "sglang": "/health_generate",
    "vllm": "/health",
    "llama.cpp": "/health",
    "llamacpp": "/health",
}
"""By the kind of an engine. SGLang's makes a token; the others only tell that the front end is up,
and llama.cpp's that the model is there."""
COMPUTES = "/health_generate"
"""How the address of a page ends that makes the engine compute something."""
LIGHT_HEALTH: Mapping[str, str] = {**DEEP_HEALTH, "sglang": "/ping"}
"""The same without a token; SGLang's `/health` makes one as well."""
LIGHT = "/light"
SETTINGS_PAGES: Mapping[str, str] = {"sglang": "/server_info"}
"""By the kind of an engine: what it says of its own settings (sglang 0.5.23)."""
HEALTH_PERIOD_S = 1.0
GPU_PERIOD_S = 2.0
"""The tool that is asked takes a while, and now and then the driver's lock."""
GPU_SAMPLES_MAX = 300
HEALTH_SAMPLES_MAX = 600


def watches(deployment: Deployment, *, gentle: bool = False) -> tuple[Activity, ...]:
    """Background activities for any scene that sends probes.

    `gentle`: no page that makes an engine compute.
    """
    return (
        *_logs(deployment),
        *taps(deployment),
        *_health(deployment, gentle=gentle),
        *_settings(deployment),
        *_gpus(deployment),
    )


def watching_packets(scene: Scene, deployment: Deployment) -> Scene:
    """The scene with a look at every packet between the hops, as long as it lasts."""
    ports = tuple(dict.fromkeys(hop_port(hop) for hop in deployment.hops))
    return replace(scene, activities=(WatchPackets(name="packets", ports=ports), *scene.activities))


def health_urls(deployment: Deployment, *, gentle: bool = False) -> Mapping[str, str]:
    """Hop -> the page that tells whether it is well, as deep as there is one."""
    pages = LIGHT_HEALTH if gentle else DEEP_HEALTH
    found = {
        hop.name: hop.health
        for hop in deployment.hops
        if hop.health is not None and not (gentle and computes(hop.health))
    }
    for hop in deployment.hops:
        page = pages.get((hop.kind or "").lower())
        if is_engine(hop) and page is not None:
            found.setdefault(hop.name, hop.url + page)
    return found


def health_pages(deployment: Deployment) -> Mapping[str, str]:
    """Name of a reading -> the page, for both ways to read it; and the pages of settings."""
    deep, light = health_urls(deployment), health_urls(deployment, gentle=True)
    names = {f"{HEALTH}{hop}": url for hop, url in deep.items()}
    names |= {f"{HEALTH}{hop}{LIGHT}": url for hop, url in light.items()}
    return names | {one.name: one.url for one in _settings(deployment)}


def computes(url: str) -> bool:
    """Whether this page makes the engine compute something, so that its answer tells of it."""
    return urlsplit(url).path.rstrip("/").endswith(COMPUTES)


def _health(deployment: Deployment, *, gentle: bool) -> Iterator[SampleMetrics]:
    for hop, url in health_urls(deployment, gentle=gentle).items():
        yield SampleMetrics(
            name=f"{HEALTH}{hop}{LIGHT if gentle else ''}",
            hop=hop,
            url=url,
            count=HEALTH_SAMPLES_MAX,
            every_s=HEALTH_PERIOD_S,
            background=True,
        )


def _settings(deployment: Deployment) -> Iterator[SampleMetrics]:
    """When an engine's watchdog would speak, asked once a scene where its log is listened to."""
    for hop in deployment.hops:
        page = SETTINGS_PAGES.get((hop.kind or "").lower())
        if is_engine(hop) and page is not None and hop.log is not None and not hop.watchdog_s:
            yield SampleMetrics(
                name=f"{SETTINGS}{hop.name}",
                hop=hop.name,
                url=hop.url + page,
                count=1,
                every_s=HEALTH_PERIOD_S,
                background=True,
            )


def _gpus(deployment: Deployment) -> Iterator[WatchGpus]:
    """This host's GPUs, where an engine runs on it."""
    if any(is_engine(hop) and on_this_host(hop) for hop in deployment.hops):
        yield WatchGpus(name="gpus", count=GPU_SAMPLES_MAX, every_s=GPU_PERIOD_S)


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
            yield ReadLog(
                name=f"log@{hop.name}",
                hop=hop.name,
                path=hop.log,
                kind=hop.kind,
                engine=is_engine(hop),
            )
        if hop.error_log is not None:
            yield ReadLog(
                name=f"{ERROR_LOG}{hop.name}", hop=hop.name, path=hop.error_log, kind=hop.kind
            )
