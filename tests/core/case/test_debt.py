"""Debt: every standing revert with its price, and no price where there is no evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from exonerate.core.case.debt import DebtItem, debt, debt_json
from exonerate.core.case.model import Case
from exonerate.core.case.prices import prices_of
from exonerate.core.case.standing import standing_interventions

Fold = Callable[..., Case]
Line = tuple[Any, ...]

KNOB = "SGLANG_SM120_MMA_TARGET_CTAS"

FOUNDING = {48: (684.7, 680.6), 64: (719.5, 811.7), 80: (833.0, 842.7), 96: (799.3, 844.6)}
"""The benchmark document of the founding case: concurrency -> tokens/s at 256 and at 512."""


def change(
    name: str, was: str, to: str, kind: str = "revert", knob: str = KNOB, **done: object
) -> list[Line]:
    planned = {
        "id": name,
        "type": kind,
        "knob": knob,
        "from": was,
        "to": to,
        "purpose": "stop the hang",
    }
    return [
        ("intervention_planned", planned),
        ("intervention_done", {"id": name, "outcome": "committed", "live": to, **done}),
    ]


def document(
    cells: dict[int, tuple[float, float]] | None = None,
    *,
    grade: str = "D",
    metric: str = "output_tokens_per_s",
    name: str = "doc",
    **comparison: object,
) -> Line:
    rows = [
        {"cell": cell, "values": {"256": at_256, "512": at_512}}
        for cell, (at_256, at_512) in (cells or FOUNDING).items()
    ]
    table = {"line": 9, "metric": metric, "arms": ["256", "512"], "cells": rows, "grade": grade}
    reading = {"sources": [{"path": "PLAN.md", "comparisons": [{**table, **comparison}]}]}
    body = {"id": name, "type": "document", "source": "PLAN.md", "grade": grade, "reading": reading}
    return ("evidence_added", body)


def compared(effect: float, ci: list[float] | None, *, blocks: int = 5, **answer: object) -> Line:
    cell = {"cell": 64, "effect": effect, "ci": ci, "verdict": "better"}
    body = {
        "arms": ["256", "512"],
        "blocks": blocks,
        "metric": "output_tokens_per_s",
        "knob": KNOB,
        "cells": [cell],
        **answer,
    }
    return ("verdict", {"id": "v-ab", "job": "ab", "answer": body})


def owed(case: Case, live: dict[str, str | None], **more: Any) -> tuple[DebtItem, ...]:
    return debt([case], live, prices_of([case]), **more)


def item(case: Case, live: dict[str, str | None], **more: Any) -> dict[str, Any]:
    """The only item of the debt, as printed."""
    items = debt_json(owed(case, live, **more))["items"]
    assert isinstance(items, list)
    (only,) = items
    assert isinstance(only, dict)
    return only


def test_founding_case_has_its_price_per_concurrency(folded: Fold) -> None:
    """The reverted knob costs 11.4 % at 64 and 5.4 % at 96, by a document of grade D."""
    found = item(folded(*change("r", "512", "256"), document()), {KNOB: "256"})
    losses = {price["cell"]: price["loss"] for price in found["price"]}
    assert losses == pytest.approx({48: -0.006024, 64: 0.113589, 80: 0.011511, 96: 0.053635})
    assert {(price["grade"], price["ci"]) for price in found["price"]} == {("D", None)}
    assert (found["knob"], found["live"], found["was"]) == (KNOB, "256", "512")
    assert (found["class"], found["hypothesis"]) == ("priced", "stop the hang")


def test_restored_knob_owes_nothing(folded: Fold) -> None:
    """Putting the knob back ends the debt, whether by a command or by hand."""
    reverted = change("r", "512", "256")
    restored = change("b", "256", "512", kind="restore")
    assert owed(folded(*reverted, *restored), {KNOB: "512"}) == ()
    assert owed(folded(*reverted, *restored), {}) == ()
    assert owed(folded(*reverted), {KNOB: "512"}) == ()


def test_restored_knob_that_was_reverted_by_hand_owes_again(folded: Fold) -> None:
    """The live value decides, not what was recorded last."""
    lines = [*change("r", "512", "256"), *change("b", "256", "512", kind="restore")]
    assert item(folded(*lines), {KNOB: "256"})["was"] == "512"


def test_two_reverts_in_a_row_owe_the_whole_way(folded: Fold) -> None:
    """512 to 384 to 256 is one debt from 512, not two."""
    lines = [*change("r1", "512", "384"), *change("r2", "384", "256")]
    assert item(folded(*lines), {KNOB: "256"})["was"] == "512"


def test_revert_of_a_recorded_tuning_is_a_debt(folded: Fold) -> None:
    """Taking back what was tuned up gives something up, though the knob is where it began."""
    lines = [*change("a", "256", "512", kind="apply"), *change("r", "512", "256")]
    assert item(folded(*lines), {KNOB: "256"})["intervention"] == "r"


def test_tuning_is_no_debt_but_still_stands(folded: Fold) -> None:
    """A change that gave nothing up is listed with a conviction and has no price."""
    case = folded(*change("a", "256", "512", kind="apply"))
    assert owed(case, {KNOB: "512"}) == ()
    standing = standing_interventions(case, {KNOB: "512"})
    assert [one.intervention.id for one in standing] == ["a"]


def test_revert_that_a_crash_cut_short_stands_if_it_arrived(folded: Fold) -> None:
    """An intent without an end is a debt where the live value is the one it aimed at."""
    case = folded(change("r", "512", "256")[0])
    assert item(case, {KNOB: "256"})["state"] == "active"
    assert owed(case, {KNOB: "512"}) == ()
    assert owed(case, {}) == ()


def test_refused_and_rolled_back_reverts_owe_nothing(folded: Fold) -> None:
    """A change that was not made costs nothing."""
    for outcome in ("refused", "rolled-back"):
        assert owed(folded(*change("r", "512", "256", outcome=outcome)), {}) == ()


def test_debt_without_evidence_is_unpriced_not_zero(folded: Fold) -> None:
    """Nobody knows the price: the item says so and prints no number."""
    found = item(folded(*change("r", "512", "256")), {KNOB: "256"})
    assert (found["class"], found["price"]) == ("unpriced", [])


def test_grade_e_prices_nothing(folded: Fold) -> None:
    """A number without its environment is no price."""
    case = folded(*change("r", "512", "256"), document(grade="E"))
    assert item(case, {KNOB: "256"})["class"] == "unpriced"


def test_live_value_that_cannot_be_read_is_said(folded: Fold) -> None:
    """Without the file the recorded value is used, and the item says that it is."""
    found = item(folded(*change("r", "512", "256")), {KNOB: None})
    assert (found["live"], found["live_known"]) == ("256", False)
    assert "could not be read" in found["why_listed"]


def test_controlled_comparison_outweighs_the_document(folded: Fold) -> None:
    """Where an A/B measured the cell, its interval is the price there; the rest stays as it is."""
    case = folded(*change("r", "512", "256"), document(), compared(0.128, [0.09, 0.16]))
    by_cell = {price["cell"]: price for price in item(case, {KNOB: "256"})["price"]}
    assert by_cell[64]["grade"] == "A"
    assert by_cell[64]["loss"] == pytest.approx(0.113475)
    assert by_cell[64]["ci"] == pytest.approx([0.082569, 0.137931])
    assert by_cell[96]["grade"] == "D"


def test_comparison_is_read_in_either_direction(folded: Fold) -> None:
    """The standing value may be the candidate of the comparison as well as its baseline."""
    case = folded(*change("r", "256", "512"), compared(-0.2, [-0.3, -0.1]))
    (price,) = item(case, {KNOB: "512"})["price"]
    assert price["loss"] == pytest.approx(0.2)
    assert price["ci"] == pytest.approx([0.1, 0.3])


def test_latency_that_rose_is_a_loss(folded: Fold) -> None:
    """In a metric where lower is better, a higher live value is what was lost."""
    table = document({64: (20.0, 16.0)}, metric="itl_ms_p50")
    (price,) = item(folded(*change("r", "512", "256"), table), {KNOB: "256"})["price"]
    assert price["loss"] == pytest.approx(0.2)


def test_one_metric_prices_an_item(folded: Fold) -> None:
    """Tokens per second and milliseconds are not mixed in one list."""
    latency = document(metric="itl_ms_p50", name="doc2")
    case = folded(*change("r", "512", "256"), latency, document())
    metrics = {price["metric"] for price in item(case, {KNOB: "256"})["price"]}
    assert metrics == {"output_tokens_per_s"}


def test_price_from_another_environment_is_stale(folded: Fold) -> None:
    """A comparison on another driver has a price, and the price is called stale."""
    old = compared(0.128, [0.09, 0.16], fingerprint="driver 1")
    case = folded(*change("r", "512", "256"), old)
    assert item(case, {KNOB: "256"}, fingerprint="driver 1")["class"] == "priced"
    assert item(case, {KNOB: "256"}, fingerprint="driver 2")["class"] == "stale"
    assert item(case, {KNOB: "256"})["class"] == "priced"


def test_document_of_another_knob_prices_nothing(folded: Fold) -> None:
    """A table that names its knob prices only that one, by its full name or the end of it."""
    reverted = change("r", "512", "256")
    other = folded(*reverted, document(knob="UBATCH"))
    assert item(other, {KNOB: "256"})["class"] == "unpriced"
    short = folded(*reverted, document(knob="TARGET_CTAS"))
    assert item(short, {KNOB: "256"})["class"] == "priced"


def test_document_without_a_knob_is_not_guessed_between_two(folded: Fold) -> None:
    """Two standing knobs with the same values: the table cannot be both's price."""
    lines = [*change("r", "512", "256"), *change("o", "512", "256", knob="OTHER")]
    items = owed(folded(*lines, document()), {KNOB: "256", "OTHER": "256"})
    assert [one.price_class for one in items] == ["unpriced", "unpriced"]


