"""Runs of the lab as a page: the confusion matrix as a picture, and every scenario below it.

A row is what was to be found, a column what was said. Classes stand in the same order on both
sides, so right answers lie on the diagonal and everything off it catches the eye; a false
accusation is red wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from exonerate.report.lab import LabReport, LabRun, NotRun, not_run_line, said, summary_text
from exonerate.report.svg import Drawing

CELL, LABELS, HEADS = 30.0, 190.0, 150.0
SLANT = 90.0
"""Room at the right for the last head, which leans over."""
LAST = ("no_fault", "insufficient_evidence")
TITLE = "What was to be found (rows), and what was said (columns)"

_CSS = Markup("""
:root { color-scheme: light dark; --ink:#171b21; --soft:#5a6472; --rule:#e4e7ec; --good:#1a7f4b;
  --half:#b7791f; --bad:#b3261e; --none:#7b8694; }
@media (prefers-color-scheme: dark) { :root { --ink:#e8ebef; --soft:#9aa5b3; --rule:#2c333c;
  --good:#3fb37f; --half:#d9a441; --bad:#ff7b72; --none:#6e7986; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 72rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto; }
td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--rule); text-align: left; }
svg { max-width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--ink); }
svg .grid { stroke: var(--rule); } svg .count { fill: #fff; font-weight: 650; }
.good { fill: var(--good); color: var(--good); } .half { fill: var(--half); color: var(--half); }
.bad { fill: var(--bad); color: var(--bad); } .none { fill: var(--none); color: var(--none); }
""")


@dataclass(frozen=True, slots=True)
class _Cell:
    """How often one was answered by the other; `css` is the worst of these runs."""

    count: int
    css: str
    runs: str


def lab_html(report: LabReport) -> str:
    """The whole page."""
    title = "How locate does on the lab"
    parts = [
        Markup("<h1>{}</h1><p>{}</p>").format(title, summary_text(report.runs)),
        Markup("<p>{}</p>").format(_provenance(report)),
        confusion_picture(report.runs) if report.runs else Markup(""),
        Markup(
            '<p><span class="good">green</span> right; <span class="half">amber</span> right '
            'layer, another class or explanation; <span class="none">grey</span> nobody accused '
            'though there is a culprit; <span class="bad">red</span> an innocent accused.</p>'
        ),
        _table(report),
        Markup("").join(Markup("<p>{}</p>").format(not_run_line(one)) for one in report.not_run),
    ]
    return str(
        Markup(
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            "<title>{}</title><style>{}</style><body>{}</body></html>\n"
        ).format(title, _CSS, Markup("\n").join(parts))
    )


def lab_markdown(report: LabReport) -> str:
    """The same as Markdown; the matrix is a list of what was confused with what."""
    lines = [f"{summary_text(report.runs)}.", "", _provenance(report), ""]
    lines += ["| scenario | seeds | to be found | said (runs) | points | median s |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row) + " |" for row in _rows(report)]
    confused = _confused(report.runs)
    if confused:
        lines += ["", "Confused:", "", *confused]
    lines += ["", *(f"- {not_run_line(item)}" for item in report.not_run)] if report.not_run else []
    return "\n".join(lines) + "\n"


def confusion_picture(runs: Sequence[LabRun]) -> Markup:
    """The confusion matrix; each cell says which runs it holds when it is pointed at."""
    rows, columns = _axes(runs)
    drawing = Drawing(LABELS + CELL * len(columns) + SLANT, TITLE, "matrix")
    bottom = HEADS + CELL * len(rows)
    for number, column in enumerate(columns):
        drawing.line(LABELS + CELL * number, HEADS, LABELS + CELL * number, bottom, "grid")
        _slanted(drawing, LABELS + CELL * number, column)
    for line, row in enumerate(rows):
        y = HEADS + CELL * line
        drawing.text(LABELS - 8, y + CELL * 0.65, row, "", "end")
        drawing.line(LABELS, y, LABELS + CELL * len(columns), y, "grid")
        for number, column in enumerate(columns):
            cell = _cell(runs, row, column)
            if cell is not None:
                x = LABELS + CELL * number
                tip = f"{row} answered by {column}: {cell.runs}"
                drawing.rect(x + 1, y + 1, CELL - 2, CELL - 2, cell.css, tip)
                drawing.text(x + CELL / 2, y + CELL * 0.65, str(cell.count), "count", "middle")
    return drawing.done(bottom + 10)


def _axes(runs: Sequence[LabRun]) -> tuple[list[str], list[str]]:
    """Rows and columns in the same order; what nobody was to find comes last."""
    rows = sorted({run.wanted for run in runs}, key=_place)
    answers = sorted({_answer(run) for run in runs}, key=_place)
    both = [row for row in rows if row in answers and row not in LAST]
    others = [answer for answer in answers if answer not in both]
    return rows, both + others


def _place(name: str) -> tuple[bool, str]:
    return name in LAST, name


def _answer(run: LabRun) -> str:
    """The classes that were said, without the hops; a right `no_fault` by what it explains."""
    if run.explanation is not None and run.right_class:
        return run.explanation
    if run.expected == "no_fault" and run.right_layer:
        return "no_fault" if run.explanation is None else run.got
    return "+".join(part.partition("@")[0] for part in run.got.split("+"))


def _cell(runs: Sequence[LabRun], row: str, column: str) -> _Cell | None:
    own = [run for run in runs if run.wanted == row and _answer(run) == column]
    if not own:
        return None
    names = ", ".join(f"{run.scenario} seed {run.seed}" for run in own)
    return _Cell(len(own), max((_css(run) for run in own), key=_SEVERITY.index), names)


_SEVERITY = ("good", "half", "none", "bad")


def _css(run: LabRun) -> str:
    if run.false_accusation:
        return "bad"
    if run.points >= 1:
        return "good"
    return "half" if run.points > 0 else "none"


def _slanted(drawing: Drawing, x: float, text: str) -> None:
    drawing.turned_text(x + CELL * 0.6, HEADS - 8, text, -60)


def _provenance(report: LabReport) -> str:
    """Which code the rows are of."""
    made_by = sorted({run.commit or run.code or run.version for run in report.runs})
    text = f"Made by {', '.join(made_by)}." if made_by else "Nothing was run."
    if report.stale:
        text += (
            f" {len(report.stale)} runs are stale: of other code or scenario files than today's."
        )
    return text


def _rows(report: LabReport) -> list[list[str]]:
    rows = []
    for scenario in dict.fromkeys(run.scenario for run in report.runs):
        own = [run for run in report.runs if run.scenario == scenario]
        seconds = sorted(run.elapsed_s for run in own)[len(own) // 2]
        points = f"{sum(run.points for run in own):g} of {len(own)}"
        seeds = " ".join(str(run.seed) for run in own)
        rows.append([scenario, seeds, own[0].wanted, said(own), points, f"{seconds:.0f}"])
    return rows


def _confused(runs: Sequence[LabRun]) -> list[str]:
    wrong = [run for run in runs if run.points < 1]
    return [
        f"- {run.scenario} seed {run.seed}: {run.wanted} → {run.got}: {run.why}" for run in wrong
    ]


def _table(report: LabReport) -> Markup:
    heads = ("scenario", "seeds", "to be found", "said (runs)", "points", "median s")
    head = Markup("").join(Markup("<th>{}</th>").format(text) for text in heads)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(text) for text in row)
        )
        for row in _rows(report)
    )
    return Markup("<table><tr>{}</tr>{}</table>").format(head, body)


__all__ = ["LabReport", "NotRun", "confusion_picture", "lab_html", "lab_markdown"]
