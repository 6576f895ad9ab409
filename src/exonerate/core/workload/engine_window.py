"""What the engine's own counters say of a cell, beside what the client counted.

Rules
-----
1. Counts are compared over the whole cell, warm-up included: the engine saw all of it.
2. Gauges and rates are those of the window that the throughput counts; before and after it the
   engine was idle or ramped. A window with fewer than two samples has no rate.
3. The rate is that of the counter, from the first sample in the window to the last one, and beside
   it stands what the client counted in that time, which is not the whole window. An engine
   that raises it when a request ends (llama.cpp does) moves it in lumps, and the rate between two
   moments is then anything: it is given only where the counter moved from each sample to the next,
   and where the samples are so many that the first and the last one are near the window's ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from exonerate.core.instant import NS_PER_S
from exonerate.core.json_types import Json
from exonerate.core.workload.summary import CellSummary

COUNTERS = ("generated_tokens", "prompt_tokens", "steps", "cpu_s")
GAUGES = ("running", "waiting", "kv_usage")
RATE_SAMPLES_MIN = 8


def engine_window(
    samples: Sequence[Sequence[Any]],
    summary: CellSummary,
    tokens_between: Callable[[int, int], float],
) -> dict[str, Json]:
    """The engine's counters over a cell, and whether they agree with ours.

    Args:
        samples: (monotonic nanoseconds, canonical values) in order, the first from before the
            cell and the last from after it.
        summary: what the client counted.
        tokens_between: what it counted between two moments.
    """
    if len(samples) < 2:
        return {}
    first, last = samples[0][1], samples[-1][1]
    moved = {name: last[name] - first[name] for name in last if name in first}
    found: dict[str, Json] = {
        "samples": len(samples),
        "span_s": (samples[-1][0] - samples[0][0]) / NS_PER_S,
        **{name: moved[name] for name in COUNTERS if name in moved},
    }
    inside = _inside(samples, summary)
    for name in GAUGES:
        values = [values[name] for _, values in inside or samples if name in values]
        if values:
            found[f"{name}_mean"] = sum(values) / len(values)
            found[f"{name}_max"] = max(values)
    ours = (summary.usage_tokens or summary.counted_events) + summary.warm_up_tokens
    generated = moved.get("generated_tokens", 0.0)
    found["generated_to_client"] = _ratio(generated, ours)
    found["generated_per_s"] = rate = _rate(inside, "generated_tokens")
    if rate is not None:
        begin_ns, end_ns = inside[0][0], inside[-1][0]
        found["client_per_s"] = tokens_between(begin_ns, end_ns) / ((end_ns - begin_ns) / NS_PER_S)
    found["tokens_per_step"] = _ratio(generated, moved.get("steps", 0.0))
    found["tokens_per_cpu_s"] = _ratio(generated or ours, moved.get("cpu_s", 0.0))
    return found


def _inside(samples: Sequence[Sequence[Any]], summary: CellSummary) -> Sequence[Sequence[Any]]:
    begin_ns = summary.window_begin_ns
    end_ns = begin_ns + summary.window_s * NS_PER_S
    inside = [sample for sample in samples if begin_ns <= sample[0] <= end_ns]
    return inside if len(inside) > 1 else []


def _rate(samples: Sequence[Sequence[Any]], name: str) -> float | None:
    """How fast a counter moved between the first and the last sample, where it moved steadily."""
    counts = [values.get(name, 0.0) for _, values in samples]
    if len(counts) < RATE_SAMPLES_MIN or any(
        later <= earlier for earlier, later in pairwise(counts)
    ):
        return None
    return _ratio(counts[-1] - counts[0], (samples[-1][0] - samples[0][0]) / NS_PER_S)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if part and whole else None
