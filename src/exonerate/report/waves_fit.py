"""Terminal report of `splitk fit`: the best rule, and every reason not to believe it."""

from __future__ import annotations

from exonerate.core.waves.answers import FitAnswer
from exonerate.core.waves.redraw import Redrawn
from exonerate.core.waves.separate import NOISE_ASSUMED, Experiment, ab_command
from exonerate.core.waves.significance import Shuffling
from exonerate.report.waves import gpu_name, grid, percent
from exonerate.report.waves_chart import chart

_RUNNERS_UP = 5


def fit_text(answer: FitAnswer) -> str:
    """The verdict first, then what it rests on."""
    parts = [
        f"verdict: {answer.verdict.sentence}",
        _best(answer),
        _cells(answer),
        _dips(answer),
        _runners_up(answer),
        _chance(answer),
        _physical(answer),
        _requirements(answer),
        _experiments(answer),
        chart(answer.curves, "fitted tokens/s"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _best(answer: FitAnswer) -> str:
    best, device = answer.best, answer.request.device
    a = best.coefficients
    sign = "-" if a.per_request_ms < 0 else "+"
    mean = sum(cell.measured for cell in best.cells) / len(best.cells)
    return "\n".join(
        [
            f"best rule: {best.explanation.name}, base {best.explanation.units} per request, "
            f"{device.slots} slots ({gpu_name(device.gpu)})",
            f"  step = {a.fixed_ms:.1f} ms {sign} {abs(a.per_request_ms):.3f} ms x C "
            f"+ {a.attention_ms:.1f} ms x relative attention",
            f"  error {best.rmse:.1f} tokens/s ({100 * best.rmse / mean:.1f} %), at most "
            f"{best.error_max:.1f}; of cells left out {best.rmse_left_out:.1f}; "
            f"without waves {answer.smooth.rmse:.1f}",
            f"  {len(best.cells)} cells, 3 constants fitted and 1 rule chosen among "
            f"{answer.significance.rules_tried} ({answer.significance.patterns} differ here)",
            *([f"  the same on this table: {', '.join(best.same_as)}"] if best.same_as else []),
        ]
    )


def _cells(answer: FitAnswer) -> str:
    rows = (
        (
            str(cell.target),
            str(cell.concurrency),
            f"{cell.measured:.1f}",
            f"{cell.fitted:.1f}",
            f"{cell.left_out:.1f}",
            f"{cell.relative:.3f}",
            f"{100 * cell.attention_share:.0f} %",
        )
        for cell in answer.best.cells
    )
    columns = ("target", "C", "measured", "fitted", "left out", "attention", "of step")
    return grid(columns, rows)


def _dips(answer: FitAnswer) -> str:
    lines = [
        f"  target {dip.target}, C {dip.concurrency} to {dip.concurrency_next}: measured "
        f"{percent(dip.measured)}, fitted {percent(dip.fitted)}: "
        f"{'reproduced' if dip.reproduced else 'not reproduced'}"
        for dip in answer.dips
    ]
    targets = {dip.target for dip in answer.dips}
    lines += [
        f"  target {target}: no dip, measured or fitted"
        for target in answer.request.table.targets
        if target not in targets
    ]
    return "\n".join(["dips:", *lines])


def _runners_up(answer: FitAnswer) -> str:
    rows = [
        (one.explanation.label, f"{one.rmse:.1f}", f"{one.rmse_left_out:.1f}")
        for one in answer.fits[: 1 + _RUNNERS_UP]
    ]
    smooth = answer.smooth
    rows.append((smooth.explanation.name, f"{smooth.rmse:.1f}", f"{smooth.rmse_left_out:.1f}"))
    return grid(("rule", "error", "left out"), rows) + "\n" + _chosen_again(answer)


def _chosen_again(answer: FitAnswer) -> str:
    label = answer.best.explanation.label
    lines = [
        f"  chosen again without each {what} in turn: {one.same(label)} of {len(one.chosen)}; "
        f"error of those predictions {one.rmse:.1f} tokens/s"
        for what, one in (
            ("cell", answer.reselection),
            ("concurrency", answer.by_concurrency),
        )
    ]
    return "\n".join(lines)


def _chance(answer: FitAnswer) -> str:
    found = answer.significance
    low, middle, high = found.random_rmse
    share = found.random_share
    as_good = f"{100 * share:.2g} %" if share else "none"
    return "\n".join(
        [
            f"chance: p = {found.p_corrected:.2g}, corrected for the {found.rules_tried} rules "
            f"tried; {answer.wide.p_corrected:.2g} for the {answer.wide.explanations} that a "
            "longer search could try",
            *(_shuffling(one, found.rules_tried) for one in found.shufflings),
            *(_shuffling(one, answer.wide.explanations) for one in answer.wide.shufflings),
            f"  random tables of the same range: the best rule reaches {middle:.0f} tokens/s "
            f"(90 % within {low:.0f} to {high:.0f}),",
            f"  {as_good} of {found.random_tables} fits as well as this table",
            *(_redrawn(one) for one in answer.redrawn),
            "  no correction covers a rule that was proposed after looking at this table",
        ]
    )


def _shuffling(one: Shuffling, tried: int) -> str:
    how = "all" if one.exact else "a sample of"
    return (
        f"  {one.null} shuffled, {how} {one.tables} orders, {tried} rules: p = "
        f"{one.p_corrected:.2g} (leader alone {one.p_alone:.2g}, least possible {one.p_floor:.1g})"
    )


def _redrawn(one: Redrawn) -> str:
    apart = ", ".join(str(concurrency) for concurrency in one.concurrencies_apart) or "none"
    return (
        f"  at {100 * one.noise:.0f} % noise per cell (assumed) this rule, if true, is found again "
        f"in {100 * one.found_again:.0f} % of tables; targets differ at C {apart}"
    )


def _physical(answer: FitAnswer) -> str:
    check = answer.physical
    lines = [
        f"physical check: {check.state}; {check.why}",
        f"  {check.attention_ms_min:.0f} to {check.attention_ms_max:.0f} ms of attention per step",
    ]
    if check.tokens_implied is not None:
        lines.append(
            f"  at a fair share of the bandwidth an unsplit CTA would read "
            f"{check.tokens_implied:,.0f} KV tokens per layer"
        )
    elif check.state == "unverified":
        lines.append("  `--layers` and `--bytes-per-token` say how many KV tokens that would be")
    return "\n".join(lines)


def _requirements(answer: FitAnswer) -> str:
    lines = (
        f"  {'met    ' if one.met else 'not met'}  {one.what}: {one.found}"
        for one in answer.verdict.requirements
    )
    return "\n".join(["to be accepted:", *lines])


def _experiments(answer: FitAnswer) -> str:
    if not answer.experiments:
        return "experiments: no rule beats the straight line, so none would separate them"
    lines = ["cheapest experiments that would decide:"]
    for one in answer.experiments:
        lines += _experiment(one, answer)
    return "\n".join(lines)


def _experiment(one: Experiment, answer: FitAnswer) -> list[str]:
    rivals = sorted(one.rivals, key=lambda rival: rival.change)
    low, high = rivals[0], rivals[-1]
    others = (
        f"{low.label} {percent(low.change)}"
        if low is high
        else f"{len(rivals)} rivals {percent(low.change)} to {percent(high.change)}"
    )
    blocks = (
        f"{one.blocks} blocks suffice at {100 * NOISE_ASSUMED:.0f} % noise per cell"
        if one.blocks
        else f"not decided within 8 blocks at {100 * NOISE_ASSUMED:.0f} % noise per cell"
    )
    return [
        f"  {one.purpose}: C = {one.cells[0]} against {one.cells[1]} at target {one.target}",
        f"    {one.leader.label} {one.leader.before:.0f} to {one.leader.after:.0f} tokens/s, "
        f"{percent(one.leader.change)}; {others}; {blocks}",
        f"    {ab_command(one, answer.request.knob)}",
    ]
