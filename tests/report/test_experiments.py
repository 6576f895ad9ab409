"""Answers of jobs as typed values for reports."""

from __future__ import annotations

from exonerate.core.json_types import Json
from exonerate.report.experiments import comparison_view, cure_view, debt_views, document_views


def test_one_run_has_no_interval() -> None:
    """An answer with `ci: null` keeps no interval and stays undecided."""
    answer: dict[str, Json] = {
        "arms": ["256", "512"],
        "blocks": 1,
        "cells": [{"cell": 64, "effect": 0.1, "ci": None, "verdict": "undecided"}],
    }
    view = comparison_view(answer, "now")
    assert view.cells[0].ci is None
    assert view.cells[0].verdict == "undecided"


def test_excluded_dips_are_not_shown() -> None:
    """A dip that the experiment excluded is not told as one."""
    answer: dict[str, Json] = {
        "anomalies": [
            {"arm": "a", "cells": [1, 2], "drop": 0.03, "verdict": "excluded"},
            {"arm": "a", "cells": [2, 3], "drop": 0.04, "verdict": "anomaly"},
        ]
    }
    assert [dip.cells for dip in comparison_view(answer, "now").dips] == [(2.0, 3.0)]


def test_a_missing_price_is_no_price() -> None:
    """An unpriced item has no prices, not a price of zero."""
    answer: dict[str, Json] = {"items": [{"knob": "K", "live": None, "was": "512", "price": []}]}
    (debt,) = debt_views(answer)
    assert debt.prices == ()
    assert debt.live == "absent"
    assert debt.price_class == "unpriced"


def test_odd_answers_give_what_they_hold() -> None:
    """Answers with parts of another type are read as far as they go."""
    odd: dict[str, Json] = {"cells": "x", "primary": 3, "corners": [], "items": [1], "reading": []}
    assert comparison_view(odd, "now").cells == ()
    assert cure_view(odd) is None
    assert debt_views(odd) == ()
    assert document_views(odd) == ()
