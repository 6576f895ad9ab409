"""A verdict of `locate` for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from exonerate.core.json_types import JsonObject
from exonerate.report.lanes import lanes_text
from exonerate.report.markdown_parts import bullets, fenced, table
from exonerate.report.phrases import (
    duration,
    escaped_markdown,
    unsigned_percent,
)
from exonerate.report.terminal import as_text
from exonerate.report.verdict_view import (
    OUTCOME_WORDS,
    VerdictView,
    elapsed,
    verdict_paragraph,
    verdict_view,
)

OUTCOME_STYLE = {"fault": "bad", "no_fault": "good", "insufficient_evidence": "doubt"}
SUSPECTS_SHOWN = 8
POSTERIOR_SHOWN = 0.005


def verdict_text(answer: JsonObject, *, width: int = 100, colour: bool = False) -> str:
    """The terminal report of an `exonerate.verdict/1` answer."""
    view = verdict_view(answer)
    return as_text(*verdict_parts(view, width), width=width, colour=colour)


def verdict_markdown(answer: JsonObject) -> str:
    """The same report as Markdown."""
    return "\n\n".join(verdict_markdown_parts(verdict_view(answer))) + "\n"


def verdict_parts(
    view: VerdictView, width: int, *, paragraph: str = ""
) -> Iterator[RenderableType]:
    """The terminal report in pieces, for a report that shows more than the verdict."""
    yield _banner(view, paragraph or verdict_paragraph(view))
    if view.timeline:
        yield _titled("What happened", Text(lanes_text(view.timeline, min(width, 110) - 4)))
    if view.cleared:
        yield _titled("Cleared", _cleared(view))
    if view.suspects:
        yield _titled("Suspects", _suspects(view))
    if view.observations:
        yield _titled("Observed", _observations(view))
    if view.not_examined:
        yield _titled("Not examined", _list(view.not_examined))
    if view.next_steps:
        yield _titled("Next", _list(view.next_steps))


def verdict_markdown_parts(view: VerdictView, *, paragraph: str = "") -> Iterator[str]:
    """The Markdown report in pieces, under a heading of the second level."""
    mark = "##"
    sure = ""
    if view.confidence is not None:
        sure = f" (confidence {unsigned_percent(view.confidence, 0)})"
    title = OUTCOME_WORDS.get(view.outcome, "Verdict")
    yield f"{mark} {title}: {escaped_markdown(view.headline)}{sure}"
    yield escaped_markdown(paragraph or verdict_paragraph(view))
    evidence = [text for fault in view.faults for text in fault.evidence]
    if evidence:
        yield f"{mark}# Evidence\n\n{bullets(evidence)}"
    if view.timeline:
        yield f"{mark}# What happened\n\n{fenced(lanes_text(view.timeline, 90))}"
    if view.cleared:
        rows = [(f"{entry.kind} {entry.name}", entry.why) for entry in view.cleared]
        yield f"{mark}# Cleared\n\n{table(['cleared', 'why'], rows)}"
    if view.suspects:
        yield f"{mark}# Suspects\n\n{_suspects_markdown(view)}"
    for title, items in (("Not examined", view.not_examined), ("Next", view.next_steps)):
        if items:
            yield f"{mark}# {title}\n\n{bullets(items)}"


def _banner(view: VerdictView, paragraph: str) -> RenderableType:
    style = OUTCOME_STYLE.get(view.outcome, "doubt")
    lines: list[RenderableType] = [Text(view.headline, f"bold {_colour(style)}")]
    lines.append(Text(paragraph))
    for fault in view.faults:
        if fault.details and fault.details[0] not in paragraph:
            lines.append(Text(f"{fault.fault_class}: {', '.join(fault.details)}", "faint"))
        lines += [Text(f"• {text}") for text in fault.evidence]
    facts = [f"reached in {elapsed(view)}"] if view.elapsed_s is not None else []
    if view.confidence is not None:
        facts.insert(0, f"confidence {unsigned_percent(view.confidence, 0)}")
    if facts:
        lines.append(Text(", ".join(facts), "faint"))
    title = OUTCOME_WORDS.get(view.outcome, "Verdict")
    return Panel(Group(*lines), title=title, title_align="left", border_style=style)


def _colour(style: str) -> str:
    return {"bad": "red", "good": "green"}.get(style, "yellow")


def _cleared(view: VerdictView) -> RenderableType:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for entry in view.cleared:
        grid.add_row(Text("✓", "good"), Text(f"{entry.kind} {entry.name}", "key"), Text(entry.why))
    return grid


def _suspects(view: VerdictView) -> RenderableType:
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="faint")
    for title in ("suspect", "where", "posterior", "contradicted by"):
        grid.add_column(title, justify="right" if title == "posterior" else "left")
    shown = view.suspects[:SUSPECTS_SHOWN]
    for suspect in shown:
        grid.add_row(
            Text(suspect.fault_class, "key"),
            suspect.where,
            _posterior(suspect.posterior),
            ", ".join(suspect.contradicted_by) or "—",
        )
    left = len(view.suspects) - len(shown)
    note = Text(f"and {left} less likely ones" if left > 0 else "", "faint")
    return Group(grid, note) if left > 0 else grid


def _posterior(posterior: float | None) -> str:
    if posterior is not None and posterior < POSTERIOR_SHOWN:
        return "< 1 %"
    return unsigned_percent(posterior, 0)


def _observations(view: VerdictView) -> RenderableType:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for observation in view.observations:
        grid.add_row(
            Text(duration(observation.at_s) if observation.at_s is not None else "", "faint"),
            Text(observation.label, "faint"),
            Text(observation.text),
        )
    return grid


def _suspects_markdown(view: VerdictView) -> str:
    rows = [
        (
            suspect.fault_class,
            suspect.where,
            _posterior(suspect.posterior),
            ", ".join(suspect.contradicted_by) or "—",
        )
        for suspect in view.suspects[:SUSPECTS_SHOWN]
    ]
    return table(["suspect", "where", "posterior", "contradicted by"], rows)


def _list(items: Sequence[str]) -> RenderableType:
    return Group(*(Text(f"• {item}") for item in items))


def _titled(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(""), Text(title, "title"), Padding(body, (0, 0, 0, 2)))
