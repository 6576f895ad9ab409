"""The words of `exonerate bench`: lists of loads, times, limits, and the run they describe."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson

from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.bench_spec import BenchCell, BenchSpec
from exonerate.errors import ExonerateError

REQUESTS_PER_LANE = 4
REQUESTS_MIN = 16
SLO_NAMES = ("ttft", "itl", "tpot", "e2e")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Numbers(click.ParamType[tuple[float, ...]]):
    """`1,8,64`: positive numbers, by commas."""

    name = "numbers"

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """The numbers in their order."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(piece) for piece in str(value).split(",") if piece.strip())
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) <= 0 or (self._whole and any(n % 1 for n in numbers)):
            self.fail(f"`{value}` is no list of positive numbers like 1,8,64", param, ctx)
        return numbers


class Time(click.ParamType[float]):
    """`500ms`, `60`, `2m`: a time in seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        text = str(value).strip()
        unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
        try:
            seconds = float(text.removesuffix(unit)) * _UNITS.get(unit, 1.0)
        except ValueError:
            self.fail(f"`{value}` is not a time; write for example 500ms, 60s or 2m", param, ctx)
        if not 0 <= seconds <= 86400:
            self.fail(f"`{value}` is not between 0 and 24 h", param, ctx)
        return seconds


class Limits(click.ParamType[Mapping[str, float]]):
    """`ttft=500ms,itl=50ms`: limits for goodput, in milliseconds."""

    name = "limits"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Mapping[str, float]:
        """Milliseconds by metric."""
        if isinstance(value, Mapping):
            return value
        limits: dict[str, float] = {}
        for piece in str(value).split(","):
            name, equals, text = piece.strip().partition("=")
            if name not in SLO_NAMES or not equals:
                known = ", ".join(SLO_NAMES)
                self.fail(f"`{piece}` is not like ttft=500ms; known are {known}", param, ctx)
            limits[name] = Time().convert(text, param, ctx) * 1000
        return limits


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """The options as they were given."""

    url: str
    model: str
    path: str
    concurrency: tuple[float, ...]
    rate: tuple[float, ...]
    constant: bool
    trace: Path | None
    replay: Path | None
    requests: int | None
    duration_s: float | None
    prompt_tokens: int
    output_tokens: int
    rounds: int
    think_s: float
    growth_tokens: int
    shared_prefix: bool
    ignore_eos: bool
    stream: bool
    body: Path | None
    headers: tuple[str, ...]
    api_key_env: str | None
    deadline_s: float
    warmup: int
    seed: int
    workers: int
    batch_ms: float
    slo_ms: Mapping[str, float]
    metrics_url: str | None
    ca: str | None

    def spec(self) -> BenchSpec:
        """The run that they describe."""
        return BenchSpec(
            url=self.url,
            request=self._request(),
            cells=tuple(self._cells()),
            deadline_s=self.deadline_s,
            seed=self.seed,
            workers=self.workers,
            batch_s=self.batch_ms / 1000,
            warmup_requests=self.warmup,
            slo_ms=self.slo_ms,
            metrics_url=self.metrics_url,
            ca=self.ca,
        )

    def bodies(self) -> list[bytes]:
        """The bodies that are sent instead of seeded prompts."""
        if self.replay is not None:
            return [body for _, body in read_capture(self.replay)]
        if self.body is None:
            return []
        content = self.body.read_bytes()
        try:
            orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise ExonerateError(
                f"`{self.body}` holds no JSON: {error}", "give the body of one request"
            ) from error
        return [content]

    def _request(self) -> RequestRecipe:
        return RequestRecipe(
            path=self.path,
            model=self.model,
            prompt=PromptRecipe(
                seed=self.seed,
                prompt_tokens=self.prompt_tokens,
                growth_tokens=self.growth_tokens if self.rounds > 1 else 0,
                salt="shared" if self.shared_prefix else "",
            ),
            max_tokens=self.output_tokens,
            stream=self.stream,
            ignore_eos=self.ignore_eos,
            api_key_env=self.api_key_env,
            body_ref=str(self.body) if self.body else None,
            headers=tuple(_header(text) for text in self.headers),
        )

    def _cells(self) -> list[BenchCell]:
        cells = [self._closed(int(concurrency)) for concurrency in self.concurrency]
        kind = "constant" if self.constant else "poisson"
        cells += [
            BenchCell(
                kind=kind,  # type: ignore[arg-type]  # one of the two words above
                rate_per_s=rate,
                requests=self.requests,
                duration_s=self.duration_s,
            )
            for rate in self.rate
        ]
        if self.trace is not None:
            cells.append(BenchCell(kind="trace", trace_s=read_trace(self.trace)))
        if self.replay is not None:
            times = tuple(at_s for at_s, _ in read_capture(self.replay))
            cells.append(BenchCell(kind="replay", trace_s=times))
        return cells or [self._closed(1)]

    def _closed(self, concurrency: int) -> BenchCell:
        requests = self.requests
        if requests is None and (self.duration_s is None or self.rounds > 1):
            requests = max(REQUESTS_MIN, REQUESTS_PER_LANE * concurrency)
        if self.rounds > 1:
            assert requests is not None
            return BenchCell(
                kind="sessions",
                concurrency=concurrency,
                requests=max(concurrency, requests // self.rounds),
                rounds=self.rounds,
                think_s=self.think_s,
            )
        return BenchCell(
            kind="closed",
            concurrency=concurrency,
            requests=requests,
            duration_s=self.duration_s,
        )


def read_trace(path: Path) -> tuple[float, ...]:
    """Seconds from a trace: one number a line, CSV with a timestamp column, or JSON lines."""
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    try:
        if lines and lines[0].lstrip().startswith("{"):
            return tuple(sorted(_trace_time(orjson.loads(line)) for line in lines))
        if lines and not _is_number(lines[0].split(",")[0]):
            return tuple(sorted(_trace_time(row) for row in csv.DictReader(lines)))
        return tuple(sorted(float(line.split(",")[0]) for line in lines))
    except (ValueError, KeyError, TypeError) as error:
        raise ExonerateError(
            f"`{path}` is no trace: {error}",
            "give seconds one a line, or CSV or JSON lines with `timestamp` in s or `timestamp_ms`",
        ) from error


def read_capture(path: Path) -> list[tuple[float, bytes]]:
    """Times and bodies of a capture: JSON lines with `timestamp` (or `timestamp_ms`) and `body`."""
    try:
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
        found = [(_trace_time(row), orjson.dumps(row["body"])) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise ExonerateError(
            f"`{path}` is no capture: {error}",
            "give JSON lines with `timestamp` in seconds and `body`",
        ) from error
    return sorted(found, key=lambda pair: pair[0])


def _trace_time(row: Mapping[str, Any]) -> float:
    if "timestamp_ms" in row:
        return float(row["timestamp_ms"]) / 1000
    return float(row["timestamp"])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ExonerateError(f"`{text}` is no header", "write it as `Name: value`")
    return name.strip(), value.strip()
