"""What a result of `bench` says: its blocks folded into cells, from the file or as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.workload.bench_spec import SCHEMA
from exonerate.core.workload.engine_window import engine_window
from exonerate.core.workload.instrument import InstrumentFold
from exonerate.core.workload.result_blocks import RequestRecord, read_blocks
from exonerate.core.workload.summary import CellFold, CellSummary
from exonerate.errors import ExonerateError

OPEN_KINDS = ("poisson", "constant", "trace", "replay")


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell as its file tells it."""

    summary: CellSummary
    instrument: Mapping[str, Json]
    engine: Mapping[str, Json]
    timeline: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BenchResult:
    """A whole result file, folded."""

    header: JsonObject
    cells: tuple[CellResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def client_bound(self) -> bool:
        """At least one cell measured the client and not the service."""
        return any(cell.instrument.get("client_bound") for cell in self.cells)

    def to_json(self, path: str) -> dict[str, Json]:
        """What `exonerate bench --json` prints."""
        return {
            "schema": SCHEMA,
            "result": path,
            "valid": not self.client_bound,
            "invalid": "client-bound" if self.client_bound else None,
            "header": self.header,
            "cells": [
                {
                    **cell.summary.to_json(),
                    "instrument": dict(cell.instrument),
                    "engine": dict(cell.engine),
                }
                for cell in self.cells
            ],
            "notes": list(self.notes),
        }


def read_result(path: Path) -> BenchResult:
    """Fold a result file; raises ExonerateError where it is none."""
    try:
        with path.open("rb") as file:
            return _Reader().read(file)
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be read: {error.strerror}", "give the file that `bench` named"
        ) from error
    except ValueError as error:
        raise ExonerateError(f"`{path}`: {error}", "give the file that `bench` named") from error


class CellReader:
    """Folds the blocks of one cell."""

    def __init__(self, header: JsonObject, number: int) -> None:
        cell: Any = _item(header.get("cells"), number)
        self._open_loop = cell.get("kind") in OPEN_KINDS
        slo: Any = header.get("slo_ms") or {}
        self._fold = CellFold(
            load=str(cell.get("name")),
            asked_in_flight=cell.get("concurrency"),
            slo_ms=slo,
            open_loop=self._open_loop,
        )
        self._instrument = InstrumentFold()

    def add(self, record: RequestRecord) -> None:
        """One more request."""
        self._fold.add(record)
        self._instrument.add(record)

    def result(self, end: Mapping[str, Any]) -> CellResult:
        """The cell, given its last block."""
        summary = self._fold.summary()
        return CellResult(
            summary,
            self._instrument.report(end.get("facts", []), open_loop=self._open_loop),
            engine_window(end.get("samples", []), summary, self._fold.tokens_between),
            tuple(self._fold.timeline()),
        )


class _Reader:
    """Folds a whole file."""

    def __init__(self) -> None:
        self._header: JsonObject = {}
        self._cells: dict[int, CellReader] = {}
        self._ends: dict[int, Mapping[str, Any]] = {}
        self._notes: list[str] = []

    def read(self, file: BinaryIO) -> BenchResult:
        for block in read_blocks(file):
            if isinstance(block, RequestRecord):
                self._cell(block.cell).add(block)
            else:
                self._json(block)
        return BenchResult(
            self._header,
            tuple(
                self._cell(number).result(self._ends.get(number, {}))
                for number in sorted({*self._cells, *self._ends})
            ),
            tuple(self._notes),
        )

    def _cell(self, number: int) -> CellReader:
        if number not in self._cells:
            self._cells[number] = CellReader(self._header, number)
        return self._cells[number]

    def _json(self, block: Mapping[str, Any]) -> None:
        match block["type"]:
            case "header":
                self._header = block
            case "cell_end":
                self._ends[block["cell"]] = block
            case "note":
                self._notes.append(block["text"])


def _item(values: Json, number: int) -> Json:
    if isinstance(values, Sequence) and not isinstance(values, str) and number < len(values):
        return values[number]
    return {}
