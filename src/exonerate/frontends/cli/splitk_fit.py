"""`exonerate splitk fit`: which rule explains a throughput table, and how far to believe it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exonerate.core.json_types import Json
from exonerate.core.waves.answers import FitAnswer, FitRequest
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.core.waves.physical import PhysicalInputs
from exonerate.core.waves.table import Table, parse_csv, parse_reading, table_of_reading
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.output import ProgressLine, print_json
from exonerate.frontends.cli.splitk_options import (
    DeviceOptions,
    device_from,
    device_options,
    no_matplotlib,
    plot_form,
    write_plot,
)
from exonerate.jobs.splitk_fit import splitk_fit
from exonerate.report.waves_fit import fit_text
from exonerate.report.waves_json import fit_json

BYTES_MAX = 64 * 1024 * 1024
SPLITS_NO_CAP = 1 << 20


@click.command()
@click.argument("file", required=False)
@click.option("--table", metavar="FILE", help="The same as the argument.")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="NAME=TARGET",
    help="Target of an arm whose name is no number; once per arm.",
)
@click.option("--comparison", type=int, help="Which comparison of a reading, from 1.")
@device_options
@click.option(
    "--lengths",
    default="8192",
    show_default=True,
    help="KV tokens: 8192, uniform:LOW-HIGH, lognormal:MEDIAN,SIGMA or list:A,B,...",
)
@click.option(
    "--tile",
    type=click.IntRange(1, 65536),
    default=1,
    show_default=True,
    help="Tokens that a split is a multiple of; 1 is the limit of long caches.",
)
@click.option(
    "--per-cta",
    type=click.FloatRange(0, 10),
    default=0.0,
    show_default=True,
    help="Overhead of each CTA, as a share of one unsplit request; given, not fitted.",
)
@click.option("--measured-share", type=float, help="Attention's share of a step in a trace.")
@click.option("--layers", type=int, help="Layers with attention.")
@click.option("--bytes-per-token", type=float, help="KV bytes per token, layer and work unit.")
@click.option("--knob", default="TARGET_CTAS", show_default=True, help="Its name for `ab`.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Write an SVG or PNG.")
@click.option("--json", "as_json", is_flag=True, help="Print `exonerate.wave_fit/1`.")
def fit(**options: Any) -> int:
    """Fit every split rule to a throughput table and judge the best one.

    FILE is CSV with the columns concurrency, target and value (tokens/s; repeat a row for each
    restart), a Markdown document with such a table, or the JSON of `exonerate read --json`; `-`
    is stdin. Exit status 0 when the data suffice for an answer, 3 when they do not.

    \b
    Examples:
      exonerate splitk fit throughput.csv --gpu "RTX PRO 6000"
      exonerate splitk fit PERF_PLAN.md --layers 43 --bytes-per-token 584
      exonerate read PERF_PLAN.md --json | exonerate splitk fit -
      exonerate splitk fit reading.json --arm baseline=256 --arm candidate=512 --plot fit.svg
    """
    plot: Path | None = options["plot"]
    form = None if plot is None else plot_form(plot)
    request = _request(options)
    progress = ProgressLine(quiet=not sys.stderr.isatty())
    answer = splitk_fit(request, progress)
    progress.done()
    if options["as_json"]:
        print_json(fit_json(answer))
    else:
        click.echo(fit_text(answer), nl=False)
    if plot is not None and form is not None:
        write_plot(plot, _plotted(answer, form))
    return exit_status.DONE if answer.verdict.conclusive else exit_status.INSUFFICIENT


def _request(options: dict[str, Any]) -> FitRequest:
    device = device_from(
        DeviceOptions(**{name: options[name] for name in DeviceOptions.__dataclass_fields__})
    )
    return FitRequest(
        _table(options),
        device,
        Workload(
            1, parse_lengths(options["lengths"]), options["tile"], SPLITS_NO_CAP, options["seed"]
        ),
        Costs(options["per_cta"]),
        PhysicalInputs(options["layers"], options["bytes_per_token"], options["measured_share"]),
        options["knob"],
        options["seed"],
    )


def _table(options: dict[str, Any]) -> Table:
    names = [name for name in (options["file"], options["table"]) if name is not None]
    if len(names) != 1:
        raise ExonerateError(
            "no table is given" if not names else "two tables are given",
            "name one file: `exonerate splitk fit throughput.csv`",
        )
    name, comparison = names[0], options["comparison"]
    arms = dict(_arm(text) for text in options["arms"])
    if Path(name).suffix.lower() in _DOCUMENTS:
        return table_of_reading(_document(name), arms=arms, comparison=comparison)
    text = _text(name)
    if text.lstrip().startswith("{"):
        return parse_reading(text, arms=arms, comparison=comparison)
    return parse_csv(text)


_DOCUMENTS = (".md", ".markdown", ".txt")


def _document(name: str) -> dict[str, Json]:
    """What `exonerate read` finds in a document; only a document needs its readers."""
    from exonerate.core.documents.answer import reading_json
    from exonerate.jobs.read import read_documents

    return reading_json(read_documents([Path(name)]))


def _arm(text: str) -> tuple[str, int]:
    name, equals, target = text.rpartition("=")
    if not equals or not name or not target.isdecimal():
        raise ExonerateError(
            f"--arm `{text}` is not NAME=TARGET", "write `--arm baseline=256 --arm candidate=512`"
        )
    return name, int(target)


def _text(name: str) -> str:
    try:
        if name == "-":
            content = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with Path(name).open("rb") as stream:
                content = stream.read(BYTES_MAX + 1)
        if len(content) > BYTES_MAX:
            raise ExonerateError(f"`{name}` is larger than 64 MiB", "give one throughput table")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise ExonerateError(
            f"`{name}` cannot be read: {error.strerror}", "name a CSV or JSON file that exists"
        ) from error
    except UnicodeDecodeError as error:
        raise ExonerateError(f"`{name}` is not UTF-8 text", "save it as UTF-8") from error


def _plotted(answer: FitAnswer, form: str) -> bytes:
    try:
        from exonerate.report.waves_plot import fit_plot
    except ModuleNotFoundError as error:
        raise no_matplotlib() from error
    return fit_plot(answer, form)
