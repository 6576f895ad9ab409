"""Whether the known-good control on this host was slow too, so that nobody's timing tells."""

from __future__ import annotations

from statistics import median

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import ControlSample, Facts
from exonerate.core.diagnosis.suspect import Observation

SAMPLES_MIN = 3
ECHO_MS_SLOW = 150.0
"""An exchange with nobody over loopback takes well below a millisecond."""
WORK_RATIO_SLOW = 5.0
"""Work that gets less than a fifth of a processor; beside as many others as there are processors,
it gets half of one."""


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


def _ratio(sample: ControlSample) -> float:
    return sample.work_ms / sample.work_cpu_ms if sample.work_cpu_ms > 0 else 1.0
