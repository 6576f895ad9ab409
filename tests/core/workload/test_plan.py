"""When requests go out."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.workload.plan import (
    ClosedPlan,
    OpenPlan,
    Plan,
    SessionPlan,
    Work,
    constant_offsets,
    poisson_offsets,
)


def take_all(plan: Plan, now_ns: int) -> list[Work]:
    """Everything that is due."""
    taken: list[Work] = []
    while (work := plan.take(now_ns)) is not None:
        taken.append(work)
    return taken


@given(st.integers(1, 20), st.integers(0, 60), st.randoms())
def test_a_closed_loop_keeps_its_concurrency(
    concurrency: int, requests: int, rng: random.Random
) -> None:
    """Never more in flight than asked, never fewer while requests are left, each sent once."""
    plan = ClosedPlan(concurrency=concurrency, requests=requests)
    in_flight: list[Work] = []
    sent: list[int] = []
    now_ns = 1
    while not plan.over() or in_flight:
        taken = take_all(plan, now_ns)
        sent += [work.index for work in taken]
        in_flight += taken
        assert len(in_flight) == min(concurrency, requests - (len(sent) - len(in_flight)))
        if in_flight:
            plan.ended(in_flight.pop(rng.randrange(len(in_flight))), now_ns)
        now_ns += 1
    assert sorted(sent) == list(range(requests))


def test_a_closed_loop_intends_the_next_request_when_the_last_one_ended() -> None:
    """How late the client was is counted from the end of the answer before."""
    plan = ClosedPlan(concurrency=1, requests=2)
    (first,) = take_all(plan, 10)
    plan.ended(first, 50)
    (second,) = take_all(plan, 60)
    assert second.intended_ns == 50


def test_an_open_loop_sends_on_time_whatever_the_answers_do() -> None:
    """Requests are due at their own times and none waits for an answer."""
    plan = OpenPlan([0, 100, 200], begin_ns=1000)
    assert [work.intended_ns for work in take_all(plan, 1150)] == [1000, 1100]
    assert plan.next_due_ns() == 1200
    assert [work.intended_ns for work in take_all(plan, 5000)] == [1200]
    assert plan.over()
    assert plan.next_due_ns() is None


def test_sessions_think_between_their_rounds() -> None:
    """A session sends its next round after its thinking time, then another session begins."""
    plan = SessionPlan(concurrency=1, sessions=2, rounds=2, think_ns=100)
    (first,) = take_all(plan, 10)
    assert take_all(plan, 10) == []
    plan.ended(first, 50)
    assert plan.next_due_ns() == 150
    (second,) = take_all(plan, 150)
    assert (second.lane, second.round_number, second.intended_ns) == (0, 2, 150)
    plan.ended(second, 180)
    (third,) = take_all(plan, 180)
    assert (third.lane, third.round_number) == (1, 1)
    assert not plan.over() or plan.take(10**9) is None


@given(st.floats(0.5, 500), st.integers(200, 400), st.integers(0, 99))
def test_poisson_arrivals_have_their_rate(rate: float, count: int, seed: int) -> None:
    """Seeded, ascending, and at the asked rate within a wide bound."""
    offsets = poisson_offsets(rate, count, random.Random(seed))
    assert offsets == sorted(offsets)
    assert offsets == poisson_offsets(rate, count, random.Random(seed))
    assert 0.6 < count / (offsets[-1] / 1e9) / rate < 1.7


def test_constant_arrivals_are_evenly_spaced() -> None:
    """Ten a second are 100 ms apart."""
    assert constant_offsets(10, 3) == [0, 100_000_000, 200_000_000]
