"""What a comparison comes to as a whole; fails closed on guards and on any cell that lost."""

from __future__ import annotations

from typing import Any

from exonerate.core.json_types import JsonObject
from exonerate.core.stats.verdicts import VerdictName


def outcome_of(answer: JsonObject) -> VerdictName:
    """The verdict that decides over the exit status.

    It is the primary one, with two exceptions that never turn a bad answer into a good one: a
    cell that is proven worse makes it worse, and a guard that is not cleared takes away a better
    or flat.
    """
    tree: Any = answer
    primary: VerdictName = tree["primary"]["verdict"]
    if primary == "invalid":
        return primary
    if any(cell["verdict"] == "worse" for cell in tree["cells"]):
        return "worse"
    uncleared = any(guard["verdict"] != "no regression shown" for guard in tree["guards"])
    return "undecided" if uncleared and primary in ("better", "flat") else primary
