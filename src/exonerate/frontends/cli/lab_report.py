"""`exonerate lab run` and `exonerate lab report`: play scenarios, and show what came of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.lab_queue import Queue, Wanted, minutes
from exonerate.frontends.cli.lab_runs import Results, read_results
from exonerate.frontends.cli.output import colour_wanted, print_json, text_width
from exonerate.lab.guard import guarded
from exonerate.lab.parts import how_to_get
from exonerate.lab.provenance import file_digest, provenance
from exonerate.lab.scenario import Template, builtin_scenarios, drawn_once, find_template
from exonerate.lab.stage import missing
from exonerate.report.lab import LabReport, LabRun, NotRun, lab_json, lab_text
from exonerate.report.lab_matrix import lab_html, lab_markdown

HTML = click.option(
    "--html", type=click.Path(path_type=Path), help="Write the confusion matrix as a page."
)
MARKDOWN = click.option(
    "--markdown", type=click.Path(path_type=Path), help="Write the tables as Markdown."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print exonerate.lab/1.")


@dataclass(frozen=True, slots=True)
class _Shown:
    """Where a report goes besides the terminal."""

    as_json: bool
    html: Path | None
    markdown: Path | None


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate lab run S1 S20\n"
    "  exonerate lab run my-scenario.toml --seeds 5 --html lab.html\n"
    "  exonerate lab run --all --seeds 5 --results lab.jsonl\n"
    "  exonerate lab run --quick",
)
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every scenario that comes along.")
@click.option("--quick", is_flag=True, help="Those that are short and need nothing installed.")
@click.option("--seeds", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--first-seed", type=click.IntRange(0), default=1, show_default=True)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Scenarios at a time."
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Keep each run here, and go on from what is kept.",
)
@click.option("--keep-stale", is_flag=True, help="Do not play runs of older code again.")
@click.option(
    "--verdicts", type=click.Path(path_type=Path), help="A folder for the whole verdicts."
)
@HTML
@MARKDOWN
@JSON
def run(
    names: tuple[str, ...],
    everything: bool,
    quick: bool,
    seeds: int,
    first_seed: int,
    jobs: int,
    results: Path | None,
    keep_stale: bool,
    verdicts: Path | None,
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> int:
    """Stage scenarios, run `locate` on each, and score its verdicts against the known culprit.

    A NAME is the id of a scenario or the path of a scenario file. A scenario whose parts this host
    lacks is reported as not run. Exit status 1 when an innocent was accused, 2 when a named
    scenario was not run, 4 when a run broke.
    """
    templates = _chosen(names, everything=everything, quick=quick)
    kept = Results(results)
    lacking = [item for template in templates for item in _lacking(template)]
    unavailable = {item.scenario for item in lacking}
    wanted = [
        Wanted(template, seed)
        for seed in range(first_seed, first_seed + seeds)
        for template in templates
        if template.id not in unavailable
    ]
    todo = [one for one in wanted if kept.find(one.template, one.seed, stale=keep_stale) is None]
    stages = Path(tempfile.mkdtemp(prefix="exonerate-lab-"))
    queue = Queue(todo, kept, jobs=jobs, keep=verdicts, within=stages, say=_say)
    done = f", {len(wanted) - len(todo)} are done already" if len(todo) < len(wanted) else ""
    _say(f"{len(todo)} runs to play, about {minutes(queue.left_s())}{done}")
    with guarded(stages):
        queue.play()
    found = [(kept.find(one.template, one.seed, stale=True), one) for one in wanted]
    made = LabReport(
        runs=[one for one, _ in found if one is not None],
        not_run=[*lacking, *queue.not_run],
        stale=frozenset(
            (one.scenario, one.seed) for one, w in found if one and _is_stale(one, w.template)
        ),
    )
    _show(made, _Shown(as_json, html, markdown))
    return _status(made, lacking_counts=bool(names))


@click.command(epilog="\b\nExample:\n  exonerate lab report lab.jsonl --html lab.html")
@click.argument("results", type=click.Path(path_type=Path), nargs=-1, required=True)
@HTML
@MARKDOWN
@JSON
def report(
    results: tuple[Path, ...], html: Path | None, markdown: Path | None, as_json: bool
) -> int:
    """Show what files of results hold; of a scenario and seed that came twice, the newest."""
    newest: dict[tuple[str, int], LabRun] = {}
    for path in results:
        for row in read_results(path):
            newest[row.scenario, row.seed] = row
    known = {template.id: template for template in builtin_scenarios()}
    stale = frozenset(key for key, row in newest.items() if _is_stale(row, known.get(row.scenario)))
    ordered = sorted(newest.values(), key=lambda row: (_order(row, list(known)), row.seed))
    made = LabReport(runs=ordered, stale=stale)
    _show(made, _Shown(as_json, html, markdown))
    return _status(made, lacking_counts=False)


def _show(made: LabReport, shown: _Shown) -> None:
    if shown.as_json:
        print_json(lab_json(made))
    else:
        click.echo(lab_text(made, width=text_width(), colour=colour_wanted()))
    for path, text in ((shown.html, lab_html), (shown.markdown, lab_markdown)):
        if path is not None:
            _write(path, text(made))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be written: {error.strerror}", "name another file"
        ) from error


def _status(made: LabReport, *, lacking_counts: bool) -> int:
    if any(row.false_accusation for row in made.runs):
        return exit_status.FINDING
    if any(item.seed is not None for item in made.not_run):
        return exit_status.DEFECT
    return exit_status.OPERATOR if made.not_run and lacking_counts else exit_status.DONE


def _chosen(names: tuple[str, ...], *, everything: bool, quick: bool) -> list[Template]:
    if [everything, quick, bool(names)].count(True) != 1:
        raise click.UsageError("name scenarios, or give --all or --quick")
    if quick:
        return [template for template in builtin_scenarios() if template.tables.get("quick")]
    return builtin_scenarios() if everything else [find_template(name) for name in names]


def _lacking(template: Template) -> list[NotRun]:
    """A line when this host cannot stage a scenario."""
    needs = missing(drawn_once(template))
    if not needs:
        return []
    hints = list(dict.fromkeys(f"get it with `{how_to_get(need)}`" for need in needs))
    return [
        NotRun(
            scenario=template.id, seed=None, why=f"needs {', '.join(needs)}", hint="; ".join(hints)
        )
    ]


def _is_stale(row: LabRun, template: Template | None) -> bool:
    same_file = template is None or row.file == file_digest(template.path)
    return row.code != provenance().code or not same_file


def _order(row: LabRun, known: list[str]) -> int:
    return known.index(row.scenario) if row.scenario in known else len(known)


def _say(text: str) -> None:
    click.echo(text, err=True)
