"""What a reading holds: sources with comparisons, runs, claims and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["A", "B", "C", "D", "E"]
CellKind: TypeAlias = Literal["concurrency", "batch", "rate"]
DecimalMark: TypeAlias = Literal["point", "comma"]
FactKind: TypeAlias = Literal[
    "host", "gpu", "engine", "model", "driver", "commit", "flag", "date", "runs", "order", "file"
]

LOWER_IS_BETTER: frozenset[str] = frozenset(
    {"ttft_ms", "itl_ms", "tpot_ms", "e2e_latency_ms", "latency_ms"}
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the text says about its measurement, and where it says it."""

    kind: FactKind
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence about correctness: claimed, never measured here."""

    text: str
    line: int
    defined: bool


@dataclass(frozen=True, slots=True)
class Value:
    """A number as it was printed: `half_step` is half a unit of its last digit."""

    number: float
    half_step: float
    spread: float | None = None
    runs: int | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """A gain as it was printed. `gain` is a fraction, or None where only words were given."""

    text: str
    gain: float | None
    half_step: float = 0.0
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class CellRow:
    """One concurrency (or batch, or rate): a value per arm and the gain that was stated."""

    cell: float
    line: int
    values: Mapping[str, Value]
    stated: Stated | None
    computed_gain: float | None
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class Dip:
    """A cell that is slower than the one before it, within one arm. With one run: suspected."""

    arm: str
    cells: tuple[float, float]
    drop: float
    removed_by: str | None
    coin_toss_sd: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms of one table, or of several files, cell by cell."""

    line: int
    metric: str
    unit: str | None
    arms: tuple[str, str]
    knob: str | None
    cell_kind: CellKind
    cells: tuple[CellRow, ...]
    mapping: tuple[str, ...]
    dips: tuple[Dip, ...] = ()
    facts: tuple[Fact, ...] = ()
    blocks: int | None = None
    grade: Grade = "E"
    why: tuple[str, ...] = ()
    group: str = ""
    copy_of: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a load tool at one cell, as its result file tells it."""

    tool: str
    line: int
    cell: float | None
    cell_kind: CellKind | None
    metrics: Mapping[str, float]
    completed: int | None
    failed: int | None
    workload: Mapping[str, str]
    facts: tuple[Fact, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """One file: what it is and everything that was found in it."""

    path: str
    sha256: str
    format: str
    comparisons: tuple[Comparison, ...] = ()
    runs: tuple[Run, ...] = ()
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()
    parts: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Reading:
    """Every source that was read, in the order given."""

    sources: tuple[Source, ...]
