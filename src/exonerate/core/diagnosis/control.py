"""Whether the known-good control on this host was slow too, so that nobody's timing tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from exonerate.core.deployment.model import Hop
from exonerate.core.deployment.topology import hop_port
from exonerate.core.diagnosis.facts import ControlSample, Facts
from exonerate.core.diagnosis.suspect import Observation

SAMPLES_MIN = 3
ECHO_MS_SLOW = 500.0
"""An exchange with nobody over loopback takes well below a millisecond."""
WORK_RATIO_SLOW = 10.0
"""Work that gets less than a tenth of a processor; beside as many others as there are processors,
it gets half of one. An engine that computes on every processor itself must not look like it."""
WAIT_RATIO_STARVED = 3.0
"""It gets less than a quarter of the processor time that it could use."""
BUSY_S_MIN = 0.3
"""Tries are a second apart: a process that wanted less than this of it was mostly idle."""
STARVED_SHARE_MIN = 0.6


def control_slow(hop: Hop, facts: Facts) -> Observation | None:
    """`slow` where the typical try of the control was; a quick control says nothing by itself."""
    tries = facts.controls
    if len(tries) < SAMPLES_MIN:
        return None
    echo_ms = median(try_.echo_ms for try_ in tries)
    ratio = median(_ratio(try_) for try_ in tries)
    if echo_ms < ECHO_MS_SLOW and ratio < WORK_RATIO_SLOW:
        return None
    text = f"an echo took {echo_ms:.0f} ms, work {ratio:.1f} times its processor time"
    loads = [try_.load for try_ in tries]
    text += f"; load {max(loads):.1f} on {tries[-1].processors} processors"
    steals = [try_.steal for try_ in tries if try_.steal is not None]
    if steals and max(steals) > 0:
        text += f", {median(steals):.0%} of the time went to other guests"
    return Observation(hop.name, "control", "slow", len(tries), len(tries), text)


def processor_wait(hop: Hop, facts: Facts) -> Observation | None:
    """`starved` where the hop's own processes stood ready far longer than they ran.

    Judged from try to try, over those in which they had something to do at all.
    """
    port = hop_port(hop)
    busy: list[tuple[float, float]] = []
    for before, after in pairwise(facts.controls):
        if before.scene == after.scene and port in before.served and port in after.served:
            run_s = after.served[port][0] - before.served[port][0]
            wait_s = after.served[port][1] - before.served[port][1]
            if run_s + wait_s >= BUSY_S_MIN:
                busy.append((run_s, wait_s))
    starved = [pair for pair in busy if pair[1] >= WAIT_RATIO_STARVED * pair[0]]
    if len(starved) < SAMPLES_MIN or len(starved) < STARVED_SHARE_MIN * len(busy):
        return None
    ratio = sum(wait for _, wait in starved) / max(sum(run for run, _ in starved), 0.001)
    text = f"its processes waited {ratio:.0f} times as long as they ran"
    return Observation(hop.name, "processor-wait", "starved", len(starved), len(busy), text)


def starved_path(
    seen: Sequence[Observation], stated: Sequence[Observation]
) -> Iterator[Observation]:
    """That slowness is complained of where a hop is starved: every answer is slow, and as slow.

    A comparison of entries shows nothing then, and without the complaint nobody would mind.
    """
    starved = [o for o in seen if (o.observable, o.value) == ("processor-wait", "starved")]
    for complaint in stated:
        if starved and (complaint.observable, complaint.value) == ("complaint", "slow"):
            worst = max(starved, key=lambda o: o.times)
            times = worst.times
            text = f"{worst.hop}: {worst.text}"
            yield Observation(complaint.hop, "starved-path", "yes", times, times, text)


def _ratio(sample: ControlSample) -> float:
    return sample.work_ms / sample.work_cpu_ms if sample.work_cpu_ms > 0 else 1.0
