"""The conditions of the sweep: each stands for a way in which a split-K implementation has failed.

The failures are public ones, of engines and attention libraries; where a trial mirrors a report it
is named in `why`. A trial asks as little of memory and time as shows the failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exonerate.core.exactness import Property
from exonerate.kernels.attention_input import AttentionInput
from exonerate.kernels.number_formats import number_format, round_to
from exonerate.kernels.prover.trial import Trial

Float32Array = NDArray[np.float32]

LEVELS = ("quick", "default", "full")
RIGHT = frozenset({Property.ACCURATE, Property.SAME_CLASS})
PLAIN = RIGHT | {Property.DETERMINISTIC, Property.READS_WITHIN_LENGTH, Property.SPLIT_INVARIANT}
CLASS = frozenset({Property.SAME_CLASS})
MATES = frozenset({Property.BATCH_INVARIANT})


@dataclass(slots=True)
class Maker:
    """Seeded inputs of one number format."""

    dtype: str
    rng: np.random.Generator

    def normal(self, *shape: int) -> Float32Array:
        """Standard normal values on the grid of the format."""
        return round_to(self.rng.standard_normal(shape), self.dtype)

    def ragged(
        self,
        lengths: Sequence[int],
        *,
        heads: tuple[int, int] = (2, 1),
        dim: int = 16,
        dim_v: int | None = None,
        capacity: int | None = None,
    ) -> AttentionInput:
        """Normal q, k and v; heads = (query heads, KV heads)."""
        tokens = max(lengths) + 3 if capacity is None else capacity
        return AttentionInput(
            q=self.normal(len(lengths), heads[0], dim),
            k=self.normal(len(lengths), tokens, heads[1], dim),
            v=self.normal(len(lengths), tokens, heads[1], dim if dim_v is None else dim_v),
            lengths=np.array(lengths, np.int64),
            dtype=self.dtype,
        )

    def scored(self, scores: Sequence[float], *, dim: int = 16) -> AttentionInput:
        """One sequence whose token t has exactly the score that is given (q has one non-zero)."""
        given = self.ragged([len(scores)], dim=dim)
        q, k = np.zeros_like(given.q), np.zeros_like(given.k)
        largest = max((abs(s) for s in scores if math.isfinite(s)), default=1.0)
        q[..., 0] = 2.0 ** math.ceil(math.log2(max(largest, 1.0)) / 2)
        wanted = np.array(scores) * math.sqrt(dim) / q[0, 0, 0]
        k[0, : len(scores), 0, 0] = round_to(wanted, self.dtype)
        return replace(given, q=q, k=k)


Builder = Callable[[Maker], Iterator[Trial]]


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of the catalogue."""

    name: str
    why: str
    build: Builder
    level: str = "quick"


CONDITIONS: list[Condition] = []


def condition(name: str, why: str, level: str = "quick") -> Callable[[Builder], Builder]:
    """Enter a builder of trials into the catalogue."""

    def enter(build: Builder) -> Builder:
        CONDITIONS.append(Condition(name, why, build, level))
        return build

    return enter


def why(name: str) -> str:
    """What the condition of that name stands for; empty when there is none."""
    return next((entry.why for entry in CONDITIONS if entry.name == name), "")


def entries(level: str, names: Sequence[str] = ()) -> list[Condition]:
    """The conditions of a level, in the order of the catalogue; only the named ones if any are."""
    chosen = LEVELS[: LEVELS.index(level) + 1]
    return [
        entry
        for entry in CONDITIONS
        if entry.level in chosen and (not names or entry.name in names)
    ]


def trials_of(entry: Condition, dtype: str, *, seed: int) -> Iterator[Trial]:
    """The trials of one condition for one number format."""
    # Each condition has a generator of its own: adding one leaves the others as they were.
    own = [seed, *entry.name.encode()]
    for made in entry.build(Maker(dtype, np.random.default_rng(own))):
        yield replace(made, condition=entry.name)


