"""What the stated confidence means."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.world import OK, SILENT, Answer, World, locate_in

from exonerate.core.diagnosis.confidence import CONFIDENCE_MAX, supported


@pytest.mark.parametrize(
    ("posterior", "tries", "stated"),
    [(1.0, 0, 0.5), (1.0, 8, 0.9), (0.96, 8, 0.9), (0.96, 40, 0.96), (1.0, 10_000, 0.99)],
)
def test_few_tries_support_little_however_well_they_fit(
    posterior: float, tries: int, stated: float
) -> None:
    """The posterior, capped by the rule of succession, and never 1."""
    assert supported(posterior, tries) == stated


@given(st.floats(0, 1), st.integers(0, 10**9))
def test_more_tries_never_make_less_sure(posterior: float, tries: int) -> None:
    """It grows with the tries up to the posterior, and stays below certainty."""
    assert supported(posterior, tries) <= supported(posterior, tries + 1) <= CONFIDENCE_MAX


def test_a_quick_verdict_says_less_than_one_of_many_requests() -> None:
    """A refusal that shows with the first requests is stated more modestly than a slow hunt."""
    quick: Any = locate_in(World(lambda a: Answer(status=413) if a.hop == "edge" else OK))
    slow: Any = locate_in(
        World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    )
    for answer in (quick, slow):
        n = answer["requests_sent"]
        assert answer["faults"][0]["confidence"] <= round((n + 1) / (n + 2), 4)
    assert quick["requests_sent"] < slow["requests_sent"]
    assert quick["faults"][0]["confidence"] < slow["faults"][0]["confidence"]
