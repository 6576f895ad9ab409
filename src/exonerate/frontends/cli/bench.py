"""`exonerate bench`: throughput and latency at given loads; `bench export`, `bench compare`.

Wired here and not in `compose`, whose imports (numpy, scipy, SQLAlchemy) are larger than the whole
load generator and would lie in memory beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.engine_watch import EngineWatch
from exonerate.adapters.engines.names import counter_reader
from exonerate.adapters.link import check_load, link_of
from exonerate.adapters.load import run_worker
from exonerate.adapters.request import authorization
from exonerate.adapters.tokenizer import EngineTokenizer
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.json_types import JsonObject
from exonerate.core.workload.bench_spec import BenchSpec
from exonerate.core.workload.fitting import fitted
from exonerate.core.workload.result_blocks import RequestRecord, read_blocks
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.bench_options import BenchOptions, Limits, Numbers, Time
from exonerate.frontends.cli.bench_view import LiveView
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.urls import Url
from exonerate.jobs.bench import BenchTools, run_bench
from exonerate.jobs.bench_compare import compare_results
from exonerate.jobs.bench_result import BenchResult, read_result
from exonerate.report.bench import bench_markdown, bench_text, comparison_lines
from exonerate.report.bench_html import bench_html
from exonerate.report.bench_rows import Format, event_rows, request_row, rows_text

DEPLOYMENT_FILE = "exonerate.toml"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _RunByDefault(click.Group):
    """`bench URL …` runs; `bench export` and `bench compare` work on results."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without the name of a command, the arguments are those of a run."""
        if not args or args[0] not in self.commands:
            args.insert(0, "run")
        return super().parse_args(ctx, args)


@click.group(cls=_RunByDefault)
def command() -> None:
    """Throughput and latency at given loads."""


