"""The terminal report of `read`: what each file says, recomputed and graded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from exonerate.core.json_access import at, number_at, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.report.json_lists import numbers_at, objects_at, texts_at
from exonerate.report.phrases import (
    GRADE_MEANING,
    listed,
    load,
    metric_words,
    number,
    percent,
    unsigned_percent,
    visible,
)
from exonerate.report.terminal import as_text

GRADE_STYLE = {"A": "good", "B": "good", "C": "doubt", "D": "doubt", "E": "bad"}


def reading_text(answer: JsonObject, *, width: int = 100, colour: bool = False) -> str:
    """The report of an `exonerate.reading/1` answer."""
    parts = [_source(source) for source in objects_at(answer, "sources")]
    return as_text(*parts, width=width, colour=colour)


def _source(source: JsonObject) -> RenderableType:
    title = Text.assemble(
        (visible(at(source, "path")), "title"),
        ("  " + visible(at(source, "format")), "key"),
        (f"  sha256 {(text_at(source, 'sha256') or '')[:12]}", "faint"),
    )
    parts: list[RenderableType] = [title]
    parts += [_comparison(comparison) for comparison in objects_at(source, "comparisons")]
    runs = objects_at(source, "runs")
    if runs:
        parts.append(_indented(_runs(runs)))
    parts += list(_claims(source))
    for warning in texts_at(source, "warnings"):
        parts.append(_indented(Text(f"warning: {visible(warning)}", "doubt")))
    if len(parts) == 1:
        parts.append(_indented(Text("nothing that a case could use", "faint")))
    return Group(*parts, Text(""))


def _comparison(comparison: JsonObject) -> RenderableType:
    copy_of = text_at(comparison, "copy_of")
    grade = text_at(comparison, "grade") or "E"
    arms = texts_at(comparison, "arms")
    knob = text_at(comparison, "knob")
    head = Text.assemble(
        (f"line {number_at(comparison, 'line') or 0:.0f}", "faint"),
        f"  {metric_words(text_at(comparison, 'metric') or '')}: ",
        (f"{knob + ' ' if knob else ''}{visible(' → '.join(arms))}", "key"),
        "   grade ",
        (grade, GRADE_STYLE.get(grade, "bad")),
        (f" ({GRADE_MEANING.get(grade, '')})", "faint"),
    )
    if copy_of:
        note = Text(f"the same numbers as {visible(copy_of)}; counted once", "faint")
        return _indented(Group(head, note, Text("")))
    parts = [head, _cells(comparison, arms), *_dips(comparison), _why(comparison), Text("")]
    return _indented(Group(*parts))


def _cells(comparison: JsonObject, arms: Sequence[str]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="faint")
    table.add_column(visible(at(comparison, "cell_kind")), justify="right")
    for arm in arms:
        table.add_column(visible(arm), justify="right")
    for title in ("recomputed", "stated", ""):
        table.add_column(title, justify="right" if title else "left")
    for cell in objects_at(comparison, "cells"):
        mark, style = _agreement(at(cell, "agrees"))
        table.add_row(
            load(number_at(cell, "cell")),
            *(number(number_at(cell, "values", arm)) for arm in arms),
            percent(number_at(cell, "computed_gain")),
            visible(at(cell, "stated") or "—"),
            Text(mark, style),
        )
    return table


def _agreement(agrees: Json) -> tuple[str, str]:
    if agrees is None:
        return "", ""
    return ("agrees", "good") if agrees else ("does not agree", "bad")


def _dips(comparison: JsonObject) -> Iterator[RenderableType]:
    for dip in objects_at(comparison, "anomalies"):
        low, high = [load(cell) for cell in numbers_at(dip, "cells")][:2]
        removed = text_at(dip, "removed_by")
        tail = f"; {removed} does not show it" if removed else ""
        sd = unsigned_percent(number_at(dip, "coin_toss_sd"))
        yield Text(
            f"suspected dip: {visible(at(dip, 'arm'))} falls by "
            f"{unsigned_percent(number_at(dip, 'drop'))} from {low} to {high}{visible(tail)}. "
            f"With one run each, run-to-run noise of {sd} makes it a coin toss",
            "doubt",
        )


def _why(comparison: JsonObject) -> RenderableType:
    reasons = [visible(reason) for reason in texts_at(comparison, "why")]
    return Text("why this grade: " + "; ".join(reasons), "faint")


def _runs(runs: Sequence[JsonObject]) -> RenderableType:
    names = list(dict.fromkeys(name for run in runs for name in _metric_names(run)))[:7]
    kind = text_at(runs[0], "cell_kind") or "load"
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="faint")
    for title in ("run", kind, *map(_short, names), "requests", "failed"):
        table.add_column(visible(title), justify="right")
    for run in runs:
        table.add_row(
            f"line {number_at(run, 'line') or 0:.0f}",
            load(number_at(run, "cell")),
            *(number(number_at(run, "metrics", name)) for name in names),
            load(number_at(run, "completed")),
            load(number_at(run, "failed")),
        )
    return table


def _metric_names(run: JsonObject) -> list[str]:
    metrics = at(run, "metrics")
    return list(metrics) if isinstance(metrics, Mapping) else []


def _short(metric: str) -> str:
    """A column title, short enough for several columns beside each other."""
    known = {"output_tokens_per_s": "tok/s", "requests_per_s": "req/s"}
    return known.get(metric) or metric_words(metric)


def _claims(source: JsonObject) -> Iterator[RenderableType]:
    claims = objects_at(source, "claims")
    if claims:
        yield _indented(Text("claimed, not measured here:", "key"))
    for claim in claims:
        missing = "" if at(claim, "defined") else " (the document does not say how it was measured)"
        line = Text.assemble(
            (f"  line {number_at(claim, 'line') or 0:.0f}  ", "faint"),
            listed([visible(at(claim, "text"))]),
            (missing, "faint"),
        )
        yield _indented(line)


def _indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, 2))