def trial(
    given: AttentionInput, splits: Sequence[int], checks: frozenset[Property], **more: bool
) -> Trial:
    """A trial whose condition is filled in by the catalogue."""
    plain = Trial(condition="", given=given, splits=tuple(splits), checks=checks)
    return replace(plain, **more)  # type: ignore[arg-type]  # the flags are all that is given


@condition("plain", "grouped heads, ragged lengths, cuts that do not divide the lengths")
def _plain(make: Maker) -> Iterator[Trial]:
    yield trial(make.ragged([37, 64, 1]), (1, 2, 3, 8), PLAIN, curve=True, with_out=False)
    yield trial(make.ragged([29, 48], heads=(4, 2)), (1, 2, 5), PLAIN)


@condition("empty-split", "more splits than tokens: trailing splits have nothing (pegainfer #21)")
def _empty_split(make: Maker) -> Iterator[Trial]:
    yield trial(make.ragged([5, 3]), (1, 2, 4, 7, 16), PLAIN)
    yield trial(make.ragged([1]), (1, 2, 9), RIGHT)
    # ceil(9 / 4) = 3 tokens a split fill three splits and leave the fourth empty.
    yield trial(make.ragged([9, 33]), (1, 4, 6), PLAIN)


@condition("zero-length", "padding rows of a captured graph (vllm #57094, sglang #26521)")
def _zero_length(make: Maker) -> Iterator[Trial]:
    yield trial(make.ragged([0, 19, 0, 7]), (1, 2, 4), PLAIN)
    yield trial(make.ragged([0, 0], capacity=4), (1, 3), RIGHT)


@condition("masked-split", "every score of one split is -inf (flashinfer #4051, vllm #28181)")
def _masked_split(make: Maker) -> Iterator[Trial]:
    if not number_format(make.dtype).has_infinity:
        return
    for masked in (slice(0, 8), slice(8, 16)):
        given = make.ragged([16, 16])
        q, k = given.q.copy(), given.k.copy()
        q[..., 0] = 1.0
        k[:, masked, :, 0] = -np.inf
        yield trial(replace(given, q=q, k=k), (1, 2, 4, 8), RIGHT | {Property.DETERMINISTIC})


@condition("masked-row", "every score of a row is -inf (vllm #27491, flashinfer #4452)")
def _masked_row(make: Maker) -> Iterator[Trial]:
    if not number_format(make.dtype).has_infinity:
        return
    given = make.ragged([12])
    q, k = given.q.copy(), given.k.copy()
    q[..., 0] = 1.0
    k[..., 0] = -np.inf
    yield trial(replace(given, q=q, k=k), (1, 2, 3), CLASS)


@condition("offset", "scores with a large common offset: log(l) drowns in m of a log-sum-exp")
def _offset(make: Maker) -> Iterator[Trial]:
    for offset in (1e4, 1e6, 1e8, -1e4, -1e8):
        for tokens in (5, 21) if offset > 0 else (7,):
            given = make.scored([offset] * tokens)
            if not np.all(np.isfinite(given.k)):
                continue  # past the range of the format
            yield trial(given, (1, 2, 3, 4), RIGHT, exact_scores=True)


@condition(
    "levels", "sequences and heads whose scores lie far apart: a maximum of its own for each"
)
def _levels(make: Maker) -> Iterator[Trial]:
    given = make.ragged([20, 13, 9], heads=(4, 2))
    q, k = given.q.copy(), given.k.copy()
    k[..., 0] = 4.0
    q[..., 0] = np.array([[60, -60, 0, 30], [-60, -60, 90, 0], [0, 60, -90, 60]], np.float32)
    yield trial(replace(given, q=q, k=k), (1, 2, 4), RIGHT)


@condition("nan-neighbour", "a sequence that holds NaN beside one that does not (vllm #57017)")
def _nan_neighbour(make: Maker) -> Iterator[Trial]:
    given = make.ragged([14, 14, 6])
    k, v = given.k.copy(), given.v.copy()
    k[0, 3], v[2, 1] = np.nan, np.nan
    yield trial(replace(given, k=k, v=v), (1, 2, 4), RIGHT)


