"""Where a sequence is cut: by a number of splits, a size of split, or a target of blocks.

    number      chunk = ceil(length / num_splits): the cuts move with the length
    size        chunk = split_size: the cuts stay where they are, which keeps a row's arithmetic the
                same whatever its batch mates are, if tile sizes stay the same too
    target      num_splits = round(target_ctas / base), base = blocks before splitting: the cuts
                depend on how many sequences are in the batch

Stage 1 and the combine must derive the same ranges; both call this file (or its Triton twin).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from exonerate.errors import ExonerateError

SPLITS_MAX = 65_535
"""CUDA's limit for the third axis of a grid (CUDA C++ Programming Guide, compute capabilities)."""

ROUNDINGS: dict[str, Callable[[float], int]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "round": round,
}


@dataclass(frozen=True, slots=True)
class SplitRule:
    """One way to choose the cuts; exactly one of the three is given."""

    num_splits: int | None = None
    split_size: int | None = None
    target_ctas: int | None = None
    rounding: str = "ceil"

    def __post_init__(self) -> None:
        given = [
            (name, value)
            for name, value in (
                ("num_splits", self.num_splits),
                ("split_size", self.split_size),
                ("target_ctas", self.target_ctas),
            )
            if value is not None
        ]
        if len(given) != 1:
            raise ExonerateError(
                f"{len(given)} split rules are given",
                "give one of `num_splits`, `split_size`, `target_ctas`",
            )
        name, value = given[0]
        if value < 1:
            raise ExonerateError(f"`{name}` is {value}", f"`{name}` is at least 1")
        if self.rounding not in ROUNDINGS:
            raise ExonerateError(
                f"`{self.rounding}` is no rounding", f"choose from {', '.join(ROUNDINGS)}"
            )

    def splits(self, *, base_ctas: int, tokens: int) -> int:
        """How many splits the longest sequence of `tokens` gets; never more than it has tokens."""
        if self.num_splits is not None:
            wanted = self.num_splits
        elif self.split_size is not None:
            wanted = math.ceil(tokens / self.split_size)
        else:
            assert self.target_ctas is not None
            wanted = ROUNDINGS[self.rounding](self.target_ctas / max(base_ctas, 1))
        if self.split_size is None:
            wanted = min(wanted, SPLITS_MAX)
        elif wanted > SPLITS_MAX:  # clipping here would leave tokens out
            raise ExonerateError(
                f"{tokens} tokens in splits of {self.split_size} are {wanted} splits",
                f"choose a split size that makes at most {SPLITS_MAX} splits",
            )
        return max(1, min(wanted, tokens))

    def chunk(self, length: int, splits: int) -> int:
        """Tokens a split of a sequence of this length; the last one may have fewer."""
        if self.split_size is not None:
            return self.split_size
        return max(1, math.ceil(length / splits))


def ranges(length: int, chunk: int) -> list[tuple[int, int]]:
    """The non-empty ranges (start, stop) that cover `length` tokens in order."""
    return [(start, min(start + chunk, length)) for start in range(0, length, chunk)]
