"""What a header, a heading or a sentence says is measured, and in which unit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LATENCIES = ("ttft", "itl", "tpot", "e2e_latency", "latency")
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ttft", re.compile(r"\bttft\b|time to first token")),
    ("itl", re.compile(r"\bitl\b|inter[- ]token( latency)?")),
    ("tpot", re.compile(r"\btpot\b|time per output token")),
    ("e2e_latency", re.compile(r"\be2el?\b( latency)?|end[- ]to[- ]end( latency)?")),
    ("requests", re.compile(r"\brequests? throughput\b")),
    ("total_tokens", re.compile(r"\btotal (token )?throughput\b|\btotal tok(en)?s?\b")),
    ("input_tokens", re.compile(r"\b(input|prompt|prefill) (token )?throughput\b")),
    (
        "output_tokens",
        re.compile(r"\b(output|decode|generation|gen) (token )?(throughput|speed)\b"),
    ),
    ("throughput", re.compile(r"\bthroughput\b|\bdurchsatz\b|吞吐量?")),
    ("latency", re.compile(r"\blatency\b|\blatenz\b|延迟")),
)
_UNITS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "tokens/s",
        re.compile(r"\btok(en)?s?\s*(/|per)\s*s(ec(ond)?)?\b|\bt/s\b|\btps\b|\btoks\b"),
    ),
    ("requests/s", re.compile(r"\breq(uest)?s?\s*(/|per)\s*s(ec(ond)?)?\b|\b[rq]ps\b")),
    ("ms", re.compile(r"\bms\b|\bmilliseconds?\b")),
    ("s", re.compile(r"\bseconds?\b|\bsecs?\b|[(\[]s[)\]]")),
)
_QUANTILE = re.compile(r"\b(p\d{2}|mean|avg|average|median)\b")
_OTHER_MEASURES = re.compile(
    r"\b(accuracy|score|util(i[sz]ation)?|power|watts?|mem(ory)?|vram|errors?|failed|failures|"
    r"acceptance|hit[ _-]?rate|temp(erature)?|clock|mhz|duration|elapsed|completed|requests)\b"
)
_SHORT_QUANTILE = {"average": "mean", "avg": "mean", "median": "p50"}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name (unit last), its unit, and whether less of it is better."""

    name: str
    unit: str | None
    lower_is_better: bool


def measured_in(text: str) -> tuple[str | None, str | None]:
    """The kind of measure and the unit that a text names."""
    words = text.lower().replace("_per_", "/").replace("_", " ")
    kind = next((name for name, pattern in _KINDS if pattern.search(words)), None)
    unit = next((name for name, pattern in _UNITS if pattern.search(words)), None)
    return kind, unit


def is_other_measure(header: str) -> bool:
    """Whether a column holds something that is not compared: accuracy, power, errors."""
    return bool(_OTHER_MEASURES.search(header.lower().replace("_", " ")))


def column_measure(header: str) -> str | None:
    """What tells apart value columns of different metrics: kind, unit and quantile."""
    kind, unit = measured_in(header)
    quantile = _quantile(header)
    if kind is None and unit is None and quantile is None:
        return None
    return " ".join(part for part in (kind, unit, quantile) if part)


def without_measure(header: str) -> str:
    """What is left of a header when its metric, unit and quantile are taken off."""
    left = header.replace("_per_", "/").replace("_", " ") if _names_measure(header) else header
    for _, pattern in (*_UNITS, *_KINDS):
        left = re.sub(pattern.pattern, " ", left, flags=re.IGNORECASE)
    left = re.sub(_QUANTILE.pattern, " ", left, flags=re.IGNORECASE)
    return " ".join(re.sub(r"[(\[]\s*[)\]]", " ", left).split()).strip(" ,:;-/")


def resolve_metric(header: str, surroundings: Iterable[str]) -> Metric:
    """The metric of a column: from its header, else from the texts round the table in order."""
    kind, unit = measured_in(header)
    for text in surroundings:
        if kind is not None and unit is not None:
            break
        other_kind, other_unit = measured_in(text)
        kind = kind or (other_kind if unit is None or _fits(other_kind, unit) else None)
        unit = unit or (other_unit if kind is None or _fits(kind, other_unit) else None)
    return _metric(kind, unit, _quantile(header))


def _metric(kind: str | None, unit: str | None, quantile: str | None) -> Metric:
    if kind in _LATENCIES or (kind is None and unit in ("ms", "s")):
        stem = kind or "latency"
        name = f"{stem}_{unit}" if unit in ("ms", "s") else stem
        return Metric(f"{name}_{quantile}" if quantile else name, unit, lower_is_better=True)
    if unit == "tokens/s":
        stem = kind if kind in ("total_tokens", "input_tokens") else "output_tokens"
        return Metric(f"{stem}_per_s", unit, lower_is_better=False)
    if unit == "requests/s" or kind == "requests":
        return Metric("requests_per_s", unit, lower_is_better=False)
    name = {None: "value", "throughput": "throughput"}.get(kind, f"{kind}_per_s")
    return Metric(name, unit, lower_is_better=False)


def _fits(kind: str | None, unit: str | None) -> bool:
    """Whether a unit can be the unit of that kind of measure."""
    if kind is None or unit is None:
        return True
    return (kind in _LATENCIES) == (unit in ("ms", "s"))


def _quantile(text: str) -> str | None:
    match = _QUANTILE.search(text.lower().replace("_", " "))
    return _SHORT_QUANTILE.get(match.group(0), match.group(0)) if match else None


def _names_measure(header: str) -> bool:
    return measured_in(header) != (None, None) or _quantile(header) is not None