@condition("negligible-huge", "huge values at tokens of weight 2**-200, alone in a split")
def _negligible_huge(make: Maker) -> Iterator[Trial]:
    given = make.scored([0.0] * 6 + [-200 * math.log(2)] * 2)
    v = given.v.copy()
    v[:, 6:8] = round_to(np.full_like(v[:, 6:8], number_format(make.dtype).largest), make.dtype)
    yield trial(replace(given, v=v), (1, 2, 4, 8), CLASS)


@condition("peaked", "scores in the thousands: all weight on one token")
def _peaked(make: Maker) -> Iterator[Trial]:
    given = make.ragged([40])
    yield trial(replace(given, q=round_to(given.q * 300, make.dtype)), (1, 2, 7), RIGHT)


@condition("denormal", "keys and values below the normal range")
def _denormal(make: Maker) -> Iterator[Trial]:
    given = make.ragged([18, 5])
    small = number_format(make.dtype).smallest_normal / 64
    k, v = round_to(given.k * small, make.dtype), round_to(given.v * small, make.dtype)
    yield trial(replace(given, k=k, v=v), (1, 2, 4), RIGHT)


@condition("overflow", "scores past float32: wrong at one split too, so no effect of splitting")
def _overflow(make: Maker) -> Iterator[Trial]:
    given = make.ragged([12])
    huge = 1e20 if make.dtype != "fp16" else 6e4
    q, k = round_to(np.abs(given.q) * huge, make.dtype), round_to(given.k * huge, make.dtype)
    yield trial(replace(given, q=np.clip(q, -huge, huge), k=k), (1, 2, 3), frozenset())


@condition("nan-inside", "NaN and infinity within the length: every split count must pass them on")
def _nan_inside(make: Maker) -> Iterator[Trial]:
    infinite = number_format(make.dtype).has_infinity
    for value in (np.nan, np.inf) if infinite else (np.nan,):
        given = make.ragged([14])
        v, k = given.v.copy(), given.k.copy()
        v[0, 3] = value
        yield trial(replace(given, v=v), (1, 2, 4), CLASS)
        k[0, 9] = value
        yield trial(replace(given, k=k), (1, 2, 4), CLASS)


@condition("heads", "one KV head a query head, one for all, and more than a tile of 16")
def _heads(make: Maker) -> Iterator[Trial]:
    for heads in ((4, 4), (3, 1), (17, 1), (12, 3), (40, 1)):
        yield trial(make.ragged([21, 6], heads=heads), (1, 2, 5), RIGHT)


@condition("dimensions", "dims that are no powers of two; a latent cache, where v is part of k")
def _dimensions(make: Maker) -> Iterator[Trial]:
    yield trial(make.ragged([18], dim=20), (1, 3), RIGHT, optional=True)
    yield trial(make.ragged([18], dim=24, dim_v=8), (1, 3), RIGHT, optional=True)
    latent = make.ragged([25, 9], heads=(4, 1), dim=40, dim_v=32)
    shared = replace(latent, v=latent.k[..., :32].copy())
    yield trial(shared, (1, 2, 4), RIGHT, optional=True)


@condition("layout", "strides other than contiguous (FlagGems #5235, strides of k used for v)")
def _layout(make: Maker) -> Iterator[Trial]:
    for layout in ("transposed", "padded", "mixed"):
        given = replace(make.ragged([23, 11], heads=(4, 2)), layout=layout)
        yield trial(given, (1, 2, 5), RIGHT)


@condition("far", "offsets past int32 (llama.cpp #24912)")
def _far(make: Maker) -> Iterator[Trial]:
    given = replace(make.ragged([9, 4, 6], dim=16), layout="far")
    yield trial(given, (1, 2), RIGHT, with_out=False)


