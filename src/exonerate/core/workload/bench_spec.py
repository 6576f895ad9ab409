"""What a benchmark run shall do, as data; and what two runs must share to be compared."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from exonerate.core.instant import NS_PER_S
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import RequestRecipe
from exonerate.core.workload.plan import constant_offsets, poisson_offsets

SCHEMA = "exonerate.bench/1"
_CREDENTIALS = re.compile(r"//[^/@]*@")
LoadKind: TypeAlias = Literal["closed", "poisson", "constant", "trace", "replay", "sessions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCell:
    """One load: a concurrency, a rate, a trace or agents."""

    kind: LoadKind
    concurrency: int | None = None
    rate_per_s: float | None = None
    requests: int | None = None
    duration_s: float | None = None
    rounds: int = 1
    think_s: float = 0.0
    trace_s: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """A short name that a table can show."""
        match self.kind:
            case "closed":
                return f"C{self.concurrency}"
            case "sessions":
                return f"A{self.concurrency}"
            case "trace" | "replay":
                return self.kind
            case _:
                return f"R{self.rate_per_s:g}"

    @property
    def open_loop(self) -> bool:
        """Requests go out at their own times."""
        return self.kind in ("poisson", "constant", "trace", "replay")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSpec:
    """A whole run: the same request at several loads."""

    url: str
    request: RequestRecipe
    cells: tuple[BenchCell, ...]
    deadline_s: float
    seed: int
    workers: int = 1
    batch_s: float = 0.0
    warmup_requests: int = 0
    slo_ms: Mapping[str, float] = field(default_factory=dict)
    metrics_url: str | None = None
    ca: str | None = None
    """A file of certificates that count instead of the system's."""
    prompt_tokens_asked: int | None = None
    """Where the prompt was fitted: what was asked; the recipe then holds the words it takes."""
    prompt_tokens_counted: int | None = None
    """By the engine's own tokenizer, without its chat template; None where it has none."""

    def header(self, *, version: str, wall: str) -> JsonObject:
        """The first block of a result; holds everything that made the load."""
        prompt = asdict(self.request.prompt)
        prompt["prompt_words"] = prompt["prompt_tokens"]
        prompt["prompt_tokens"] = self.prompt_tokens_asked or prompt["prompt_tokens"]
        names = [name for name, _ in self.request.headers]
        return {
            "type": "header",
            "schema": SCHEMA,
            "version": version,
            "wall": wall,
            "url": _CREDENTIALS.sub("//", self.url),
            "request": {**asdict(self.request), "headers": names, "prompt": prompt},
            "cells": [{**asdict(cell), "name": cell.name} for cell in self.cells],
            "deadline_s": self.deadline_s,
            "seed": self.seed,
            "workers": self.workers,
            "warmup_requests": self.warmup_requests,
            "slo_ms": dict(self.slo_ms),
            "prompt_tokens_counted": self.prompt_tokens_counted,
        }


def worker_plans(cell: BenchCell, spec: BenchSpec) -> list[dict[str, Any]]:
    """The plan of each worker; together they are the cell."""
    workers = max(1, min(spec.workers, cell.concurrency or spec.workers))
    if cell.open_loop:
        offsets = _offsets(cell, spec.seed)
        return [
            {"kind": "open", "offsets_ns": offsets[number::workers]} for number in range(workers)
        ]
    concurrencies = _shares(cell.concurrency or 1, workers)
    totals = _shares(cell.requests, workers) if cell.requests is not None else [None] * workers
    if cell.kind == "sessions":
        return [
            {
                "kind": "sessions",
                "concurrency": concurrency,
                "sessions": total or concurrency,
                "rounds": cell.rounds,
                "think_s": cell.think_s,
            }
            for concurrency, total in zip(concurrencies, totals, strict=True)
        ]
    warm_up = _shares(spec.warmup_requests, workers)
    return [
        {
            "kind": "closed",
            "concurrency": concurrency,
            "requests": None if total is None else total + extra,
            "duration_s": cell.duration_s,
        }
        for concurrency, total, extra in zip(concurrencies, totals, warm_up, strict=True)
    ]


def incomparable(before: JsonObject, after: JsonObject) -> list[str]:
    """Why two results must not be compared; empty where they may."""
    reasons: list[str] = []
    for name in ("schema", "deadline_s", "slo_ms"):
        if before.get(name) != after.get(name):
            reasons.append(f"`{name}` differs: {before.get(name)} and {after.get(name)}")
    first, second = _mapping(before.get("request")), _mapping(after.get("request"))
    for name in ("path", "model", "max_tokens", "stream", "body_ref"):
        if first.get(name) != second.get(name):
            reasons.append(f"`request.{name}` differs: {first.get(name)} and {second.get(name)}")
    one, two = _mapping(first.get("prompt")), _mapping(second.get("prompt"))
    for name in ("prompt_tokens", "growth_tokens"):
        if one.get(name) != two.get(name):
            reasons.append(f"`prompt.{name}` differs: {one.get(name)} and {two.get(name)}")
    if bool(one.get("salt")) != bool(two.get("salt")):
        reasons.append("one run shares prompt prefixes and the other does not: caches differ")
    return reasons


def _offsets(cell: BenchCell, seed: int) -> list[int]:
    if cell.kind in ("trace", "replay"):
        first = min(cell.trace_s, default=0.0)
        return [int((at - first) * NS_PER_S) for at in cell.trace_s]
    assert cell.rate_per_s is not None
    count = cell.requests or max(1, round(cell.rate_per_s * (cell.duration_s or 10.0)))
    if cell.kind == "constant":
        return constant_offsets(cell.rate_per_s, count)
    return poisson_offsets(cell.rate_per_s, count, random.Random(f"{seed}/{cell.name}"))


def _shares(total: int, parts: int) -> list[int]:
    """The total in parts that differ by one at most."""
    return [total // parts + (number < total % parts) for number in range(parts)]


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def check_counts(cells: Sequence[BenchCell]) -> int | None:
    """How many requests the cells will send, or None where only time ends one of them."""
    total = 0
    for cell in cells:
        if cell.kind in ("trace", "replay"):
            total += len(cell.trace_s)
        elif cell.requests is not None:
            total += cell.requests * cell.rounds
        elif cell.rate_per_s is not None:
            total += max(1, round(cell.rate_per_s * (cell.duration_s or 10.0)))
        else:
            return None
    return total
