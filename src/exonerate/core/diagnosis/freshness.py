"""Whether what an engine says of its load can be believed.

Gauges lie during a hang: a front end goes on showing what a scheduler wrote last, which can be a
load that is long gone, or none while somebody waits. So a load is evidence only with a sign of its
age. In the order in which they count:

- the engine says when its scheduler wrote it (`state_age_s`), or that it had nothing to do
  (`idle_s`, which grows only then), or its loop moves a counter (`heartbeat`);
- the load changed after the wait had begun, so that somebody still writes it;
- gauges that can be old while all is well (`gauge_lag_s`) tell nothing by themselves.

Times without such a sign are kept apart: "not known" is no state of an engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.diagnosis.facts import CounterSample
from exonerate.core.instant import NS_PER_MS, NS_PER_S, seconds_between

AGE_S_MAX = 2.0
"""A scheduler that lives writes its state with every step, and while it waits for work."""
SILENT_S_MIN = 5.0
"""One step, as of a long prompt, can take a while; a scheduler says nothing meanwhile."""
IDLE_SHARE_MIN = 0.5
SPACED_NS = 245 * NS_PER_MS
"""Readings nearer to each other than 250 ms, less what a timer is early, are one look."""


def load_of(sample: CounterSample) -> float:
    """Requests that the engine says it has."""
    values = sample.values or {}
    return sum(values.get(name, 0.0) for name in ("running", "waiting", "pair_queues"))


def spaced(samples: Sequence[CounterSample]) -> list[CounterSample]:
    """The readings that are looks of their own."""
    found: list[CounterSample] = []
    for sample in samples:
        if not found or sample.at_ns - found[-1].at_ns >= SPACED_NS:
            found.append(sample)
    return found


def asked_ns(sample: CounterSample) -> int:
    """When the page was asked for: what it says is not older."""
    return sample.at_ns - int(sample.age_s * NS_PER_S)


def idles(samples: Sequence[CounterSample]) -> bool:
    """Whether the scheduler counted most of this time as time without work."""
    first, last = samples[0], samples[-1]
    idle_s = _grown(first, last, "idle_s")
    passed_s = seconds_between(first.at_ns, last.at_ns)
    return idle_s is not None and idle_s >= IDLE_SHARE_MIN * passed_s > 0


def silent(samples: Sequence[CounterSample]) -> bool:
    """Whether the scheduler itself gave no sign of life for long, by its own clock or counter."""
    first, last = samples[0], samples[-1]
    if seconds_between(first.at_ns, last.at_ns) < SILENT_S_MIN:
        return False
    age_s = (last.values or {}).get("state_age_s")
    if age_s is not None:
        return age_s >= SILENT_S_MIN
    return _grown(first, last, "heartbeat") == 0


def believable(samples: Sequence[CounterSample], earlier: CounterSample | None) -> bool:
    """Whether the load that these readings show was written while they were taken.

    Args:
        samples: the readings in question.
        earlier: the last reading before the wait began; where there is none, nothing is old.
    """
    if _sources_differ(samples):
        return False
    if not may_be_undated(samples):
        return dated(samples)
    loads = {load_of(sample) for sample in samples}
    if _lags(samples):
        return len(loads) > 1
    return earlier is None or len(loads | {load_of(earlier)}) > 1


def dated(samples: Sequence[CounterSample]) -> bool:
    """Whether the engine says of all of these that its scheduler wrote them just then."""
    ages = [(sample.values or {}).get("state_age_s") for sample in samples]
    young = all(age is not None and age <= AGE_S_MAX for age in ages)
    return young and not _sources_differ(samples)


def may_be_undated(samples: Sequence[CounterSample]) -> bool:
    """Whether some of these do not tell their age."""
    return not all("state_age_s" in (sample.values or {}) for sample in samples)


def may_be_old(samples: Sequence[CounterSample]) -> bool:
    """Whether gauges are all there is, of an engine that seldom writes them."""
    return _lags(samples) and may_be_undated(samples)


def _lags(samples: Sequence[CounterSample]) -> bool:
    return any((sample.values or {}).get("gauge_lag_s", 0.0) > 0 for sample in samples)


def _sources_differ(samples: Sequence[CounterSample]) -> bool:
    """Whether a second source says every time that the gauge of running requests is wrong."""
    both = [
        (values["running"], values["busy_slots"])
        for sample in samples
        if (values := sample.values or {}).keys() >= {"running", "busy_slots"}
    ]
    return bool(both) and all((gauge > 0) != (slots > 0) for gauge, slots in both)


def _grown(first: CounterSample, last: CounterSample, name: str) -> float | None:
    before, after = (first.values or {}).get(name), (last.values or {}).get(name)
    return None if before is None or after is None else after - before
