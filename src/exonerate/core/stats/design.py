"""The order of an experiment: balanced, seeded, fixed before the first restart.

A block is one restart of each arm back to back. Which arm comes first is shuffled under the
condition that each arm is first as often as the other, give or take one: a fixed A B A B order
would count every penalty of the second place as the candidate's. Inside a restart the cells are
shuffled too, the same way for both arms of a block, because an ascending order alone bends a curve.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

BLOCKS_DEFAULT = 5
BLOCKS_MAX = 8


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its number from 1, both arms in the order they run, cells in their order."""

    number: int
    arms: tuple[str, str]
    cells: tuple[int, ...]


def schedule(
    *, seed: int, blocks: int, arms: tuple[str, str], cells: Sequence[int]
) -> tuple[Block, ...]:
    """The blocks of an experiment; the same seed gives the same schedule."""
    rng = random.Random(seed)
    swapped = [index % 2 == 1 for index in range(blocks)]
    if blocks % 2 and rng.random() < 0.5:
        # The odd block out goes to either arm with equal odds.
        swapped = [not swap for swap in swapped]
    rng.shuffle(swapped)
    planned = []
    for number, swap in enumerate(swapped, start=1):
        order = list(cells)
        rng.shuffle(order)
        planned.append(Block(number, (arms[1], arms[0]) if swap else arms, tuple(order)))
    return tuple(planned)
