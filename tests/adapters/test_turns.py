"""Turns: one request waits for its first token at a time."""

import asyncio

import pytest
from tests.support.skipped_time import played

from exonerate.adapters.turns import TURN_S_MAX, TURN_S_MIN, Turn, Turns


def test_the_next_goes_when_the_turn_is_given_back() -> None:
    """Giving it back twice gives away nobody else's turn."""

    async def run() -> list[str]:
        turns, seen = Turns(), []
        first, second, third = Turn(turns), Turn(turns), Turn(turns)
        await first.take()

        async def later(turn: Turn, name: str) -> None:
            await turn.take()
            seen.append(name)

        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(later(second, "second"))
            last = group.create_task(later(third, "third"))
            await asyncio.sleep(0)
            assert seen == []
            first.give_back()
            await waiting
            first.give_back()
            await asyncio.sleep(0)
            assert (seen, last.done()) == (["second"], False)
            second.give_back()
        third.give_back()
        return seen

    assert asyncio.run(run()) == ["second", "third"]


def test_a_round_that_hangs_holds_nobody_up() -> None:
    """Its turn ends by itself."""

    async def run() -> bool:
        turns = Turns()
        await Turn(turns).take()
        async with asyncio.timeout(10 * TURN_S_MAX):
            await Turn(turns).take()
        return turns.lock.locked()

    assert played(run())


def test_a_turn_lasts_several_times_as_long_as_any_wait_so_far() -> None:
    """Where answers come at once, a hang holds the others up for a moment only."""

    async def held_s(waits_s: tuple[float, ...]) -> float:
        turns, loop = Turns(), asyncio.get_running_loop()
        for wait_s in waits_s:
            turn = Turn(turns)
            await turn.take()
            await asyncio.sleep(wait_s)
            turn.answered()
            # What follows the first token is nobody's wait.
            await asyncio.sleep(0.3)
            turn.answered()
            turn.give_back()
        await Turn(turns).take()
        begun_s = loop.time()
        await Turn(turns).take()
        return loop.time() - begun_s

    assert played(held_s(())) == pytest.approx(TURN_S_MAX, abs=0.01)
    assert played(held_s((0.001,))) == pytest.approx(TURN_S_MIN, abs=0.01)
    assert played(held_s((0.1, 0.02))) == pytest.approx(0.4, abs=0.01)
    assert played(held_s((3.0, 0.02))) == pytest.approx(TURN_S_MAX, abs=0.01)


def test_a_round_that_hung_is_no_wait_for_an_answer() -> None:
    """It was given back when it was over: that says nothing of how long answers take."""

    async def limit_s() -> float:
        turns = Turns()
        for wait_s in (0.02, 8.0):
            turn = Turn(turns)
            await turn.take()
            await asyncio.sleep(wait_s)
            if wait_s < 1:
                turn.answered()
            turn.give_back()
        return turns.limit_s

    assert played(limit_s()) == pytest.approx(TURN_S_MIN)
