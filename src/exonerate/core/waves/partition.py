"""How a batch is cut into CTAs: requests, work units, splits.

A request is `units` independent pieces before splitting (KV heads, head tiles, query tokens). Each
piece is cut along its KV cache into splits; one split of one piece is one CTA. Work is counted in
KV tokens. Requests are launched in the order of the batch; equal neighbours split by split, as a
grid whose fastest axis is the batch does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Batch:
    """One decode step's attention: KV tokens per request, pieces per request, split granularity.

    `tile` is in tokens: a split begins on a multiple of it. 1 means that a split may begin at
    any token, the limit of very long caches.
    """

    lengths: tuple[int, ...]
    units: int
    tile: int

    @property
    def base(self) -> int:
        """CTAs before splitting."""
        return len(self.lengths) * self.units

    @property
    def tokens_mean(self) -> float:
        """Mean KV length of a request."""
        return sum(self.lengths) / len(self.lengths)


@dataclass(frozen=True, slots=True)
class Launch:
    """What a rule may look at besides the batch.

    `budget` is the knob: `TARGET_CTAS` for `target_ctas`, and for the public rules the place of
    the processor count (or grid limit) that they aim at. `slots` are the CTAs that really run at
    the same time. `splits_max` caps splits per request.
    """

    budget: int
    slots: int
    splits_max: int


@dataclass(frozen=True, slots=True)
class Run:
    """`count` CTAs in a row with the same work."""

    tokens: float
    count: int


@dataclass(frozen=True, slots=True)
class Partition:
    """The launch: splits of each request, and the CTAs in launch order."""

    splits: tuple[int, ...]
    runs: tuple[Run, ...]

    @property
    def ctas(self) -> int:
        """Number of CTAs launched."""
        return sum(run.count for run in self.runs)


def split_evenly(batch: Batch, splits: Sequence[int]) -> Partition:
    """Cut each request into about `splits[i]` equal chunks of whole tiles.

    Rounding the chunk up to a tile can leave fewer, never more, chunks than asked for.
    """
    taken: list[int] = []
    runs: list[Run] = []
    for pair, group in groupby(zip(batch.lengths, splits, strict=True)):
        alike = sum(1 for _ in group)
        chunks, whole, rest = _cut(batch, *pair)
        taken += [chunks] * alike
        runs += _repeated(whole, rest, alike)
    return Partition(tuple(taken), tuple(runs))


def _repeated(whole: Run, rest: Run, times: int) -> list[Run]:
    """The CTAs of that many equal neighbours, last chunks last."""
    if whole.count == 0 or whole.tokens == rest.tokens:
        return [Run(rest.tokens, (whole.count + rest.count) * times)]
    return [Run(whole.tokens, whole.count * times), Run(rest.tokens, rest.count * times)]


def _cut(batch: Batch, tokens: int, wanted: int) -> tuple[int, Run, Run]:
    """Number of chunks of one request, its whole chunks and the rest."""
    tiles = max(1, -(-tokens // batch.tile))
    chunk_tiles = -(-tiles // max(1, min(wanted, tiles)))
    chunks = -(-tiles // chunk_tiles)
    chunk = chunk_tiles * batch.tile
    whole = Run(float(chunk), (chunks - 1) * batch.units)
    return chunks, whole, Run(float(tokens - (chunks - 1) * chunk), batch.units)


def balanced(batch: Batch, parts: int) -> Partition:
    """Persistent kernels: `parts` CTAs per unit share all tokens evenly, cutting where they must.

    Splits of a request are those parts that touch it.
    """
    total = sum(batch.lengths)
    if total == 0:
        return split_evenly(batch, [1] * len(batch.lengths))
    splits, begin = [], 0
    for tokens in batch.lengths:
        # Whole numbers: a cut that falls on the end of a request must not count as touching it.
        first = begin * parts // total
        last = -(-(begin + tokens) * parts // total) - 1
        splits.append(max(1, last - first + 1))
        begin += tokens
    return Partition(tuple(splits), (Run(total / parts, parts * batch.units),))
