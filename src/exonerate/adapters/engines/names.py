"""How engines call the counters that the diagnosis needs: a Protocol and its registry.

An engine is a module with one `SeriesNames`; built-in and foreign ones are registered by the
entry point group ``exonerate.engines``. Names are tried in order, because engines rename their
series and some stacks turn ``:`` into ``_``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Literal, TypeAlias

from exonerate.core.ports import CounterReader
from exonerate.core.wire.exposition import parse_exposition

CanonicalName: TypeAlias = Literal[
    "running",  # requests being worked on (gauge)
    "waiting",  # requests in the engine's queue (gauge)
    "generated_tokens",  # output tokens so far (counter)
    "prompt_tokens",  # prompt tokens taken so far (counter)
    "steps",  # forward passes so far (counter): moves while anything is computed
    "requests",  # requests seen so far (counter)
    "aborted",  # requests given up so far (counter)
    "kv_usage",  # fraction of the KV cache in use (gauge)
]

SHARES = frozenset({"kv_usage"})


@dataclass(frozen=True, slots=True)
class SeriesNames:
    """The series of one kind of engine: canonical name -> candidates, first match wins."""

    kind: str
    series: Mapping[CanonicalName, tuple[str, ...]]


def known_engines() -> list[SeriesNames]:
    """Every registered engine."""
    return [point.load() for point in entry_points(group="exonerate.engines")]


def counter_reader() -> CounterReader:
    """Reads metrics pages of every registered engine."""
    engines = known_engines()

    def read(page: str) -> tuple[str | None, dict[str, float]]:
        samples = [(sample.name, sample.value) for sample in parse_exposition(page)]
        return canonical_values(samples, engines)

    return read


def canonical_values(
    samples: Iterable[tuple[str, float]], engines: Iterable[SeriesNames]
) -> tuple[str | None, dict[str, float]]:
    """The engine kind that fits a metrics page best, and its canonical values.

    Args:
        samples: (series name, value) of the page. Equal names (labels apart: the ranks or replicas
            of one server) are added up; of shares, which have no sum, the largest one counts.
        engines: the kinds to try.
    """
    totals: dict[str, float] = {}
    largest: dict[str, float] = {}
    for raw_name, value in samples:
        if not math.isfinite(value):
            continue  # "no value" in the exposition format; a count of it would poison the sums
        name = raw_name.replace(":", "_")
        totals[name] = totals.get(name, 0.0) + value
        largest[name] = max(value, largest.get(name, value))
    best_kind: str | None = None
    best: dict[str, float] = {}
    for engine in engines:
        values = _match(totals, largest, engine)
        if len(values) > len(best):
            best_kind, best = engine.kind, values
    return best_kind, best


def _match(
    totals: Mapping[str, float], largest: Mapping[str, float], engine: SeriesNames
) -> dict[str, float]:
    values: dict[str, float] = {}
    for canonical, candidates in engine.series.items():
        for candidate in candidates:
            name = candidate.replace(":", "_")
            if name in totals:
                values[canonical] = (largest if canonical in SHARES else totals)[name]
                break
    return values
