"""The restore brief as text for a terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from exonerate.core.case.prices import Price
from exonerate.core.change.brief import BriefClaim, RestoreBrief, gain_of
from exonerate.report.phrases import (
    GRADE_MEANING,
    code_span,
    escaped_markdown,
    interval,
    percent,
    visible,
)
from exonerate.report.terminal import as_text

INDENT = (0, 0, 0, 2)
STATUS_STYLE = {"measured": "good", "claimed": "doubt", "unknown": "bad"}
ADVICE = {
    "restore": "restore it",
    "restore-as-test": "restore it as a test, and watch for the symptom",
    "keep": "keep the revert",
}


def brief_text(brief: RestoreBrief, *, width: int, colour: bool) -> str:
    """The brief for a terminal."""
    return as_text(*_parts(brief), width=width, colour=colour)


def brief_markdown(brief: RestoreBrief) -> str:
    """The brief as Markdown; text from documents and people is shown as it is."""
    plan = brief.plan
    longest = max((len(run) for run in re.findall("`+", brief.proof.diff)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = [
        f"## Restore brief: {escaped_markdown(plan.knob)}"
        f" {escaped_markdown(plan.was)} → {escaped_markdown(plan.to)}",
        "",
        f"Service {code_span(plan.service)}, file {code_span(plan.file)}."
        f" Suspicion: {escaped_markdown(brief.hypothesis)}"
        f" ({escaped_markdown(brief.state)}: {escaped_markdown(brief.state_why)}).",
        "",
        "### What it gives back",
        "",
        *_markdown_prices(brief.prices),
        "",
        "### Correctness",
        "",
        *(_markdown_claim(claim) for claim in brief.claims),
        "",
        "### The change",
        "",
        f"{fence}diff",
        *(_visible_line(line) for line in brief.proof.diff.splitlines()),
        fence,
        "",
        f"What cleared the suspect: {escaped_markdown(_cleared(brief))}.",
        "",
        *(f"- said: {escaped_markdown(statement)}" for statement in brief.statements),
        "",
        "### Assumed",
        "",
        *(f"- {escaped_markdown(assumption)}" for assumption in brief.assumptions),
        "",
        f"**Recommendation: {ADVICE[brief.recommendation]}.**"
        f" {escaped_markdown(brief.recommendation_why)}.",
    ]
    return "\n".join(lines) + "\n"


def _parts(brief: RestoreBrief) -> Iterator[RenderableType]:
    plan = brief.plan
    yield Text.assemble(
        ("Restore brief  ", "title"),
        (visible(plan.knob), "key"),
        f"  {visible(plan.was)} → {visible(plan.to)}",
    )
    yield Text(f"service {visible(plan.service)}, file {visible(plan.file)}", "faint")
    yield Text(
        f"suspicion: {visible(brief.hypothesis)} ({brief.state}: {visible(brief.state_why)})"
    )
    yield _heading("What it gives back")
    yield from _price_parts(brief.prices)
    yield _heading("Correctness")
    for claim in brief.claims:
        yield Padding(_claim_line(claim), INDENT)
    yield _heading("The change: one setting, nothing else")
    yield Padding(diff_text(brief.proof.diff), INDENT)
    yield _heading("What cleared the suspect")
    yield Padding(Text(_cleared(brief)), INDENT)
    if brief.statements:
        yield _heading("What was said (it can raise a suspect, never convict)")
        yield from (Padding(Text(visible(one)), INDENT) for one in brief.statements)
    yield _heading("Assumed")
    yield from (Padding(Text(f"- {visible(one)}"), INDENT) for one in brief.assumptions)
    yield _heading("Recommendation")
    yield Padding(Text(ADVICE[brief.recommendation], "key"), INDENT)
    yield Padding(Text(visible(brief.recommendation_why)), INDENT)


def _heading(text: str) -> Text:
    return Text(f"\n{text}", "key")


def _price_parts(prices: Sequence[Price]) -> Iterator[RenderableType]:
    if not prices:
        yield Padding(Text("unknown: no graded evidence (not zero)", "doubt"), INDENT)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(visible(prices[0].cell_kind), justify="right")
    table.add_column(f"{visible(prices[0].metric)}, live → restored", justify="right")
    table.add_column("interval")
    table.add_column("grade")
    table.add_column("source", style="faint", overflow="fold")
    for price in prices:
        table.add_row(
            _cell(price), percent(gain_of(price.loss)), _interval(price), price.grade,
            visible(price.source),
        )  # fmt: skip
    yield Padding(table, INDENT)
    for grade in sorted({price.grade for price in prices}):
        yield Padding(Text(f"grade {grade}: {GRADE_MEANING[grade]}", "faint"), INDENT)


def _cell(price: Price) -> str:
    return visible(price.cell) if isinstance(price.cell, str) else f"{price.cell:g}"


def _interval(price: Price) -> str:
    return interval(None if price.ci is None else [gain_of(end) for end in price.ci])


def _claim_line(claim: BriefClaim) -> Text:
    source = f"  [{visible(claim.source)}]" if claim.source else ""
    return Text.assemble(
        (f"{claim.status:<9}", STATUS_STYLE[claim.status]), visible(claim.text), (source, "faint")
    )


def diff_text(diff: str) -> Text:
    """A unified diff in colours."""
    styles = {"+": "good", "-": "bad", "@": "faint"}
    shown = Text()
    for line in diff.splitlines():
        shown.append(f"{_visible_line(line)}\n", styles.get(line[:1], ""))
    shown.rstrip()
    return shown


def _visible_line(line: str) -> str:
    """A line of a diff with its indentation, without characters that could steer a terminal."""
    mark, body = line[:1], line[1:]
    indentation = len(body) - len(body.lstrip(" \t"))
    shown_mark = mark if mark in "+-@ " else visible(mark)
    return shown_mark + " " * indentation + visible(body, limit=400)


def _cleared(brief: RestoreBrief) -> str:
    if brief.clearance is None:
        return "nothing yet"
    return f"verdict {visible(brief.clearance.verdict)}: {visible(brief.clearance.why)}"


def _markdown_prices(prices: Sequence[Price]) -> Iterator[str]:
    if not prices:
        yield "Unknown: no graded evidence (not zero)."
        return
    kind, metric = escaped_markdown(prices[0].cell_kind), escaped_markdown(prices[0].metric)
    yield f"| {kind} | {metric}, live → restored | interval | grade | source |"
    yield "|---:|---:|---|---|---|"
    for price in prices:
        gain = percent(gain_of(price.loss))
        source = escaped_markdown(price.source)
        yield f"| {_cell(price)} | {gain} | {_interval(price)} | {price.grade} | {source} |"


def _markdown_claim(claim: BriefClaim) -> str:
    source = f" ({escaped_markdown(claim.source)})" if claim.source else ""
    return f"- **{claim.status}**: {escaped_markdown(claim.text)}{source}"
