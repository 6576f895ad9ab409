"""`exonerate.status/1` as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from exonerate.core.json_types import JsonObject
from exonerate.report.phrases import visible
from exonerate.report.terminal import as_text

GAUGES_SHOWN = ("running", "waiting", "generated_tokens", "kv_usage")


def status_text(answer: JsonObject, *, width: int, colour: bool) -> str:
    """The deployment as it shows itself: hops, then knobs."""
    head = Text(f"{visible(str(answer['deployment']))}, model {visible(str(answer['model']))}")
    parts: list[Text | Table] = [head, _hop_table(_rows(answer, "hops"))]
    knobs = _rows(answer, "knobs")
    if knobs:
        parts.append(_knob_table(knobs))
    return as_text(*parts, width=width, colour=colour)


def _hop_table(hops: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("hop", "role", "behind", "url", "answers", "engine and counters")
    for hop in hops:
        state = Text("yes", "good") if hop["reachable"] else Text(f"no: {hop['error']}", "bad")
        if hop["reachable"] and hop["server"]:
            state.append(f" ({visible(str(hop['server']))})")
        table.add_row(
            hop["name"], hop["role"], ", ".join(hop["behind"]) or "client", hop["url"], state,
            _engine(hop),
        )  # fmt: skip
    return table


def _engine(hop: Mapping[str, Any]) -> Text:
    if hop["engine"]:
        values = [f"{n} {hop['values'][n]:g}" for n in GAUGES_SHOWN if n in hop["values"]]
        return Text(f"{hop['engine']}: {', '.join(values)}")
    if hop["metrics_error"]:
        return Text(f"no metrics: {visible(str(hop['metrics_error']))}", "doubt")
    if hop["metrics"] is None:
        return Text("no metrics page given", "faint")
    return Text("metrics page of an unknown kind", "doubt")


def _knob_table(knobs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("knob", "service", "in the file", "values", "file")
    for knob in knobs:
        live = Text(str(knob["live"])) if knob["error"] is None else Text(knob["error"], "bad")
        if knob["error"] is None and knob["written"] is None:
            live = Text(f"not set: {knob['live'] or 'default unknown'}", "doubt")
        table.add_row(knob["name"], knob["service"], live, ", ".join(knob["values"]), knob["file"])
    return table


def _rows(answer: JsonObject, key: str) -> Sequence[Mapping[str, Any]]:
    rows: Any = answer[key]
    return rows  # type: ignore[no-any-return]  # a list of objects by its schema
