"""Which changes still stand: the live value is not the one that was recorded before them.

A chain of changes of one knob has an *opener*, the change that left the value the knob had before.
A later change back to that value closes the chain; the next one opens another. A revert that closes
a chain which an apply opened (somebody had tuned the knob up, then it was taken back) opens one
itself, because it gives something up. What stands is the last opener, if the live value differs
from what it recorded, whoever changed it: a restored knob that somebody reverted again by hand
stands again. A change whose end is not on record stands if the live value is the one it aimed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exonerate.core.case.model import Case, Intervention

REVERTS: frozenset[str] = frozenset({"revert", "adopt"})
"""The types of intervention that give something up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An intervention that stands, and the value the knob has now.

    `live_known` is False where the live value could not be read and the recorded one is used.
    """

    intervention: Intervention
    live: str | None
    live_known: bool


def standing_interventions(
    case: Case, live_values: Mapping[str, str | None]
) -> tuple[Standing, ...]:
    """Every intervention of the case that still stands; a conviction lists them."""
    return standing_of(case.interventions, live_values)


def standing_of(
    changes: Iterable[Intervention], live_values: Mapping[str, str | None]
) -> tuple[Standing, ...]:
    """What stands among changes given in the order of their records.

    `live_values` holds the effective value of each knob that could be read; a knob that is absent
    from it, or None in it, counts as not read.
    """
    openers: dict[str, Intervention] = {}
    recorded: dict[str, str | None] = {}
    closed: set[str] = set()
    for change in changes:
        if change.knob is None or not _was_made(change, live_values):
            continue
        opener = openers.get(change.knob)
        if opener is None or change.knob in closed:
            openers[change.knob] = change
            closed.discard(change.knob)
        elif change.to == opener.was:
            if change.type in REVERTS and opener.type not in REVERTS:
                openers[change.knob] = change
            else:
                closed.add(change.knob)
        recorded[change.knob] = change.live if change.live is not None else change.to
    found = []
    for knob, opener in openers.items():
        live = live_values.get(knob)
        value = live if live is not None else recorded[knob]
        if value != opener.was:
            found.append(Standing(intervention=opener, live=value, live_known=live is not None))
    return tuple(found)


def _was_made(change: Intervention, live_values: Mapping[str, str | None]) -> bool:
    if change.outcome is None:
        return change.to is not None and live_values.get(change.knob or "") == change.to
    return change.outcome in {"committed", "rollback-failed"}
