"""Walks: from a convicted fault to what it depends on, and where that begins."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in

REFUSED = Answer(status=413, wait_s=0.01, spread_s=0.0)


def details_of(rule: Callable[[Asked], Answer], *, budget_s: float = 120.0) -> Mapping[str, Any]:
    """The details of the one fault that is found in a world."""
    answer: Any = locate_in(World(rule), budget_s=budget_s)
    (fault,) = answer["faults"]
    assert fault["hops"] == ["edge"], answer["paragraph"]
    return {"class": fault["class"], **fault["details"]}


@pytest.mark.parametrize("limit", [1500, 2222, 4096])
@pytest.mark.parametrize("bad", [REFUSED, SILENT])
def test_a_limit_of_the_body_is_found_and_not_taken_for_a_count(limit: int, bad: Answer) -> None:
    """History grows over the limit at some request; small requests pass it by any number."""
    details = details_of(lambda a: bad if a.hop == "edge" and a.body_bytes > limit else OK)
    found = details["request_bytes"]
    assert found["largest_ok"] <= limit < found["smallest_bad"]
    assert found["smallest_bad"] - found["largest_ok"] <= max(32, 0.011 * limit)
    assert "after_requests" not in details
    assert details["depends_on"] == ["the size of the request's body"]


def test_a_count_is_the_same_with_small_bodies_and_without_pauses() -> None:
    """The founding story: neither age nor size are left as a cause."""
    details = details_of(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    assert details["after_requests"] == 3
    assert details["depends_on"] == ["the number of the request on its connection"]


@pytest.mark.parametrize("age_s", [1.3, 2.2])
def test_the_age_of_a_connection_is_found_and_not_taken_for_a_count(age_s: float) -> None:
    """Many quick requests pass, few slow ones do not."""
    details = details_of(lambda a: SILENT if a.hop == "edge" and a.connection_age_s > age_s else OK)
    assert details["depends_on"] == ["the age of the connection"]
    assert details["age_s"]["largest_ok"] <= age_s + 0.05
    assert details["age_s"]["smallest_bad"] >= age_s
    assert "after_requests" not in details


def test_details_never_cost_more_than_the_budget() -> None:
    """Whatever is left of it, the verdict comes in time, with the details that there are."""
    limited = [
        locate_in(
            World(lambda a: SILENT if a.hop == "edge" and a.body_bytes > 4096 else OK),
            budget_s=budget_s,
        )
        for budget_s in (16.0, 24.0, 32.0, 40.0, 120.0)
    ]
    for answer, budget_s in zip(limited, (16.0, 24.0, 32.0, 40.0, 120.0), strict=True):
        assert float(str(answer["elapsed_s"])) <= budget_s
    assert limited[-1]["outcome"] == "fault"
    sent = [int(str(answer["requests_sent"])) for answer in limited]
    assert sent == sorted(sent)
    assert sent[0] < sent[-1]