def test_copied_table_is_not_a_second_source(folded: Fold) -> None:
    """A pasted copy of a table gives no price of its own."""
    case = folded(*change("r", "512", "256"), document(copy_of="a.md:9"))
    assert item(case, {KNOB: "256"})["class"] == "unpriced"


def test_conviction_lists_every_standing_sacrifice(folded: Fold) -> None:
    """Two settings were given up under one belief: both are listed when it falls."""
    lines = [*change("r", "512", "256"), *change("o", "on", "off", knob="OVERLAP")]
    case = folded(*lines)
    live: dict[str, str | None] = {KNOB: "256", "OVERLAP": "off"}
    listed = [one.intervention.knob for one in standing_interventions(case, live)]
    assert listed == [KNOB, "OVERLAP"]
    live["OVERLAP"] = "on"
    assert [one.intervention.knob for one in standing_interventions(case, live)] == [KNOB]


def test_state_of_the_hypothesis_does_not_end_the_debt(folded: Fold) -> None:
    """A refuted suspicion whose revert still stands is exactly what debt is for."""
    conviction = {"outcome": "fault", "faults": [{"class": "drops-requests", "hops": ["edge"]}]}
    case = folded(
        *change("r", "512", "256"),
        ("intervention_observed", {"id": "r", "symptom": "persists"}),
        ("verdict", {"job": "locate", "answer": conviction}),
    )
    found = item(case, {KNOB: "256"})
    assert found["state"] == "refuted"
    assert "refuted" in found["why_listed"]


