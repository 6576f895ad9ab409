"""`splitk check` and `splitk bench`: what is true of an implementation, and how fast it is."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from exonerate.compose import system_clock
from exonerate.core.exactness import PROMISED_BY_DEFAULT, Proof, Property, proof_document
from exonerate.core.kernel_speed import DecodeShape, speed_document
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_options
from exonerate.frontends.cli.output import ProgressLine, print_json
from exonerate.jobs.case import Measurement, needed_case
from exonerate.kernels.number_formats import FORMATS
from exonerate.kernels.prover.catalogue import LEVELS
from exonerate.kernels.prover.prove import Sweep, prove, replay
from exonerate.kernels.prover.runner import Runner
from exonerate.kernels.prover.targets import open_target, require
from exonerate.report import splitk_bench as bench_report
from exonerate.report import splitk_check as report

PROMISES = {
    "split-invariant": Property.SPLIT_INVARIANT,
    "batch-invariant": Property.BATCH_INVARIANT,
}


@click.command("check")
@case_options
@click.argument("target")
@click.option("--level", type=click.Choice(LEVELS), default="default", show_default=True)
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice(list(FORMATS)))
@click.option(
    "--promise",
    "promises",
    multiple=True,
    metavar="NAME[=ULP]",
    help="Also hold it to split-invariant, split-invariant=K (within K ulp) or batch-invariant.",
)
@click.option("--condition", "conditions", multiple=True, help="Only these conditions.")
@click.option("--partial-dtype", type=click.Choice(list(FORMATS)), default="fp32")
@click.option("--replay", "replay_file", type=click.Path(path_type=Path), help="A saved input.")
@click.option(
    "--save",
    "save_in",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("splitk-findings"),
    show_default=True,
    help="Where failing inputs are saved.",
)
@click.option("--budget", "budget_s", type=float, help="Seconds for the whole sweep.")
@click.option("--first", is_flag=True, help="Stop at the first broken promise.")
@click.option("--time-limit", default=20.0, show_default=True, help="Seconds for one call.")
@click.option("--device", default="cpu", show_default=True, help="Where torch arrays live.")
@click.option("--arrays", type=click.Choice(["auto", "numpy", "torch"]), default="auto")
@click.option(
    "--merge",
    "empty_lse",
    type=click.Choice(["-inf", "+inf", "-1e30"]),
    help="TARGET is merge(outs, lses); an empty part's log-sum-exp is this.",
)
@click.option("--seed", default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the proof as JSON.")
def check(
    where: CaseOptions,
    target: str,
    *,
    replay_file: Path | None,
    time_limit: float,
    device: str,
    arrays: str,
    empty_lse: str | None,
    as_json: bool,
    **asked: object,
) -> int:
    """Measure what is true of a split-K attention implementation.

    TARGET is `numpy`, `torch`, `torch-split`, `triton`, `flashinfer`, `flash-attn`,
    `module:function`, `file.py:function`, or `exec:COMMAND` for a program that speaks npz. A
    function is called as attend(q, k, v, lengths, splits) and returns out or (out, lse).

    \b
    Example:
      exonerate splitk check mykernels.decode:attend
      exonerate splitk check numpy --promise batch-invariant --json
      exonerate splitk check mykernels.decode:merge --merge +inf
      exonerate splitk check mykernels.decode:attend --replay splitk-findings/….npz
    """
    sweep = _sweep(target, asked)
    runner = open_target(
        target,
        arrays=arrays,
        device=device,
        limit_s=time_limit,
        empty_lse=None if empty_lse is None else float(empty_lse),
    )
    progress = Estimate(quiet=as_json)
    try:
        proof = _prove(runner, sweep, replay_file, progress)
    finally:
        progress.done()
        runner.close()
    if where.case is not None:
        _record(proof, where)
    if as_json:
        print_json(proof_document(proof))
    else:
        click.echo(report.text(proof))
    if proof.broken:
        return exit_status.FINDING
    return exit_status.DONE if proof.dtypes else exit_status.INSUFFICIENT


@click.command("bench")
@click.option("--batch", default=8, show_default=True, type=click.IntRange(1))
@click.option("--q-heads", default=32, show_default=True, type=click.IntRange(1))
@click.option("--kv-heads", default=8, show_default=True, type=click.IntRange(1))
@click.option("--dim", default=128, show_default=True, type=click.IntRange(16))
@click.option("--tokens", default=8192, show_default=True, type=click.IntRange(1))
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice(["fp32", "bf16", "fp16"]))
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(1))
@click.option("--splits", default=8, show_default=True, type=click.IntRange(1))
@click.option("--device", default="cpu", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the timings as JSON.")
def bench(
    dtypes: tuple[str, ...], rounds: int, splits: int, device: str, as_json: bool, **sizes: int
) -> int:
    """Time decode attention implementations side by side in one run.

    Rounds alternate between the implementations; speed is relative to torch SDPA with the query
    heads of a group packed as positions, and the machine's memory speed is measured beside it.

    \b
    Example:
      exonerate splitk bench --tokens 8192 --dtype fp32 --dtype bf16
    """
    require("torch")
    from exonerate.kernels.bench import Plan  # needs the optional extra
    from exonerate.kernels.bench import bench as run_bench

    if sizes["q_heads"] % sizes["kv_heads"]:
        raise ExonerateError(
            f"{sizes['q_heads']} query heads do not share {sizes['kv_heads']} KV heads evenly",
            "make --q-heads a multiple of --kv-heads",
        )
    shapes = [DecodeShape(dtype=dtype, **sizes) for dtype in dtypes or ("fp32", "bf16")]
    plan = Plan(shapes=shapes, rounds=rounds, splits=splits, device=device)
    progress = Estimate(quiet=as_json)
    try:
        speed = run_bench(plan, progress)
    finally:
        progress.done()
    if as_json:
        print_json(speed_document(speed))
    else:
        click.echo(bench_report.text(speed))
    return exit_status.DONE


def _prove(runner: Runner, sweep: Sweep, replay_file: Path | None, progress: Estimate) -> Proof:
    if replay_file is not None:
        return replay(runner, sweep, replay_file)
    return prove(runner, sweep, progress)


def _record(proof: Proof, where: CaseOptions) -> None:
    """Add the proof to the case that was named; a check without one writes nothing."""
    ledger, book = where.open_book()
    case = needed_case(ledger, where.case)
    measured = Measurement(
        source=f"splitk check {proof.target}",
        restarts=1,
        design=f"sweep `{proof.level}` of seeded inputs against float64",
        grade="C",
    )
    content = {"splitk_check": proof_document(proof)}
    identity = book.add_measurement(case, measured, content=content, clock=system_clock())
    click.echo(f"added {identity} to case {case.id}", err=True)


def _sweep(target: str, asked: dict[str, object]) -> Sweep:
    promised = list(PROMISED_BY_DEFAULT)
    ulp_allowed = 0.0
    promises = asked.pop("promises")
    assert isinstance(promises, tuple)
    for promise in promises:
        name, _, amount = promise.partition("=")
        if name not in PROMISES or (amount and name != "split-invariant"):
            raise ExonerateError(
                f"`--promise {promise}` is unknown",
                "write split-invariant, split-invariant=K or batch-invariant",
            )
        promised.append(PROMISES[name])
        ulp_allowed = _ulp(promise, amount) if amount else ulp_allowed
    first = bool(asked.pop("first"))
    return Sweep(
        target=target,
        promised=promised,
        ulp_allowed=ulp_allowed,
        stop_at_first=first,
        **asked,  # type: ignore[arg-type]  # click has checked each option's type
    )


def _ulp(promise: str, amount: str) -> float:
    try:
        allowed = float(amount)
    except ValueError:
        allowed = -1.0
    if not allowed > 0:
        raise ExonerateError(f"`--promise {promise}` has no number", "K is a positive number")
    return allowed


class Estimate:
    """Progress with an estimate of the time left, said often on a terminal and seldom elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._line = ProgressLine(quiet=quiet)
        self._began = time.monotonic()
        self._said = self._began
        self._every_s = 0.2 if sys.stderr.isatty() else 10.0

    def __call__(self, what: str, fraction: float | None) -> None:
        """Show what is done now and about how long the rest takes."""
        now = time.monotonic()
        if now - self._said < self._every_s:
            return
        self._said = now
        spent = now - self._began
        left = f", about {spent / fraction - spent:.0f} s left" if fraction and spent > 1 else ""
        self._line(what + left, fraction)

    def done(self) -> None:
        """Leave the terminal's line clean."""
        self._line.done()
