"""`splitk fit`: every rule against a throughput table, and how far the best can be believed."""

from __future__ import annotations

from exonerate.core.ports import Progress
from exonerate.core.waves.answers import FitAnswer, FitRequest, WideSearch
from exonerate.core.waves.dips import dips
from exonerate.core.waves.explanations import tried, wide
from exonerate.core.waves.fit import Fit, fit, ranked, smooth
from exonerate.core.waves.model import Machine
from exonerate.core.waves.physical import physical_check
from exonerate.core.waves.redraw import redrawn
from exonerate.core.waves.reselection import reselected, reselected_by_concurrency
from exonerate.core.waves.search import Search
from exonerate.core.waves.separate import experiments
from exonerate.core.waves.significance import (
    shufflings,
    significance,
)
from exonerate.core.waves.table import Table
from exonerate.core.waves.verdict import Findings, judge


def splitk_fit(request: FitRequest, progress: Progress) -> FitAnswer:
    """Fit every rule at once and judge the best."""
    table, machine = request.table, Machine(request.device.slots)
    progress("fitting every rule", 0.0)
    explanations = tried(machine, request.workload, request.costs)
    fits, line = ranked(table, explanations), fit(table, smooth())
    progress("leaving each cell out", 0.2)
    again = reselected(table, explanations)
    progress("asking what chance reaches", 0.3)
    chance = significance(table, explanations, seed=request.seed)
    progress("searching wider than the rules tried", 0.4)
    wider = _wide_search(request, machine)
    physical = physical_check(fits[0], request.device.gpu, request.physical)
    findings = Findings(fits[0], line, (chance.p_corrected, wider.p_corrected), again, physical)
    progress("looking for experiments that decide", 0.9)
    return FitAnswer(
        request,
        fits,
        line,
        chance,
        wider,
        again,
        reselected_by_concurrency(table, explanations),
        redrawn(Search(table, explanations), fits[0], seed=request.seed),
        physical,
        dips(fits[0].cells),
        judge(table, findings),
        experiments(table, fits, line),
        {target: _curve(fits[0], table, target) for target in table.targets},
    )


# Hundreds of patterns on each shuffled table: fewer tables keep the answer within seconds.
_WIDE_SAMPLES = 4000


def _wide_search(request: FitRequest, machine: Machine) -> WideSearch:
    explanations = wide(machine, request.workload)
    search = Search(request.table, explanations)
    return WideSearch(
        len(explanations),
        search.patterns,
        shufflings(
            search,
            request.table,
            seed=request.seed,
            samples=_WIDE_SAMPLES,
            exact_max=_WIDE_SAMPLES,
        ),
    )


_CURVE_POINTS = 256


def _curve(best: Fit, table: Table, target: int) -> tuple[tuple[int, float], ...]:
    low, high = table.concurrencies[0], table.concurrencies[-1]
    step = max(1, (high - low) // _CURVE_POINTS)
    return tuple(
        (c, best.coefficients.throughput(c, best.explanation.time_of(c, target)))
        for c in range(low, high + 1, step)
    )
