"""Debt: what every standing revert costs, whatever became of the suspicion behind it.

Rules
-----
1. A revert is listed as long as the live value differs from the one before it. Being refuted,
   supported or forgotten changes `why_listed`, not whether it is listed; being restored ends it.
2. A price comes from graded evidence, the best grade per cell, then the newest. Without any the
   item is `unpriced`, which is not zero. A price from another environment makes it `stale`.
3. One metric prices an item, throughput before latency, so that its cells can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.case.model import Case, Intervention
from exonerate.core.case.prices import METRIC_PREFERENCE, Price, names_knob
from exonerate.core.case.reverts import tested_suspect
from exonerate.core.case.standing import REVERTS, Standing, standing_of
from exonerate.core.json_types import JsonObject

PriceClass: TypeAlias = Literal["priced", "stale", "unpriced"]
DIGITS = 6

_WHY: Mapping[str, str] = {
    "active": "the test was never finished",
    "supported": "the suspicion is supported, and this is what it costs",
    "refuted": "the reason for it is refuted",
    "consistent": "the reason for it was never proved",
    "confounded": "the reason for it cannot be told from other changes",
    "inconclusive": "the test of its reason came to nothing",
    "expired": "its reason has lapsed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtItem:
    """One standing revert with its price per cell."""

    standing: Standing
    hypothesis: str
    prices: tuple[Price, ...]
    price_class: PriceClass
    why_listed: str


def debt(
    cases: Sequence[Case],
    live_values: Mapping[str, str | None],
    prices: Sequence[Price],
    *,
    fingerprint: str | None = None,
) -> tuple[DebtItem, ...]:
    """Every standing revert of the cases, in the order in which they were made.

    Args:
        cases: the folded cases; one knob may have been changed in several.
        live_values: the effective value of each knob that could be read.
        prices: what the evidence says, see `prices_of`.
        fingerprint: the environment of today, to tell a stale price; unknown if None.
    """
    owners = {change.id: case for case in cases for change in case.interventions}
    changes = sorted(
        (change for case in cases for change in case.interventions),
        key=lambda change: change.planned_seq,
    )
    standing = [
        one for one in standing_of(changes, live_values) if one.intervention.type in REVERTS
    ]
    return tuple(
        _item(owners[one.intervention.id], one, _applicable(one, standing, prices), fingerprint)
        for one in standing
    )


def debt_json(items: Sequence[DebtItem]) -> JsonObject:
    """The debt as `debt --json` prints it (`exonerate.debt/1`)."""
    return {"schema": "exonerate.debt/1", "items": [_item_json(item) for item in items]}


def _item(
    case: Case, standing: Standing, prices: Sequence[Price], fingerprint: str | None
) -> DebtItem:
    change = standing.intervention
    chosen = _best_per_cell(prices)
    stale = fingerprint is not None and any(
        price.fingerprint not in {None, fingerprint} for price in chosen
    )
    price_class: PriceClass = "unpriced" if not chosen else "stale" if stale else "priced"
    return DebtItem(
        standing=standing,
        hypothesis=_hypothesis(case, change),
        prices=chosen,
        price_class=price_class,
        why_listed=_why_listed(standing),
    )


def _applicable(one: Standing, every: Sequence[Standing], prices: Sequence[Price]) -> list[Price]:
    """The prices that speak of this knob at these two values.

    A source that names no knob is taken by its values, unless two standing knobs have the same.
    """
    change = one.intervention
    values = (one.live, change.was)
    alike = sum(1 for other in every if (other.live, other.intervention.was) == values)
    return [
        price
        for price in prices
        if (price.live, price.was) == values
        and (names_knob(price.knob, change.knob or "") or (price.knob is None and alike == 1))
    ]


def _best_per_cell(prices: Sequence[Price]) -> tuple[Price, ...]:
    if not prices:
        return ()
    metric = min((price.metric for price in prices), key=_metric_order)
    best: dict[tuple[str, float | str], Price] = {}
    for price in prices:
        known = best.get((price.cell_kind, price.cell))
        better = known is None or (price.grade, known.at) <= (known.grade, price.at)
        if price.metric == metric and better:
            best[price.cell_kind, price.cell] = price
    return tuple(sorted(best.values(), key=lambda price: _cell_order(price.cell)))


def _metric_order(metric: str) -> tuple[int, bool, str]:
    if metric in METRIC_PREFERENCE:
        return METRIC_PREFERENCE.index(metric), False, metric
    return len(METRIC_PREFERENCE), not metric.endswith("_per_s"), metric


def _cell_order(cell: float | str) -> tuple[bool, float, str]:
    return (True, 0.0, cell) if isinstance(cell, str) else (False, float(cell), "")


def _hypothesis(case: Case, change: Intervention) -> str:
    suspect = tested_suspect(case, change)
    return suspect.claim if suspect is not None else change.purpose


def _why_listed(standing: Standing) -> str:
    change = standing.intervention
    why = _WHY[change.state]
    if change.why:
        why = f"{why}: {change.why}"
    if not standing.live_known:
        why = f"{why} (the live value could not be read; the recorded one is used)"
    return why


def _item_json(item: DebtItem) -> JsonObject:
    change = item.standing.intervention
    return {
        "knob": change.knob,
        "live": item.standing.live,
        "live_known": item.standing.live_known,
        "was": change.was,
        "since": change.done_at or change.planned_at,
        "case": change.case,
        "intervention": change.id,
        "service": change.service,
        "hypothesis": item.hypothesis,
        "state": change.state,
        "price": [_price_json(price) for price in item.prices],
        "class": item.price_class,
        "why_listed": item.why_listed,
    }


def _price_json(price: Price) -> JsonObject:
    return {
        "cell": price.cell,
        "cell_kind": price.cell_kind,
        "loss": round(price.loss, DIGITS),
        "ci": None if price.ci is None else [round(bound, DIGITS) for bound in price.ci],
        "grade": price.grade,
        "metric": price.metric,
        "source": price.source,
    }