@command.command("run", context_settings={"show_default": True})
@click.argument("url", type=Url(), required=False)
@click.option("-c", "config", type=_FILE, help="Deployment file, where no URL is given.")
@click.option("--hop", help="The hop of the deployment file to send to; default: the first.")
@click.option("--model", "-m", help="What the requests name.")
@click.option("--path", help="Endpoint.", default="/v1/chat/completions")
@click.option("-C", "--concurrency", type=Numbers(whole=True), default=(), help="Closed loop.")
@click.option("--rate", type=Numbers(whole=False), default=(), help="Open loop, requests a second.")
@click.option("--constant", is_flag=True, help="Evenly spaced instead of Poisson arrivals.")
@click.option("--trace", type=_FILE, help="Open loop at the times of a file.")
@click.option("--replay", type=_FILE, help="Send the bodies of a capture at its times.")
@click.option("--requests", "-n", type=click.IntRange(1), help="Requests of each load.")
@click.option("--duration", "duration_s", type=Time(), help="Time of each load.")
@click.option("--prompt-tokens", type=click.IntRange(1), default=200)
@click.option("--output-tokens", type=click.IntRange(1), default=64)
@click.option("--session", "rounds", type=click.IntRange(1), default=1, help="Rounds of an agent.")
@click.option("--think", "think_s", type=Time(), default=0.5, help="Between two rounds.")
@click.option("--growth-tokens", type=click.IntRange(0), default=150, help="History a round adds.")
@click.option("--shared-prefix", is_flag=True, help="Let all prompts begin alike.")
@click.option("--ignore-eos/--no-ignore-eos", default=True, help="Ask for answers of full length.")
@click.option("--stream/--no-stream", default=True)
@click.option("--body", type=_FILE, help="Send this JSON body instead of seeded prompts.")
@click.option("--header", "headers", multiple=True, metavar="NAME: VALUE")
@click.option("--api-key-env", metavar="NAME", help="Environment variable with the key.")
@click.option("--ca", type=_FILE, help="PEM file of a private certificate authority.")
@click.option("--deadline", "deadline_s", type=Time(), default=120.0, help="Of one request.")
@click.option("--warmup", type=click.IntRange(0), default=0, help="Requests that do not count.")
@click.option("--slo", "slo_ms", type=Limits(), default={}, help="Goodput: ttft=500ms,itl=50ms")
@click.option("--metrics", "metrics_url", type=Url(), help="Metrics page; default: URL/metrics.")
@click.option("--seed", type=int, default=1)
@click.option("--workers", type=click.IntRange(1, 64), default=1, help="Load processes.")
@click.option("--batch-ms", type=click.FloatRange(0, 5), default=0.5, help="Read in batches.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Raw result file.")
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--case", "case_id", metavar="ID", help="Add the result to this case as evidence.")
@click.option("--ledger", metavar="URL", help="Path or postgresql:// address of its ledger.")
@click.option("--json", "as_json", is_flag=True, help="Print `exonerate.bench/1` on stdout.")
@click.option("--quiet", "-q", is_flag=True)
def run(**given: Any) -> int:
    """Send loads and measure: `exonerate bench URL --model M -C 1,8,64`.

    Every event keeps the kernel's receive stamp; the raw records go to a file from which all
    numbers can be had again (`bench export`, `bench compare A B`).

    \b
    exonerate bench http://127.0.0.1:8000 -m dsv4 -C 48,64,80,96 --duration 60s
    exonerate bench -c exonerate.toml --rate 2,4,8 --requests 500 --slo ttft=500ms
    exonerate bench http://127.0.0.1:8000 -m dsv4 -C 8 --session 6 --think 1s
    """
    files = {name: given.pop(name) for name in ("out", "markdown", "html")}
    as_json, quiet = given.pop("as_json"), given.pop("quiet")
    record = _recorder(given["config"], given.pop("ledger"), given.pop("case_id"))
    options = _options(given)
    spec, bodies = options.spec(), options.bodies()
    authorization(spec.request)
    out = files["out"] or Path(f"bench-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.exbench")  # noqa: TID251  # a file's name
    tools = BenchTools(SystemClock(), run_worker, _engine(spec), LiveView(quiet=quiet))
    result = run_async(_measure(spec, tools, out, bodies), may_be_cut_short=True)
    _report(result, out, markdown=files["markdown"], html=files["html"], as_json=as_json)
    if record is not None:
        record(result.to_json(str(out)))
    return _status(result)


@command.command("export")
@click.argument("file", type=_FILE)
@click.option("--format", "kind", type=click.Choice(["csv", "jsonl"]), default="csv")
@click.option("--events", is_flag=True, help="One row for each event instead of each request.")
def export(file: Path, kind: Format, events: bool) -> int:
    """Print the raw records of a result: `exonerate bench export run.exbench --format jsonl`."""
    with file.open("rb") as result:
        records = (block for block in read_blocks(result) if isinstance(block, RequestRecord))
        if events:
            rows = (row for record in records for row in event_rows(record))
        else:
            rows = (request_row(record) for record in records)
        try:
            for line in rows_text(rows, kind):
                click.echo(line)
        except ValueError as error:
            hint = "give the file that `bench` named"
            raise ExonerateError(f"`{file}`: {error}", hint) from error
    return exit_status.DONE


@command.command("show")
@click.argument("file", type=_FILE)
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True)
def show(file: Path, markdown: Path | None, html: Path | None, as_json: bool) -> int:
    """Report a result again: `exonerate bench show run.exbench --html run.html`."""
    result = read_result(file)
    _report(result, file, markdown=markdown, html=html, as_json=as_json)
    return _status(result)


@command.command("compare")
@click.argument("before", type=_FILE)
@click.argument("after", type=_FILE)
@click.option("--json", "as_json", is_flag=True)
def compare(before: Path, after: Path, as_json: bool) -> int:
    """Put two results side by side, or say why they cannot be compared.

    \b
    exonerate bench compare before.exbench after.exbench
    """
    answer = compare_results(read_result(before), read_result(after))
    click.echo(json.dumps(answer, indent=2) if as_json else comparison_lines(answer), nl=as_json)
    return exit_status.DONE