@condition("replanned", "same shapes, other lengths or values than the call before")
def _replanned(make: Maker) -> Iterator[Trial]:
    given = make.ragged([11, 40, 3])
    before = make.ragged([40, 7, 29])
    yield replace(trial(given, (1, 2, 5), RIGHT | {Property.DETERMINISTIC}), before=before)


@condition("mates", "a sequence alone and among others (FlashMLA #212)")
def _mates(make: Maker) -> Iterator[Trial]:
    yield trial(make.ragged([33, 60, 5, 1]), (1, 2, 4), MATES)
    yield trial(make.ragged([17, 0, 44]), (3,), MATES)


@condition("lengths", "one token around powers of two, where tiles and pages end")
def _lengths(make: Maker) -> Iterator[Trial]:
    edges = [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129]
    yield trial(make.ragged(edges, heads=(1, 1), dim=16), (1, 2, 4, 16), RIGHT)


@condition("batch-threshold", "batches around 64 and 128, where engines change paths")
def _batch_threshold(make: Maker) -> Iterator[Trial]:
    for batch in (63, 64, 65, 129):
        lengths = [int(n) for n in make.rng.integers(0, 10, batch)]
        given = make.ragged(lengths, heads=(1, 1), dim=8, capacity=12)
        yield trial(given, (1, 3), RIGHT | MATES, optional=True)


CURVE_SPLITS = (1, 2, 3, 4, 8, 16, 17, 32, 64, 133)


@condition("long", "thousands of tokens: what splitting does to the error", level="default")
def _long(make: Maker) -> Iterator[Trial]:
    yield trial(make.ragged([2048], heads=(4, 1), dim=64), CURVE_SPLITS, PLAIN, curve=True)
    even = make.scored([0.0] * 4096)  # equal weights: a sum in 16 bits stops growing
    yield trial(even, (1, 2, 16), RIGHT, exact_scores=True)


@condition("wide", "the shape of a decode step, small", level="default")
def _wide(make: Maker) -> Iterator[Trial]:
    edges = [255, 256, 257, 511, 512, 513, 1023, 1025]
    yield trial(make.ragged(edges, heads=(2, 1), dim=32), (1, 2, 9, 40), RIGHT)
    yield trial(make.ragged([40, 17], heads=(64, 8), dim=128), (1, 3), RIGHT)
    given = make.ragged([300, 257, 64], heads=(16, 4), dim=64)
    yield trial(given, (1, 2, 3, 5, 17, 64), PLAIN | MATES)


@condition("past-64k", "more tokens than 16 bits count (vllm PR 15: silent above 64k)", "default")
def _past_64k(make: Maker) -> Iterator[Trial]:
    given = make.ragged([66_000], heads=(1, 1), dim=8)
    yield trial(given, (1, 2, 7), RIGHT)


@condition("repeated", "the same call again and again, with others between", level="default")
def _repeated(make: Maker) -> Iterator[Trial]:
    for tokens in (50, 51, 200):
        given = make.ragged([tokens, tokens - 1])
        plain = trial(given, (3, 32), frozenset({Property.DETERMINISTIC}))
        yield replace(plain, repeats=8)


@condition("random", "random shapes, lengths and split counts", level="default")
def _random(make: Maker) -> Iterator[Trial]:
    yield from _random_trials(make, 6)


@condition("random-more", "many more random shapes, lengths and split counts", level="full")
def _random_more(make: Maker) -> Iterator[Trial]:
    yield from _random_trials(make, 100)


def _random_trials(make: Maker, count: int) -> Iterator[Trial]:
    for _ in range(count):
        kv_heads = int(make.rng.integers(1, 5))
        group = int(make.rng.integers(1, 9))
        lengths = [int(n) for n in make.rng.integers(0, 200, int(make.rng.integers(1, 6)))]
        given = make.ragged(lengths, heads=(kv_heads * group, kv_heads), dim=32)
        splits = (1, *sorted({int(s) for s in make.rng.integers(2, 70, 3)}))
        yield trial(given, splits, PLAIN | MATES)
