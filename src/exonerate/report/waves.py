"""Terminal reports of `splitk plan` and `splitk fit`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table as RichTable

from exonerate.core.waves.answers import PlanAnswer
from exonerate.core.waves.gpus import Gpu
from exonerate.core.waves.plan import Plan
from exonerate.core.waves.rules import Rule
from exonerate.report.waves_chart import chart

_WIDTH = 100
_SHOWN_MAX = 40


def plan_text(answer: PlanAnswer) -> str:
    """The plan: cells, cliffs, recommendations, what they cost, a chart."""
    parts = [
        _header(answer),
        _cells(answer.plan),
        _cliffs(answer.plan),
        _choices(answer.plan),
        _floors(answer),
        _invariance(answer),
        chart(answer.plan.curves, "relative attention time"),
        "model only, nothing was measured; 1.000 is one unsplit request with a slot to itself",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_text(rules: Sequence[Rule]) -> str:
    """Every rule, what the target stands for in it, and where it was read."""
    rows = [(rule.name, rule.knob or "-", rule.source) for rule in rules]
    rows.append(("num_splits:N", "-", "a fixed number of splits"))
    rows.append(("split_size:N", "-", "a fixed number of tokens per split"))
    width = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"{a:<{width[0]}}  {b:<{width[1]}}  {c}" for a, b, c in rows]
    head = f"{'rule':<{width[0]}}  {'the target is':<{width[1]}}  source"
    return "\n".join([head, *lines]) + "\n"


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table with right-aligned columns, the first one too."""
    table = RichTable(box=None, pad_edge=False, header_style="")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())


def gpu_name(gpu: Gpu) -> str:
    """The GPU's name, and whether it was only assumed."""
    return f"{gpu.name} (assumed)" if gpu.assumed else gpu.name


def percent(fraction: float) -> str:
    """A signed percentage with one decimal."""
    # Adding nothing turns a negative zero into a plain one.
    return f"{round(100 * fraction, 1) + 0.0:+.1f} %"


def _header(answer: PlanAnswer) -> str:
    device, load = answer.device, answer.model.workload
    costs = answer.model.costs
    lines = [
        f"{gpu_name(device.gpu)}: {device.gpu.sms} SMs x {device.ctas_per_sm} CTAs = "
        f"{device.slots} slots   ({device.gpu.source})",
        f"rule {answer.rule.name}, {load.units} work units per request, KV lengths "
        f"{load.lengths.text}, tiles of {load.tile} tokens",
        f"assumed: {100 * costs.per_cta:g} % of a request per CTA, "
        f"{100 * costs.combine:g} % per split in the combine",
    ]
    if device.occupancy is not None:
        fits = device.occupancy
        lines.insert(
            1,
            f"occupancy: {fits.ctas_per_sm} CTAs per SM, limited by {fits.limited_by}, "
            f"{100 * fits.share_of_warps:.0f} % of the warps",
        )
    if answer.rule.knob:
        lines.append(f"the target stands for: {answer.rule.knob}")
    return "\n".join(lines)


def _cells(plan: Plan) -> str:
    rows = (
        (
            str(one.target),
            str(one.concurrency),
            _span(one.splits_min, one.splits_max),
            str(one.ctas),
            f"{one.waves:.2f}",
            f"{100 * one.tail_efficiency:.0f} %",
            f"{one.time:.3f}",
        )
        for one in plan.outcomes
    )
    return grid(("target", "C", "splits", "CTAs", "waves", "tail", "attention"), rows)


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _cliffs(plan: Plan) -> str:
    if not plan.cliffs:
        return "cliffs: none of 5 % or more in this range"
    shown = plan.cliffs[:_SHOWN_MAX]
    lines = [
        f"  target {one.target}: C {one.concurrency} to {one.concurrency + 1}, attention "
        f"{percent(one.rise)} ({one.before.ctas} to {one.after.ctas} CTAs, "
        f"{one.before.waves_whole} to {one.after.waves_whole} waves)"
        for one in shown
    ]
    if len(plan.cliffs) > len(shown):
        lines.append(f"  and {len(plan.cliffs) - len(shown)} more (`--json` has all)")
    return "\n".join(["cliffs (attention time rises by 5 % or more):", *lines])


def _choices(plan: Plan) -> str:
    rows = (
        (
            str(one.concurrency),
            str(one.splits),
            str(one.target),
            f"{one.outcome.time:.3f}",
            f"{one.best_planned.time:.3f} at {one.best_planned.target}",
            percent(-one.saving),
        )
        for one in plan.choices
    )
    columns = ("C", "best splits", "as target", "attention", "best of the targets", "change")
    return "recommended:\n" + grid(columns, rows)


def _floors(answer: PlanAnswer) -> str:
    if not answer.floors_us:
        return ""
    floors = ", ".join(f"C {c}: {floor:.1f} us" for c, floor in answer.floors_us.items())
    return f"bandwidth floor of attention per layer (every unit reads its KV once): {floors}"


def _invariance(answer: PlanAnswer) -> str:
    found = answer.plan.invariance
    counts = ", ".join(str(count) for count in found.splits_seen)
    if len(found.splits_seen) > 1:
        cost = (
            f"price: splits {counts} by concurrency, so a request's sums are taken in another "
            "order when its\nbatch-mates change: not batch-invariant."
        )
    else:
        cost = f"price: the count is the same, {counts}, at every concurrency planned."
    return (
        f"{cost} A fixed split size is invariant; the best one,\n`split_size:{found.size}`, takes "
        f"{percent(found.size_cost)} attention time on average, "
        f"{percent(found.size_cost_max)} at worst.\n"
        f"The rule in use: {answer.rule.invariance}."
    )
