"""How fast implementations of decode attention are, side by side: values and their document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from exonerate.core.json_types import JsonObject

SCHEMA = "exonerate.splitk_bench/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeShape:
    """One decode step: what is read is the whole KV cache, once."""

    batch: int = 8
    q_heads: int = 32
    kv_heads: int = 8
    dim: int = 128
    tokens: int = 8192
    dtype: str = "fp32"

    @property
    def kv_bytes(self) -> int:
        """Bytes of k and v."""
        width = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}[self.dtype]
        return 2 * self.batch * self.tokens * self.kv_heads * self.dim * width


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One implementation at one shape; rounds alternate between implementations.

    Args:
        median_ms, least_ms: over the rounds
        ratio: speed relative to the baseline, the median of the ratios of the same round
        ratio_low, ratio_high: quartiles of those ratios
    """

    name: str
    shape: DecodeShape
    rounds: int
    median_ms: float
    least_ms: float
    kv_gb_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedReport:
    """Every timing of one run, and what the memory of that machine gave in the same run."""

    device: str
    baseline: str
    timings: Sequence[Timing]
    copy_gb_s: float
    read_gb_s: float
    threads: int
    not_measured: Sequence[str] = ()
    versions: dict[str, str] = field(default_factory=dict)


def speed_document(speed: SpeedReport) -> JsonObject:
    """The report as `--json` prints it."""
    return {
        "schema": SCHEMA,
        "device": speed.device,
        "baseline": speed.baseline,
        "threads": speed.threads,
        "copy_gb_s": speed.copy_gb_s,
        "read_gb_s": speed.read_gb_s,
        "timings": [
            {
                "name": timing.name,
                "dtype": timing.shape.dtype,
                "batch": timing.shape.batch,
                "q_heads": timing.shape.q_heads,
                "kv_heads": timing.shape.kv_heads,
                "dim": timing.shape.dim,
                "tokens": timing.shape.tokens,
                "rounds": timing.rounds,
                "median_ms": timing.median_ms,
                "least_ms": timing.least_ms,
                "kv_gb_s": timing.kv_gb_s,
                "ratio": timing.ratio,
                "ratio_quartiles": [timing.ratio_low, timing.ratio_high],
                "note": timing.note or None,
            }
            for timing in speed.timings
        ],
        "not_measured": list(speed.not_measured),
        "versions": dict(speed.versions),
    }
