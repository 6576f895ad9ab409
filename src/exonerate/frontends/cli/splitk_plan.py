"""`exonerate splitk plan`: waves, cliffs and recommendations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from exonerate.core.waves.answers import PlanAnswer, PlanRequest
from exonerate.core.waves.explanations import RULES
from exonerate.core.waves.heads import parse_heads
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload, checked_units
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.output import ProgressLine, print_json
from exonerate.frontends.cli.splitk_options import (
    DeviceOptions,
    device_from,
    device_options,
    no_matplotlib,
    plot_form,
    whole_numbers,
    write_plot,
)
from exonerate.jobs.splitk_plan import splitk_plan
from exonerate.report.waves import plan_text, rules_text
from exonerate.report.waves_json import plan_json

UNITS_ASSUMED = 2
SPLITS_NO_CAP = 1 << 20


@click.command()
@device_options
@click.option("--concurrency", default="48,64,80,96", show_default=True, help="48,64 or 8:96:8.")
@click.option("--target", "--targets", default="256,512", show_default=True, help="Targets.")
@click.option("--rule", default="target_ctas", show_default=True, help="See --rules.")
@click.option(
    "--rounding",
    type=click.Choice(["ceil", "floor", "round"]),
    help="How `target_ctas` rounds  [default: ceil]",
)
@click.option("--rules", is_flag=True, help="List every rule with its source, and leave.")
@click.option("--units", type=int, help="CTAs per request before splitting  [default: 2]")
@click.option("--heads", metavar="QUERY,KV,PER_CTA", help="Heads on one GPU, instead of --units.")
@click.option(
    "--lengths",
    default="8192",
    show_default=True,
    help="KV tokens: 8192, uniform:LOW-HIGH, lognormal:MEDIAN,SIGMA or list:A,B,...",
)
@click.option("--tile", type=click.IntRange(1, 65536), default=64, show_default=True)
@click.option("--splits-max", type=click.IntRange(1), default=SPLITS_NO_CAP, help="Cap on splits.")
@click.option(
    "--per-cta",
    type=click.FloatRange(0, 10),
    default=0.02,
    show_default=True,
    help="Overhead of each CTA, as a share of one unsplit request.",
)
@click.option(
    "--combine",
    type=click.FloatRange(0, 10),
    default=0.0,
    show_default=True,
    help="Combine kernel, per split, in the same unit.",
)
@click.option(
    "--saturating",
    type=float,
    help="Bandwidth floor: running CTAs that already use all memory bandwidth.",
)
@click.option(
    "--bytes-per-token",
    type=float,
    help="KV bytes per token, layer and work unit: prints the bandwidth floor in microseconds.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Order of drawn lengths.")
@click.option("--plot", type=click.Path(path_type=Path), help="Write an SVG or PNG.")
@click.option("--json", "as_json", is_flag=True, help="Print `exonerate.waves/1`.")
def plan(**options: Any) -> int:
    """Explain a throughput curve from waves, and predict its next dips.

    Says for each concurrency and target how many CTAs a decode step launches, in how many waves,
    and how long attention takes relative to an unsplit request; where the cliffs are; which
    number of splits would be best, and what choosing it costs in batch invariance.

    \b
    Examples:
      exonerate splitk plan --gpu "RTX PRO 6000" --concurrency 48,64,80,96 --target 256,512
      exonerate splitk plan --gpu H100 --heads 128,1,64 --rule flashmla --concurrency 8:128:8
      exonerate splitk plan --gpu "RTX PRO 6000" --ctas-per-sm auto --kernel 208,22528,128 \\
          --lengths lognormal:8192,0.8 --plot waves.svg
    """
    if options["rules"]:
        click.echo(rules_text(RULES), nl=False)
        return exit_status.DONE
    plot: Path | None = options["plot"]
    form = None if plot is None else plot_form(plot)
    request = _request(options)
    progress = ProgressLine(quiet=not sys.stderr.isatty())
    answer = splitk_plan(request, progress)
    progress.done()
    if options["as_json"]:
        print_json(plan_json(answer))
    else:
        click.echo(plan_text(answer), nl=False)
    if plot is not None and form is not None:
        write_plot(plot, _plotted(answer, form))
    return exit_status.DONE


def _request(options: dict[str, Any]) -> PlanRequest:
    device = device_from(
        DeviceOptions(**{name: options[name] for name in DeviceOptions.__dataclass_fields__})
    )
    return PlanRequest(
        device,
        _rule(options["rule"], options["rounding"]),
        Workload(
            _units(options["units"], options["heads"]),
            parse_lengths(options["lengths"]),
            options["tile"],
            options["splits_max"],
            options["seed"],
        ),
        Costs(options["per_cta"], options["combine"]),
        options["saturating"],
        options["bytes_per_token"],
        whole_numbers(options["concurrency"], "--concurrency"),
        whole_numbers(options["target"], "--target"),
    )


def _rule(name: str, rounding: str | None) -> str:
    if name == "target_ctas":
        return f"target_ctas:{rounding or 'ceil'}"
    if rounding is not None:
        raise ExonerateError(
            f"rule `{name}` has no rounding to choose", "`--rounding` goes with `target_ctas`"
        )
    return name


def _units(units: int | None, heads: str | None) -> int:
    if units is not None and heads is not None:
        raise ExonerateError("`--units` and `--heads` say the same thing twice", "give one of them")
    if heads is not None:
        return parse_heads(heads).units
    return checked_units(UNITS_ASSUMED if units is None else units)


def _plotted(answer: PlanAnswer, form: str) -> bytes:
    try:
        from exonerate.report.waves_plot import plan_plot
    except ModuleNotFoundError as error:
        raise no_matplotlib() from error
    return plan_plot(answer, form)