async def _measure(
    spec: BenchSpec, tools: BenchTools, out: Path, bodies: list[bytes]
) -> BenchResult:
    """Fit the prompts to the engine's own tokenizer where there is one, then play."""
    if not bodies:
        tokenizer = EngineTokenizer(spec.url, spec.request.model, ca=spec.ca)
        request, counted = await fitted(spec.request, tokenizer.count)
        spec = replace(
            spec,
            request=request,
            prompt_tokens_asked=spec.request.prompt.prompt_tokens,
            prompt_tokens_counted=counted,
        )
    return await run_bench(spec, tools, out, bodies=bodies)


def _options(given: dict[str, Any]) -> BenchOptions:
    """The options, with URL, model and metrics from the deployment file where there is one."""
    config, hop_name = given.pop("config"), given.pop("hop")
    given["ca"] = str(given["ca"]) if given["ca"] else None
    if given["url"] is None:
        deployment = _deployment(config)
        hop = next((hop for hop in deployment.hops if hop_name in (None, hop.name)), None)
        if hop is None:
            raise ExonerateError(
                f"no hop is called `{hop_name}`",
                "hops: " + ", ".join(hop.name for hop in deployment.hops),
            )
        link = link_of(hop, deployment.folder)
        check_load(link)
        given["url"], given["ca"] = hop.url, given["ca"] or link.ca
        given["model"] = given["model"] or deployment.model
        engine = next((hop for hop in deployment.hops[::-1] if hop.metrics), None)
        given["metrics_url"] = given["metrics_url"] or (engine.metrics if engine else None)
        given["api_key_env"] = given["api_key_env"] or deployment.victim.api_key_env
    if not given["model"] and given["body"] is None and given["replay"] is None:
        raise ExonerateError("no model is named", "add `--model NAME`")
    given["model"] = given["model"] or ""
    given["metrics_url"] = given["metrics_url"] or f"{given['url']}/metrics"
    return BenchOptions(**given)


def _deployment(config: Path | None) -> Deployment:
    folders = (Path.cwd(), *Path.cwd().parents)
    found = config or next(
        (folder / DEPLOYMENT_FILE for folder in folders if (folder / DEPLOYMENT_FILE).is_file()),
        None,
    )
    if found is None:
        raise ExonerateError(
            f"no URL was given and there is no `{DEPLOYMENT_FILE}` here",
            "exonerate bench http://127.0.0.1:8000 --model NAME -C 1,8",
        )
    return parse_deployment(found.read_text(), path=str(found), folder=str(found.parent))


def _engine(spec: BenchSpec) -> EngineWatch:
    return EngineWatch(spec.url, spec.metrics_url, counter_reader(), ca=spec.ca)


def _report(
    result: BenchResult, file: Path, *, markdown: Path | None, html: Path | None, as_json: bool
) -> None:
    answer = result.to_json(str(file))
    if markdown is not None:
        markdown.write_text(bench_markdown(answer))
    if html is not None:
        html.write_text(bench_html(answer, [cell.timeline for cell in result.cells]))
    click.echo(json.dumps(answer, indent=2) if as_json else bench_text(answer), nl=as_json)
    if result.client_bound:
        sys.stdout.flush()
        click.echo("invalid: client-bound; see the notes", err=True)


def _recorder(
    config: Path | None, ledger: str | None, case_id: str | None
) -> Callable[[JsonObject], None] | None:
    if case_id is None:
        return None
    # Found before the load begins; imported here, since it takes more memory than the load.
    from exonerate.frontends.cli.bench_case import recorder

    return recorder(config, ledger, case_id)


def _status(result: BenchResult) -> int:
    if "interrupted" in result.notes:
        return exit_status.INTERRUPTED
    if result.client_bound:
        return exit_status.OPERATOR
    sound = all(cell.summary.complete == cell.summary.requests for cell in result.cells)
    return exit_status.DONE if sound and result.cells else exit_status.FINDING
