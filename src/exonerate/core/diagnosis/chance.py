"""How easily chance alone explains a difference between counts."""

from __future__ import annotations

from math import comb


def fisher_one_sided(bad_a: int, tries_a: int, bad_b: int, tries_b: int) -> float:
    """P(at least `bad_a` of the bad tries fall on side A), the margins being fixed.

    Fisher's exact test, one-sided: the hypergeometric tail.
    """
    bad, total = bad_a + bad_b, tries_a + tries_b
    ways = sum(
        comb(tries_a, k) * comb(tries_b, bad - k)
        for k in range(bad_a, min(bad, tries_a) + 1)
        if bad - k <= tries_b
    )
    return ways / comb(total, bad)
