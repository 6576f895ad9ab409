"""What the GPUs of this host did, as far as it is remarkable: failed, or slowed down in a wait.

GPUs are told apart by number and not by engine, so that what is seen is said of every engine on
this host. It speaks for engines that are stuck or slow, and convicts nobody: a broken GPU does not
show that a request had reached it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import is_engine
from exonerate.core.diagnosis.beside import GpuSample
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.gpu_readings import REASONS, XIDS
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S

RECENT_S = 600.0
"""A hang that somebody complains of began before this run did."""
SEVERE = frozenset({"hw_thermal_slowdown", "hw_power_brake_slowdown"})
"""Reasons that are never part of healthy work; the others count where they come with the wait."""
SIGNS_SHOWN_MAX = 3
_THIS_HOST = frozenset({"127.0.0.1", "localhost", "::1"})


def on_this_host(hop: Hop) -> bool:
    """Whether its address is one of this host alone, so that this host's GPUs are its own."""
    return urlsplit(hop.url).hostname in _THIS_HOST


def gpu_failed(hop: Hop, facts: Facts) -> Observation | None:
    """`yes` where a GPU cannot be used, or its memory or its driver failed, a short while ago."""
    if not on_this_host(hop):
        return None
    signs = list(dict.fromkeys(_failures(facts)))
    if not signs:
        return None
    text = "; ".join(signs[-SIGNS_SHOWN_MAX:])
    return Observation(hop.name, "gpu-failed", "yes", 1, 1, text)


def gpu_slowed(hop: Hop, facts: Facts, through: Sequence[Session]) -> Observation | None:
    """`yes` where clocks went down in a wait, for a grave reason or one that was not there before.

    Args:
        hop: an engine.
        facts: with what was read of the GPUs.
        through: the victim's sessions whose requests pass it.
    """
    if not on_this_host(hop):
        return None
    waits = [s.waiting.exchange for s in through if s.waiting is not None]
    inside: list[GpuSample] = []
    outside: list[GpuSample] = []
    for sample in facts.beside.gpus:
        waited = any(wait.begun_ns <= sample.at_ns <= wait.ended_ns for wait in waits)
        (inside if waited else outside).append(sample)
    meanwhile, else_ = _slowed(inside), _slowed(outside)
    remarkable = sorted(
        one for one in meanwhile if one[1] in SEVERE or (outside and one not in else_)
    )
    if not remarkable:
        return None
    text = "; ".join(f"GPU {index}: {REASONS[reason]}" for index, reason in remarkable[:3])
    return Observation(hop.name, "gpu-slowed", "yes", 1, 1, text)


def unseen_gpus(facts: Facts, deployment: Deployment) -> Iterator[str]:
    """What of the health of the engines' GPUs was not seen."""
    engines = [hop for hop in deployment.hops if is_engine(hop)]
    read = [sample for sample in facts.beside.gpus if sample.error is None]
    if engines and (not read or not all(map(on_this_host, engines))):
        yield "the health of the engine's GPUs (NVML, Xid messages of the kernel)"
    elif engines and any(sample.kernel_unread for sample in read):
        yield "Xid messages of the kernel about GPUs: not permitted here"
    if any(sample.error == "no-answer" for sample in facts.beside.gpus):
        yield "the GPUs, some of the time: `nvidia-smi` did not answer"


def _failures(facts: Facts) -> Iterator[str]:
    since_ns = facts.began_ns - RECENT_S * NS_PER_S
    for sample in facts.beside.gpus:
        for said in sample.kernel:
            if said.code in XIDS and said.at_ns >= since_ns:
                yield f"Xid {said.code} of the GPU on {said.bus}: {XIDS[said.code]}"
        if sample.error == "lost":
            yield "`nvidia-smi` cannot reach a GPU"
        for gpu in sample.gpus:
            if gpu.broken:
                yield f"GPU {gpu.index} cannot be used"
    yield from _memory_errors(facts.beside.gpus)


def _memory_errors(samples: Sequence[GpuSample]) -> Iterator[str]:
    """GPUs that count more errors than when they were first read."""
    first: dict[int, float] = {}
    for sample in samples:
        for gpu in sample.gpus:
            count = gpu.uncorrected
            if count is not None and count > first.setdefault(gpu.index, count):
                yield f"GPU {gpu.index} counts new memory errors that could not be corrected"


def _slowed(samples: Sequence[GpuSample]) -> set[tuple[int, str]]:
    return {
        (gpu.index, reason)
        for sample in samples
        for gpu in sample.gpus
        for reason in gpu.slowed
        if reason in REASONS
    }
