"""Knobs, their differences and the changes made to them, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from exonerate.core.json_types import JsonObject
from exonerate.report.phrases import clock_time, listed, visible
from exonerate.report.restore_brief import INDENT, diff_text
from exonerate.report.terminal import as_text

OUTCOME_STYLE = {
    "committed": "good",
    "refused": "doubt",
    "rolled-back": "doubt",
    "rollback-failed": "bad",
}

STANDING = {"revert": "a revert", "adopt": "an adopted revert", "apply": "a change"}


def knobs_text(answer: JsonObject, *, width: int, colour: bool) -> str:
    """`exonerate.knobs/1` as a table, and what stands below it."""
    rows = _rows(answer["knobs"])
    if not rows:
        return as_text(Text("the deployment has no knob"), width=width, colour=colour)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("knob", "service", "in the file", "in the processes", "values", "default"):
        table.add_column(column, overflow="fold")
    for row in rows:
        values = ", ".join(visible(value) for value in row["values"]) or "any"
        default = "unknown" if row["default"] is None else visible(row["default"])
        name, service = visible(row["name"]), visible(row["service"])
        table.add_row(name, service, _written(row), _running(row), values, default)
    return as_text(table, *_standing(rows), width=width, colour=colour)


def knob_diff_text(answer: JsonObject, *, width: int, colour: bool) -> str:
    """`exonerate.knob-diff/1` as text."""
    return as_text(*_diff_parts(answer), width=width, colour=colour)


def change_text(answer: JsonObject, *, width: int, colour: bool) -> str:
    """`exonerate.change/1` as text: what was done, step by step, and how it ended."""
    return as_text(*_change_parts(answer), width=width, colour=colour)


def _written(row: Mapping[str, Any]) -> Text:
    if row["error"] is not None:
        return Text(visible(row["error"]), "bad")
    if row["written"] is None:
        live = "its default is unknown" if row["live"] is None else f"means {visible(row['live'])}"
        return Text(f"not set: {live}", "doubt")
    return Text(visible(row["written"]))


def _running(row: Mapping[str, Any]) -> Text:
    running = row["running"]
    processes = running["processes"]
    if not processes:
        return Text(visible(running["why"]), "faint")
    values = sorted({_shown(process["value"]) for process in processes})
    text = f"{listed(values)} ({len(processes)} processes)"
    return Text(text, "good" if row["agrees"] else "bad")


def _shown(value: str | None) -> str:
    return "not set" if value is None else visible(value)


def _standing(rows: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for row in rows:
        standing = row["standing"]
        if standing is not None:
            kind = STANDING.get(standing["type"], "a change")
            yield Text(
                f"\n{visible(row['name'])}: {kind} stands since"
                f" {clock_time(standing['since'])} ({visible(standing['was'])} →"
                f" {visible(row['live'])}); its suspicion is {standing['state']}"
                f" ({visible(standing['why'])})",
                "doubt",
            )
            yield Text(f"  give it back: exonerate knob restore {visible(row['name'])}", "faint")


def _diff_parts(answer: JsonObject) -> Iterator[RenderableType]:
    name = visible(answer["knob"])
    if answer["unproved"] is not None:
        yield Text(f"{name}: what is live is not proved: {visible(answer['unproved'])}", "bad")
    if answer["against"] is None:
        yield Text(f"{name}: {visible(answer['live'])}; nothing is on record of its file")
        return
    if not answer["differs"]:
        yield Text(f"{name}: the live file is {visible(answer['against'])}", "good")
        return
    yield Text.assemble(
        (name, "key"), f"  live {_value(answer['live'])}, recorded {_value(answer['recorded'])}"
    )
    yield Text(f"from the live file to {visible(answer['against'])}:", "faint")
    yield Padding(diff_text(str(answer["diff"])), INDENT)
    proof: Any = answer["proof"]
    if proof["one_setting"]:
        yield Text("exactly one effective setting differs, in one hunk", "good")
    for reason in proof["reasons"]:
        yield Text(f"not one setting: {visible(reason)}", "bad")
    if answer["edited_since"]:
        yield Text("the file was edited since the last recorded change", "doubt")


def _value(value: object) -> str:
    return "not set" if value is None else visible(value)


def _change_parts(answer: JsonObject) -> Iterator[RenderableType]:
    outcome = str(answer["outcome"])
    yield Text.assemble(
        (f"{visible(answer['type'])} of {visible(answer['knob'])}: ", "key"),
        (outcome, OUTCOME_STYLE.get(outcome, "bad")),
        f"  {_value(answer['from'])} → {_value(answer['to'])}",
    )
    if answer.get("diff"):
        yield Padding(diff_text(str(answer["diff"])), INDENT)
    for step in _rows(answer.get("steps") or []):
        mark = ("ok  ", "good") if step["passed"] else ("fail", "bad")
        yield Padding(Text.assemble(mark, f"  {step['step']}: {visible(step['why'])}"), INDENT)
    effect: Any = answer.get("in_effect")
    if effect:
        yield Padding(Text(f"in effect: {effect['state']} ({effect['why']})", "faint"), INDENT)
    if outcome == "rollback-failed":
        yield Text("WHAT IS LIVE IS NOT KNOWN: the way back failed as well", "bad")
        yield Text(f"  look at `{visible(answer['file'])}` and the service yourself", "bad")
    elif outcome != "committed":
        yield Text(f"live is {_value(answer['live'])}: {visible(answer['why'])}", "doubt")


def _rows(value: object) -> Sequence[Mapping[str, Any]]:
    rows: Any = value
    return rows  # type: ignore[no-any-return]  # a list of objects by its schema
