"""A case for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from exonerate.report.experiments import (
    CellView,
    ComparisonView,
    CureCorner,
    CureView,
    DebtView,
    DocumentView,
    TableView,
)
from exonerate.report.glance import (
    corner_word,
    cure_finding,
    dip_sentence,
    grade_mood,
    state_mood,
)
from exonerate.report.phrases import interval, load, number, percent, unsigned_percent
from exonerate.report.story import Story
from exonerate.report.terminal import as_text
from exonerate.report.verdict import verdict_parts

INDENT = 2


def case_text(story: Story, *, width: int = 100, colour: bool = False) -> str:
    """The report for a terminal of that width."""
    return as_text(*_parts(story, width), width=width, colour=colour)


def _parts(story: Story, width: int) -> Iterator[RenderableType]:
    yield _head(story)
    if story.unfinished:
        yield _section("Begun and not finished", _bullets(story.unfinished, "bad"))
    if story.verdict is not None:
        yield Text("")
        yield from verdict_parts(story.verdict, width, paragraph=story.paragraph)
    else:
        yield Padding(Text(story.paragraph), (1, 0))
    for title, body in _sections(story):
        yield _section(title, body)


def _sections(story: Story) -> Iterator[tuple[str, RenderableType]]:
    """The sections that the case has something for, in the order in which the story is told."""
    if story.suspicions:
        yield "What was suspected", _suspicions(story)
    if story.suspects:
        yield "Suspects and evidence", _matrix(story)
    if story.evidence:
        yield "Evidence", _evidence(story)
    for comparison in story.comparisons:
        yield f"Measured: {comparison.headline}", _comparison(comparison)
    for document in story.documents:
        yield f"Stated in {document.path}", _document(document)
    yield from _aftermath(story)


def _aftermath(story: Story) -> Iterator[tuple[str, RenderableType]]:
    if story.interventions:
        yield "What was changed", _interventions(story)
    if story.cure is not None:
        yield "Did the cure cure?", _cure(story.cure)
    if story.debt_known:
        yield "What it costs", _debts(story.debt)
    if story.comments:
        yield "Comments", _bullets(story.comments)


def _head(story: Story) -> RenderableType:
    facts = (
        f"case {story.case}   {story.status}   symptom {story.symptom}   "
        f"deployment {story.deployment}   opened {story.opened}"
    )
    return Group(Rule(Text(story.title, "bold"), align="left"), Text(facts, "faint"))


def _suspicions(story: Story) -> RenderableType:
    grid = _grid(header=False)
    for entry in story.suspicions:
        grid.add_row(Text(entry.when, "faint"), entry.who, entry.what)
    return grid


def _matrix(story: Story) -> RenderableType:
    grid = _grid("suspect", "state", *(piece.label for piece in story.evidence), "why")
    for row in story.suspects:
        marks = [Text(fit or "·", _fit_style(fit)) for fit in row.fits]
        grid.add_row(Text(row.claim, "key"), _mooded(row.state), *marks, Text(row.why, "faint"))
    legend = "CC strongly for, C fits, N nothing, I does not fit, II contradicts"
    return Group(grid, Text(legend, "faint"))


def _fit_style(fit: str) -> str:
    if fit in ("CC", "C"):
        return "good"
    return "bad" if fit in ("I", "II") else "faint"


def _evidence(story: Story) -> RenderableType:
    grid = _grid("", "what", "source", "grade", "restarts", "age", "group")
    for piece in story.evidence:
        by = f" by {piece.by}" if piece.by else ""
        grid.add_row(
            piece.label,
            piece.summary,
            f"{piece.type}{by}",
            Text(piece.grade, grade_mood(piece.grade)),
            piece.restarts,
            piece.age,
            Text(piece.group, "faint"),
        )
    return grid


def _comparison(comparison: ComparisonView) -> RenderableType:
    arms = [*comparison.arms, "", ""][:2]
    grid = _grid("cell", *arms, "effect", "interval", "verdict", "why")
    primary = [comparison.primary] if comparison.primary else []
    for cell in [*comparison.cells, *primary]:
        grid.add_row(*_values(cell), interval(cell.ci), _mooded(cell.verdict), cell.why)
    blocks = "unknown" if comparison.blocks is None else str(comparison.blocks)
    head = f"{comparison.metric}, {blocks} randomised blocks of restarts, {comparison.when}"
    dips = [Text(dip_sentence(dip), "doubt") for dip in comparison.dips]
    bound = [Text("the client was the limit in this run", "bad")] if comparison.client_bound else []
    return Group(Text(head, "faint"), grid, *dips, *bound)


def _values(cell: CellView) -> tuple[str, str, str, str]:
    return cell.name, number(cell.baseline), number(cell.candidate), percent(cell.effect)


def _document(document: DocumentView) -> RenderableType:
    parts: list[RenderableType] = []
    for table in document.tables:
        parts += _stated(table)
    if document.claims:
        parts.append(Text("claimed, not measured here:", "key"))
    for line, text, defined in document.claims:
        tail = "" if defined else " (it does not say how it was measured)"
        parts.append(Text.assemble((f"line {line}  ", "faint"), text, (tail, "faint")))
    parts += [Text(f"warning: {warning}", "doubt") for warning in document.warnings]
    return Group(*parts)


def _stated(table: TableView) -> list[RenderableType]:
    head = Text.assemble(
        (f"line {table.line}  ", "faint"),
        table.headline,
        (f"  grade {table.grade}", grade_mood(table.grade)),
    )
    if table.copy_of:
        return [head, Text(f"the same numbers as {table.copy_of}; counted once", "faint")]
    grid = _grid(table.cell_kind, *[*table.arms, "", ""][:2], "recomputed", "stated")
    for cell in table.cells:
        grid.add_row(*_values(cell), cell.stated or "—")
    dips = [Text(dip_sentence(dip), "doubt") for dip in table.dips]
    return [head, grid, *dips, Text(f"why grade {table.grade}: {'; '.join(table.why)}", "faint")]


def _interventions(story: Story) -> RenderableType:
    parts: list[RenderableType] = []
    for change in story.interventions:
        head = Text.assemble(
            (change.when, "faint"),
            f"  {change.what}  ",
            (change.state, state_mood(change.state) or "key"),
            (f"  ({change.outcome}; symptom {change.symptom})", "faint"),
        )
        parts.append(head)
        for name, text in (
            ("why", change.purpose),
            ("predicted", change.prediction),
            ("judged", change.why),
            ("confounds", "; ".join(change.confounds)),
        ):
            if text:
                parts.append(Padding(Text(f"{name}: {text}", "faint"), (0, 0, 0, INDENT)))
    return Group(*parts)


def _cure(cure: CureView) -> RenderableType:
    grid = _grid(f"{cure.fault_name} / {cure.knob_name}", *cure.knob_states)
    for fault in cure.fault_states:
        cells = [_corner(cure.corner(fault, knob)) for knob in cure.knob_states]
        grid.add_row(fault, *cells)
    return Group(grid, Text(cure.why or cure_finding(cure), "key"))


def _corner(corner: CureCorner | None) -> Text:
    done = corner.completed if corner is not None else None
    style = {True: "good", False: "bad", None: "doubt"}[done]
    return Text(f"{corner_word(corner)} {corner.rounds if corner else ''}".strip(), style)


def _debts(debts: Sequence[DebtView]) -> RenderableType:
    if not debts:
        return Text("nothing stands: no revert costs anything today", "good")
    parts: list[RenderableType] = []
    for debt in debts:
        head = Text.assemble(
            (debt.knob, "key"),
            f" stands at {debt.live} instead of {debt.was}  ",
            (debt.price_class, state_mood(debt.price_class) or "key"),
            (f"  {debt.why_listed}", "faint"),
        )
        parts.append(head)
        if not debt.prices:
            parts.append(Text("its price was never measured; it is unknown, not zero", "doubt"))
        for price in debt.prices:
            parts.append(
                Text(
                    f"  at {load(price.cell)}: {unsigned_percent(price.loss)} lost "
                    f"{interval(price.ci)}, grade {price.grade}"
                )
            )
    return Group(*parts)


def _mooded(state: str) -> Text:
    return Text(state, state_mood(state))


def _bullets(items: Sequence[str], style: str = "") -> RenderableType:
    return Group(*(Text(f"• {item}", style) for item in items))


def _grid(*titles: str, header: bool = True) -> Table:
    grid = Table(box=None, show_header=header, padding=(0, 2, 0, 0), header_style="faint")
    for title in titles:
        grid.add_column(title)
    return grid


def _section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(""), Text(title, "title"), Padding(body, (0, 0, 0, INDENT)))
