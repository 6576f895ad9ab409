"""What a table of trials shows of its own design: order, completeness, regimes of restarts."""

from __future__ import annotations

import numpy as np

from exonerate.core.experiment.gate import Gate
from exonerate.core.stats.regimes import two_regimes, unseen_regime_rate_max
from exonerate.core.stats.trials import TrialTable

UNSEEN_IN_A_TABLE = (
    ("errors", "failed requests"),
    ("tokens", "how many tokens each arm produced"),
    ("environment", "what value each worker process got"),
    ("in-flight", "how many requests were in flight"),
    ("instrument", "whether the client kept up"),
    ("steady-state", "whether the cells were warm"),
)


def order_gate(table: TrialTable) -> Gate:
    """Whether each arm came first in a block as often as the other, give or take one."""
    known = table.first[~np.isnan(table.first)]
    baseline_first = int((known == 0).sum())
    candidate_first = int((known == 1).sum())
    counts = (
        f"{table.arms[0]} ran first in {baseline_first} and {table.arms[1]} in "
        f"{candidate_first} of {len(table.blocks)} blocks"
    )
    if baseline_first + candidate_first == 0:
        return Gate("order", "not_examined", "the order inside the blocks is not told")
    if abs(baseline_first - candidate_first) <= 1:
        return Gate("order", "kept", counts)
    why = f"{counts}: whatever the second place costs is counted as an effect"
    return Gate("order", "doubtful", why)


def gates_of_table(table: TrialTable) -> tuple[Gate, ...]:
    """The gates of trials recorded elsewhere: the order, and all that they cannot show."""
    unseen = (
        Gate(name, "not_examined", f"a table of trials does not show {what}")
        for name, what in UNSEEN_IN_A_TABLE
    )
    return (order_gate(table), *unseen)


def warnings_of(table: TrialTable) -> tuple[str, ...]:
    """What a reader of the result has to know of the trials, one sentence each."""
    return (*_missing(table), *_regimes(table))


def not_examined_of(table: TrialTable) -> tuple[str, ...]:
    """What no comparison of these trials can see."""
    rate = unseen_regime_rate_max(len(table.blocks))
    return (
        f"a regime of restarts rarer than {100 * rate:.0f} % may never have come up",
        "a bias that both arms share",
        "other workloads, concurrencies and hosts than these",
        "tail latency and the quality of the output",
    )


def _missing(table: TrialTable) -> tuple[str, ...]:
    found = []
    for at, cell in enumerate(table.cells):
        gaps = np.isnan(table.log_values[:, :, at])
        for arm, block in np.argwhere(gaps & ~gaps.all(axis=0)):
            found.append(
                f"block {table.blocks[block]} has no {table.arms[arm]} at C{cell}; "
                "the block is left out there"
            )
    return tuple(found)


def _regimes(table: TrialTable) -> tuple[str, ...]:
    found = []
    for arm, name in enumerate(table.arms):
        values = table.log_values[arm]
        complete = values[~np.isnan(values).any(axis=1)]
        regimes = two_regimes(complete.mean(axis=1)) if complete.size else None
        if regimes is not None:
            found.append(
                f"two regimes seen in {name}: {regimes.restarts_low} restarts lie "
                f"{100 * np.expm1(regimes.gap):.1f} % below the other {regimes.restarts_high}"
            )
    return tuple(found)
