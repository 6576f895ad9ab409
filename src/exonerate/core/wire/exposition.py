"""Prometheus text exposition (format 0.0.4, OpenMetrics lines tolerated): text in, samples out.

Only samples are returned; comments, types and help texts are skipped, and so is every line that is
no sample, because half a metrics page is still evidence. Pages of 90 kB are read several times a
second while something hangs, which is why this is not a general parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAMPLE = re.compile(
    r"[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(?:\{(.*)\})?[ \t]+([^ \t{}]+)(?:[ \t]+[^{}]*)?"
)
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|$)')
_EXEMPLAR = re.compile(r" # \{.*$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "\\": "\\", '"': '"'}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a metrics page."""

    name: str
    labels: dict[str, str]
    value: float


def parse_exposition(text: str) -> list[Sample]:
    """Every sample of a metrics page, in order; lines that are no sample are skipped."""
    parsed = (_parse_line(line) for line in text.split("\n"))
    return [sample for sample in parsed if sample is not None]


def _parse_line(line: str) -> Sample | None:
    if not line or line[0] == "#":
        return None
    if " # {" in line:
        line = _EXEMPLAR.sub("", line)
    matched = _SAMPLE.fullmatch(line.rstrip("\r"))
    if matched is None:
        return None
    name, label_text, value_text = matched.groups()
    labels = _parse_labels(label_text) if label_text else {}
    value = _parse_value(value_text)
    return None if labels is None or value is None else Sample(name, labels, value)


def _parse_labels(text: str) -> dict[str, str] | None:
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        matched = _LABEL.match(text, at)
        if matched is None:
            return labels if not text[at:].strip() else None
        name, value = matched.groups()
        labels[name] = _unescape(value) if "\\" in value else value
        at = matched.end()
    return labels


def _unescape(value: str) -> str:
    # An unknown escape stands for itself, backslash included, as Prometheus reads it.
    return _ESCAPE.sub(lambda matched: _ESCAPED.get(matched[1], matched[0]), value)


def _parse_value(text: str) -> float | None:
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None
