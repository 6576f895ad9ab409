"""How far sessions have come, and who waits for that."""

import asyncio

from tests.support.skipped_time import played

from exonerate.adapters.headway import Headway


def test_a_round_is_waited_for_until_it_was_sent_or_never_will_be() -> None:
    """A later round tells that the earlier ones were sent, the end that nothing more comes."""

    async def run() -> list[str]:
        headway, seen = Headway(), []

        async def wait(name: str, number: int) -> None:
            await headway.until_sent(name, number)
            seen.append(f"{name} {number}")

        async with asyncio.TaskGroup() as group:
            for number in (1, 2, 3):
                group.create_task(wait("walk", number))
            group.create_task(wait("never begun", 1))
            await asyncio.sleep(0.1)
            assert seen == []
            headway.sent("walk", 2)
            await asyncio.sleep(0.1)
            assert seen == ["walk 1", "walk 2"]
            headway.over("walk")
            headway.over("never begun")
        await headway.until_sent("walk", 99)
        return seen[2:]

    assert sorted(played(run())) == ["never begun 1", "walk 3"]