@pytest.mark.parametrize(
    "broken",
    [
        {"arms": ["256"]},
        {"arms": "256"},
        {"blocks": None},
        {"knob": "OTHER"},
        {"cells": [{"cell": 64, "effect": None}]},
        {"cells": [{"cell": 64, "effect": -1.0}]},
        {"cells": [{"cell": 64, "effect": 0.1, "verdict": "invalid"}]},
    ],
)
def test_comparison_that_says_nothing_prices_nothing(folded: Fold, broken: dict[str, Any]) -> None:
    """An invalid cell, a missing effect or another knob is no price."""
    case = folded(*change("r", "512", "256"), compared(0.1, None, **broken))
    assert item(case, {KNOB: "256"})["class"] == "unpriced"


@pytest.mark.parametrize("ci", [None, [0.1], "wide", [None, 0.2]])
def test_comparison_without_an_interval_prices_without_one(folded: Fold, ci: Any) -> None:
    """Where no interval was computed none is printed."""
    case = folded(*change("r", "512", "256"), compared(0.1, ci, blocks=1))
    (price,) = item(case, {KNOB: "256"})["price"]
    assert (price["ci"], price["grade"]) == (None, "D")


def test_knob_of_a_comparison_may_stand_in_its_run(folded: Fold) -> None:
    """A comparison whose answer names no knob prices the one its run was asked about."""
    begun = ("run_started", {"job": "ab", "options": {"knob": KNOB}}, "run-1")
    verdict = (*compared(0.1, None, knob=None), "run-1")
    assert item(folded(*change("r", "512", "256"), begun, verdict), {KNOB: "256"})["price"]


def test_cells_with_names_come_after_the_numbers(folded: Fold) -> None:
    """A table may mix concurrencies and words; the order is that of a reader."""
    rows: Any = {"all": (1.0, 2.0), 96: (1.0, 2.0), 8: (1.0, 2.0)}
    prices = item(folded(*change("r", "512", "256"), document(rows)), {KNOB: "256"})["price"]
    assert [price["cell"] for price in prices] == [8, 96, "all"]
