"""What the jobs ask of the world; adapters provide it, `compose` puts the two together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from exonerate.core.case.records import ChainCheck, Record, RecordKind
from exonerate.core.instant import Instant
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event, Scene

Progress: TypeAlias = Callable[[str, float | None], None]
"""Called with what is being done and, where it is known, the fraction that is finished."""


@dataclass(frozen=True, slots=True)
class Page:
    """A small page as it came, or why it did not: one of `status` and `error` is None."""

    status: int | None
    text: str
    error: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    local_port: int | None = None
    """Our own end of the connection, by which its bytes are told from those of others."""


class PageReader(Protocol):
    """GETs small pages (metrics, health, model lists)."""

    async def __call__(self, url: str, *, timeout_s: float) -> Page:
        """The page; that it cannot be had is an observation, not an error."""


class CounterReader(Protocol):
    """Knows the series of engines."""

    def __call__(self, page: str) -> tuple[str | None, Mapping[str, float]]:
        """The engine kind that a metrics page belongs to, and its canonical values."""


class EngineState(Protocol):
    """Knows what engines say of their present state beside their metrics page."""

    def path(self, kind: str) -> str | None:
        """The page at the address of an engine of this kind, if it has one."""

    def read(self, kind: str, page: str) -> Mapping[str, float]:
        """What that page says now, under canonical names."""

    def traits(self, kind: str) -> Mapping[str, float]:
        """How old what the metrics page of this kind says can be."""


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> Instant:
        """Monotonic nanoseconds."""

    def wall(self) -> str:
        """UTC wall time, ISO 8601 with microseconds; for labels, never for durations."""


class Ledger(Protocol):
    """Append-only store of records and of raw data named by their SHA-256."""

    def append(
        self, *, case: str, kind: RecordKind, body: JsonObject, run: str | None = None
    ) -> Record:
        """Write one record durably and return it; raises ExonerateError when it cannot."""

    def records(self, *, case: str | None = None, run: str | None = None) -> Sequence[Record]:
        """Every record (of a case, of a run), in order."""

    def check_chain(self) -> ChainCheck:
        """How far the ledger is what was written; damage is an answer here, not an error."""

    def put_blob(self, content: bytes) -> str:
        """Store raw bytes durably; returns their hex SHA-256."""

    def get_blob(self, sha256: str) -> bytes:
        """The bytes of that hash; raises ExonerateError when they are missing or altered."""


class Player(Protocol):
    """Performs scenes."""

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """Every event of the scene, in the order of their stamps."""
