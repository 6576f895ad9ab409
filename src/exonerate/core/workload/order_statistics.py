"""Quantiles of one run's requests with distribution-free intervals, without numpy.

The load side must stay small (numpy and scipy alone are larger than all the rest of it), so the
few lines that a report of one run needs stand here. An interval is the pair of order statistics
whose ranks enclose n q by the normal approximation of the binomial; where the upper rank would lie
beyond the largest sample there is no interval, and the quantile is not shown: n does not allow it.
The intervals describe *these* requests; another run of the same service moves more than they say.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Z_95 = 1.959964
"""The 97.5 % quantile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile and its 95 % interval; both are None where n does not allow them."""

    q: float
    value: float | None
    low: float | None = None
    high: float | None = None


def quantiles(samples: Iterable[float], wanted: Sequence[float]) -> list[Quantile]:
    """The wanted quantiles of samples, with intervals."""
    ordered = sorted(samples)
    n = len(ordered)
    return [_from_ranks(q, n, lambda rank: ordered[rank]) for q in wanted]


def histogram_quantiles(
    counts: dict[int, int], wanted: Sequence[float], *, independent: int
) -> list[Quantile]:
    """The same from a histogram {value: how often}.

    `independent` is how many samples may be taken as independent (the requests, where the values
    are gaps between tokens): the ranks of the interval are those of so many samples.
    """
    values = sorted(counts)
    cumulated: list[int] = []
    total = 0
    for value in values:
        total += counts[value]
        cumulated.append(total)

    def at(rank: int) -> float:
        # The rank is one of `independent` samples spread evenly over all of them.
        place = (rank + 0.5) / independent * total
        return float(values[_first_at_least(cumulated, place)])

    return [_from_ranks(q, independent if total else 0, at) for q in wanted]


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """The 95 % Wilson interval of a share."""
    if n == 0:
        return None
    share, z2 = hits / n, Z_95 * Z_95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def _from_ranks(q: float, n: int, at: Callable[[int], float]) -> Quantile:
    if n == 0:
        return Quantile(q, None)
    spread = Z_95 * math.sqrt(n * q * (1 - q))
    low, high = math.floor(n * q - spread), math.ceil(n * q + spread) + 1
    value = at(min(n - 1, max(0, math.ceil(n * q) - 1)))
    if low >= 1 and high <= n:
        return Quantile(q, value, at(low - 1), at(high - 1))
    # The median of a few requests is still worth showing; a tail that n does not hold is not.
    return Quantile(q, value if q == 0.5 else None)


def _first_at_least(cumulated: Sequence[int], place: float) -> int:
    return min(bisect.bisect_left(cumulated, place), len(cumulated) - 1)
