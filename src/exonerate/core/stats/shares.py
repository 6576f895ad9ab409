"""How sure a share is that was counted in a few tries."""

from __future__ import annotations

import math
from statistics import NormalDist


def share_interval(hits: int, tries: int, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share of independent tries (J. Am. Stat. Assoc. 22 (1927) 209)."""
    if tries == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = hits / tries, z * z / tries
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / tries + weight / (4 * tries))
    return max(0.0, middle - half), min(1.0, middle + half)
