"""How engines call the counters that the diagnosis needs: a Protocol and its registry.

An engine is a module with one `SeriesNames`; built-in and foreign ones are registered by the
entry point group ``exonerate.engines``. Names are tried in order, because engines rename their
series and some stacks turn ``:`` into ``_``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from exonerate.adapters.plugins import loaded, wrong
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
    "pair_queues",  # requests in the queues between prefill and decode (gauges, added up)
    "heartbeat",  # moves while the scheduler's loop turns, with work or without (counter)
    "idle_s",  # seconds in which the scheduler had nothing to do (counter)
    "started_at",  # when the process was started, in seconds of the epoch (gauge)
]

ENGINES = "exonerate.engines"
LARGEST = frozenset({"kv_usage", "started_at"})
"""Of these there is no sum: of equal names the largest one counts."""
ADDED_UP = frozenset({"pair_queues"})
"""Of these every candidate counts, not only the first that is there."""

UNSPECIFIC = frozenset({"started_at"})
"""Many programs export these: they do not tell an engine."""


class StateReader(Protocol):
    """Knows the second page of an engine, that of its present state."""

    def __call__(self, page: str) -> Mapping[str, float]:
        """What it says now, under canonical names; nothing for a page of another form."""


@dataclass(frozen=True, slots=True)
class SeriesNames:
    """What is known of one kind of engine.

    Args:
        kind: its name.
        series: canonical name -> candidates, first match wins.
        state_path: a page at the engine's own address that tells its present state, if it has one;
            a GET that makes it compute nothing.
        read_state: reads that page. What it finds counts instead of the gauges; `state_age_s`, the
            time since the scheduler itself wrote it, and `busy_slots` are such names as well.
        gauge_lag_s: so long its gauges can be old while all is well.
        asks_scheduler: whether the metrics page is made by the scheduler when it is asked, so that
            a page that comes at all is true.
    """

    kind: str
    series: Mapping[CanonicalName, tuple[str, ...]]
    state_path: str | None = None
    read_state: StateReader | None = None
    gauge_lag_s: float = 0.0
    asks_scheduler: bool = False

    def traits(self) -> dict[str, float]:
        """What a reading of the metrics page says about its own age."""
        if self.asks_scheduler:
            return {"state_age_s": 0.0}
        return {"gauge_lag_s": self.gauge_lag_s} if self.gauge_lag_s else {}


def known_engines() -> list[SeriesNames]:
    """Every registered engine.

    Raises:
        ExonerateError: a plug-in of another distribution cannot be used.
    """
    found: list[SeriesNames] = []
    for plugged in loaded(ENGINES):
        if not isinstance(plugged.value, SeriesNames):
            said = f"it is no `SeriesNames` but {type(plugged.value).__name__}"
            raise wrong(plugged, ENGINES, said)
        if plugged.value.kind in {engine.kind for engine in found}:
            raise wrong(plugged, ENGINES, f"an engine `{plugged.value.kind}` is there already")
        found.append(plugged.value)
    return found


class EngineStates:
    """What every registered engine says of its present state (`EngineState`)."""

    def __init__(self, engines: Iterable[SeriesNames]) -> None:
        self._engines = {engine.kind: engine for engine in engines}

    def path(self, kind: str) -> str | None:
        """The page at the engine's own address, if it has one."""
        return self._engines[kind].state_path if kind in self._engines else None

    def read(self, kind: str, page: str) -> Mapping[str, float]:
        """What it says now."""
        reader = self._engines[kind].read_state
        return {} if reader is None else reader(page)

    def traits(self, kind: str) -> Mapping[str, float]:
        """How old what the metrics page says can be."""
        return self._engines[kind].traits() if kind in self._engines else {}


def engine_states() -> EngineStates:
    """What every registered engine says of its present state."""
    return EngineStates(known_engines())


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
            of one server) are added up; of what has no sum the largest one counts.
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
        if len(values) > len(best) and values.keys() - UNSPECIFIC:
            best_kind, best = engine.kind, values
    return best_kind, best


def _match(
    totals: Mapping[str, float], largest: Mapping[str, float], engine: SeriesNames
) -> dict[str, float]:
    values: dict[str, float] = {}
    for canonical, candidates in engine.series.items():
        numbers = largest if canonical in LARGEST else totals
        names = [candidate.replace(":", "_") for candidate in candidates]
        there = [numbers[name] for name in names if name in numbers]
        if there:
            values[canonical] = sum(there) if canonical in ADDED_UP else there[0]
    return values
