"""The schedule of blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.stats.design import schedule

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(1, 8))
def test_each_arm_is_first_as_often_as_the_other(seed: int, blocks: int) -> None:
    """Over the blocks, A is first as often as B, give or take one."""
    planned = schedule(seed=seed, blocks=blocks, arms=("A", "B"), cells=(1,))
    a_first = sum(block.arms == ("A", "B") for block in planned)
    assert abs(2 * a_first - blocks) <= 1
    assert [block.number for block in planned] == list(range(1, blocks + 1))
    assert all(set(block.arms) == {"A", "B"} for block in planned)


@given(SEEDS)
def test_the_same_seed_gives_the_same_schedule(seed: int) -> None:
    """A schedule can be made again from its seed, and every block holds every cell once."""
    made = [schedule(seed=seed, blocks=5, arms=("A", "B"), cells=(1, 8, 64)) for _ in range(2)]
    assert made[0] == made[1]
    assert all(sorted(block.cells) == [1, 8, 64] for block in made[0])


def test_the_odd_block_goes_to_either_arm() -> None:
    """With one block, over many seeds, each arm is first about as often as the other."""
    first = [
        schedule(seed=seed, blocks=1, arms=("A", "B"), cells=(1,))[0].arms[0] for seed in range(400)
    ]
    assert 150 < first.count("A") < 250


def test_neither_the_arms_nor_the_cells_keep_one_order() -> None:
    """Over seeds the order of arms is not always alternating, and cells come in many orders."""
    planned = [schedule(seed=s, blocks=4, arms=("A", "B"), cells=(1, 2, 3)) for s in range(60)]
    assert len({tuple(block.arms for block in blocks) for blocks in planned}) == 6
    assert len({block.cells for blocks in planned for block in blocks}) == 6
