"""`exonerate case report`: the story of a case for the terminal, as Markdown or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

import click

from exonerate.compose import live_values, system_clock
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_options
from exonerate.frontends.cli.output import colour_wanted, text_width
from exonerate.frontends.cli.whole_file import write_whole
from exonerate.jobs.case import needed_case
from exonerate.jobs.debt import owed
from exonerate.report.case_html import case_html
from exonerate.report.case_markdown import case_markdown
from exonerate.report.case_text import case_text
from exonerate.report.story import Story, tell

Form: TypeAlias = Literal["text", "markdown", "html"]
_FORMS_BY_ENDING: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "markdown"}


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate case report\n"
    "  exonerate case report --form markdown > report.md\n"
    "  exonerate case report -o report.html"
)
@case_options
@click.option("--form", type=click.Choice(get_args(Form)), help="Default: by the name of FILE.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it here instead."
)
def report(where: CaseOptions, form: Form | None, out: Path | None) -> int:
    """Tell the story of a case: suspicion, evidence, verdict, cost, cure, what is open.

    The page is one file without scripts that fetches nothing; it can be attached to a ticket.
    """
    chosen = form or (_FORMS_BY_ENDING.get(out.suffix.lower(), "text") if out else "text")
    text = _told(_story(where), chosen, to_terminal=out is None)
    if out is None:
        click.echo(text)
        return exit_status.DONE
    write_whole(out, text)
    click.echo(f"wrote {out}", err=True)
    return exit_status.DONE


def _story(where: CaseOptions) -> Story:
    clock = system_clock()
    ledger = where.open_ledger()
    case = needed_case(ledger, where.case, as_of=clock.wall())
    deployment = where.deployment()
    debt = owed(
        ledger,
        live_values(deployment),
        clock=clock,
        deployment=deployment.name if deployment is not None else None,
    )
    return tell(case, now=clock.wall(), debt=debt)


def _told(story: Story, form: Form, *, to_terminal: bool) -> str:
    if form == "html":
        return case_html(story)
    if form == "markdown":
        return case_markdown(story)
    return case_text(story, width=text_width(), colour=to_terminal and colour_wanted())
