"""The lanes of a scene: how many requests of ours are under way at an address.

The victim's own requests are in no lane: there are as many of them as the victim has. All that is
asked at a hop beside them shares one lane, so that it adds one request at most.
"""

from __future__ import annotations

BESIDE_MAX = 1
"""How many requests are under way at a hop beside the victim's own."""


def lane_beside(hop: str) -> str:
    """The lane of all that is asked at a hop beside the victim's own requests."""
    return f"beside@{hop}"


def lane_kept_up(hop: str) -> str:
    """The lane of the answers that are kept under way at a hop, in the place of the victim's."""
    return f"kept@{hop}"
