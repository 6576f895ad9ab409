"""A case as Markdown, for a ticket or a repository; untrusted text is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from exonerate.report.experiments import ComparisonView, CureView, DebtView, DocumentView, TableView
from exonerate.report.glance import corner_word, cure_finding, dip_sentence
from exonerate.report.markdown_parts import bullets, table
from exonerate.report.phrases import (
    code_span,
    escaped_markdown,
    interval,
    load,
    number,
    percent,
    unsigned_percent,
)
from exonerate.report.story import Story
from exonerate.report.verdict import verdict_markdown_parts


def case_markdown(story: Story) -> str:
    """The report as one Markdown document."""
    return "\n\n".join(_parts(story)) + "\n"


def _parts(story: Story) -> Iterator[str]:
    yield f"# {escaped_markdown(story.title)}"
    yield (
        f"Case {code_span(story.case)}, {escaped_markdown(story.status)}. "
        f"Symptom: {escaped_markdown(story.symptom)}. "
        f"Deployment: {escaped_markdown(story.deployment)}. Opened {story.opened}."
    )
    if story.unfinished:
        yield f"**Begun and not finished**\n\n{bullets(story.unfinished)}"
    if story.verdict is not None:
        yield from verdict_markdown_parts(story.verdict, paragraph=story.paragraph)
    else:
        yield escaped_markdown(story.paragraph)
    if story.suspicions:
        rows = [(entry.when, entry.who, entry.what) for entry in story.suspicions]
        yield f"## What was suspected\n\n{table(['when', 'who', 'what'], rows)}"
    yield from _evidence(story)
    for comparison in story.comparisons:
        yield from _comparison(comparison)
    for document in story.documents:
        yield from _document(document)
    yield from _aftermath(story)
    yield f"Written {story.written} UTC from the ledger of case {code_span(story.case)}."


def _aftermath(story: Story) -> Iterator[str]:
    yield from _interventions(story)
    if story.cure is not None:
        yield from _cure(story.cure)
    if story.debt_known:
        yield "## What it costs"
        yield from map(_debt, story.debt)
        if not story.debt:
            yield "Nothing stands: no revert costs anything today."
    if story.comments:
        yield f"## Comments\n\n{bullets(story.comments)}"


def _evidence(story: Story) -> Iterator[str]:
    if story.suspects:
        header = ["suspect", "state", *(piece.label for piece in story.evidence), "contradicted by"]
        rows = [
            (row.claim, row.state, *row.fits, ", ".join(row.contradicted_by) or "—")
            for row in story.suspects
        ]
        yield f"## Suspects and evidence\n\n{table(header, rows)}"
    if story.evidence:
        rows = [
            (piece.label, piece.summary, piece.type, piece.by or "—", piece.grade, piece.age)
            for piece in story.evidence
        ]
        header = ["", "what", "source", "by", "grade", "age"]
        yield f"## Evidence\n\n{table(header, rows)}"


def _comparison(comparison: ComparisonView) -> Iterator[str]:
    yield f"## Measured: {escaped_markdown(comparison.headline)}"
    blocks = "unknown" if comparison.blocks is None else str(comparison.blocks)
    yield (
        f"{escaped_markdown(comparison.metric)}, {blocks} randomised blocks of restarts, "
        f"{comparison.when}."
    )
    arms = [*comparison.arms, "", ""][:2]
    primary = [comparison.primary] if comparison.primary else []
    rows = [
        (
            cell.name,
            cell.verdict,
            number(cell.baseline),
            number(cell.candidate),
            percent(cell.effect),
            interval(cell.ci),
        )
        for cell in [*comparison.cells, *primary]
    ]
    yield table(["cell", "verdict", *arms, "effect", "interval"], rows, numbers=4)
    if comparison.dips:
        yield bullets(map(dip_sentence, comparison.dips))


def _document(document: DocumentView) -> Iterator[str]:
    yield f"## Stated in {code_span(document.path)}"
    for stated in document.tables:
        yield from _stated(stated)
    if document.claims:
        claims = [
            f"{text} (line {line}{'' if defined else '; it does not say how it was measured'})"
            for line, text, defined in document.claims
        ]
        yield f"Claimed, not measured here:\n\n{bullets(claims)}"
    if document.warnings:
        yield bullets(document.warnings)


def _stated(stated: TableView) -> Iterator[str]:
    yield f"Line {stated.line}: {escaped_markdown(stated.headline)}, grade {stated.grade}."
    if stated.copy_of:
        yield f"The same numbers as {escaped_markdown(stated.copy_of)}; counted once."
        return
    rows = [
        (
            cell.name,
            number(cell.baseline),
            number(cell.candidate),
            percent(cell.effect),
            cell.stated or "—",
        )
        for cell in stated.cells
    ]
    arms = [*stated.arms, "", ""][:2]
    yield table([stated.cell_kind, *arms, "recomputed", "stated"], rows, numbers=4)
    if stated.dips:
        yield bullets(map(dip_sentence, stated.dips))
    yield f"Why grade {stated.grade}: {escaped_markdown('; '.join(stated.why))}."


def _interventions(story: Story) -> Iterator[str]:
    if not story.interventions:
        return
    rows = [
        (change.when, change.what, change.outcome, change.symptom, change.state, change.why)
        for change in story.interventions
    ]
    header = ["when", "change", "outcome", "symptom", "state", "why"]
    yield f"## What was changed\n\n{table(header, rows)}"


def _cure(cure: CureView) -> Iterator[str]:
    rows = [
        (fault, *(corner_word(cure.corner(fault, knob)) for knob in cure.knob_states))
        for fault in cure.fault_states
    ]
    header = [f"{cure.fault_name} / {cure.knob_name}", *cure.knob_states]
    yield f"## Did the cure cure?\n\n{table(header, rows)}"
    yield escaped_markdown(cure.why or cure_finding(cure))


def _debt(debt: DebtView) -> str:
    head = (
        f"{code_span(debt.knob)} stands at {code_span(debt.live)} instead of "
        f"{code_span(debt.was)} ({escaped_markdown(debt.price_class)})."
    )
    if not debt.prices:
        return f"{head} Its price was never measured; it is unknown, not zero."
    rows = [
        (load(price.cell), unsigned_percent(price.loss), interval(price.ci), price.grade)
        for price in debt.prices
    ]
    return f"{head}\n\n{table(['load', 'loss', 'interval', 'grade'], rows)}"
