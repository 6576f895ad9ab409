"""Cases for a terminal: the list, and one case on a page.

What is unfinished comes first: something was begun there and its outcome is not on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from exonerate.core.case.model import Case, Evidence, Intervention, RecordedVerdict, Suspect
from exonerate.report.phrases import visible
from exonerate.report.terminal import as_text

STATE_STYLE = {
    "supported": "bad",
    "refuted": "good",
    "cleared": "good",
    "raised": "doubt",
    "active": "doubt",
    "confounded": "doubt",
}


def cases_text(cases: Sequence[Case], *, width: int = 100, colour: bool = False) -> str:
    """The list of cases, one line each."""
    if not cases:
        return as_text("no case in this ledger", width=width, colour=colour)
    table = _table("case", "state", "symptom", "opened", "title")
    for case in cases:
        table.add_row(
            case.id,
            _case_state(case),
            case.symptom or "—",
            case.opened_at[:16],
            visible(case.title),
        )
    return as_text(table, width=width, colour=colour)


def case_overview_text(case: Case, *, width: int = 100, colour: bool = False) -> str:
    """One case: what is unfinished, who is suspected, what was seen, changed and decided."""
    head = Text(visible(case.title) or case.id, "title")
    facts = Text(
        f"{case.id}  symptom {case.symptom or 'not stated'}  opened {case.opened_at[:16]}  "
    )
    facts.append(_case_state(case))
    parts: list[RenderableType] = [head, facts]
    parts += _section("unfinished", _unfinished(case))
    parts += _section("suspects", [_suspect(suspect) for suspect in case.suspects])
    parts += _section("evidence", [_evidence(piece) for piece in case.evidence])
    parts += _section("interventions", [_intervention(one) for one in case.interventions])
    parts += _section("verdicts", [_verdict(verdict) for verdict in case.verdicts])
    comments = [Text(f"{visible(one.by)}: {visible(one.text)}") for one in case.comments]
    parts += _section("comments", comments)
    return as_text(*parts, width=width, colour=colour)


def _case_state(case: Case) -> Text:
    if case.is_unfinished:
        return Text("unfinished", "bad")
    return Text("open", "doubt") if case.is_open else Text("closed", "faint")


def _unfinished(case: Case) -> list[Text]:
    changes = [
        Text(
            f"change {one.id} of {visible(one.knob or one.service)} "
            f"({visible(one.was)} -> {visible(one.to)}) was begun at {one.planned_at[:19]}; "
            "its end is not on record"
        )
        for one in case.open_intents
    ]
    scenes = [
        Text(f"scene {visible(one.scene)} of run {visible(one.run)} was planned and not played")
        for one in case.unplayed
    ]
    return changes + scenes


def _suspect(suspect: Suspect) -> Text:
    line = Text(f"{visible(suspect.id)}  ", "key")
    line.append(suspect.state, style=STATE_STYLE.get(suspect.state, "none"))
    line.append(f"  {visible(suspect.claim)}", style="none")
    if suspect.why:
        line.append(f" ({visible(suspect.why)})", style="faint")
    return line


def _evidence(piece: Evidence) -> Text:
    line = Text(f"{visible(piece.id)}  ", "key")
    line.append(f"grade {piece.grade}  {piece.type}  ", style="none")
    if piece.statement is not None:
        line.append(f"{visible(piece.by)}: “{visible(piece.statement)}”", style="none")
    else:
        line.append(visible(piece.source), style="none")
    return line


def _intervention(change: Intervention) -> Text:
    line = Text(f"{visible(change.id)}  ", "key")
    line.append(f"{change.type} {visible(change.knob or change.service)} ", style="none")
    line.append(f"{visible(change.was)} -> {visible(change.to)}  ", style="none")
    line.append(change.state, style=STATE_STYLE.get(change.state, "none"))
    line.append(f"  {visible(change.why)}", style="faint")
    return line


def _verdict(verdict: RecordedVerdict) -> Text:
    line = Text(f"{visible(verdict.id)}  ", "key")
    outcome = verdict.answer.get("outcome")
    line.append(f"{visible(verdict.job)} {verdict.at[:16]}", style="none")
    if isinstance(outcome, str):
        line.append(f"  {visible(outcome)}", style="none")
    return line


def _section(title: str, lines: Iterable[Text]) -> list[RenderableType]:
    found = list(lines)
    if not found:
        return []
    return ["", Text(title, "key"), *(Padding(line, (0, 0, 0, 2)) for line in found)]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    return table
