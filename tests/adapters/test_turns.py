"""Turns: one request waits for its first token at a time."""

import asyncio

from tests.support.skipped_time import played

from exonerate.adapters import turns
from exonerate.adapters.turns import Turn


def test_the_next_goes_when_the_turn_is_given_back() -> None:
    """Giving it back twice gives away nobody else's turn."""

    async def run() -> list[str]:
        lock, seen = asyncio.Lock(), []
        first, second, third = Turn(lock), Turn(lock), Turn(lock)
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
        lock = asyncio.Lock()
        await Turn(lock).take()
        async with asyncio.timeout(10 * turns.TURN_S):
            await Turn(lock).take()
        return lock.locked()

    assert played(run())
