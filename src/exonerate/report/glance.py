"""The case at a glance: four tiles that say who, who not, what it costs and whether it is cured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.report.experiments import CureCorner, CureView, DebtView, DipView
from exonerate.report.phrases import listed, load, unsigned_percent
from exonerate.report.story import Story
from exonerate.report.verdict_view import OUTCOME_WORDS

Mood: TypeAlias = Literal["good", "bad", "doubt", ""]

_MOODS: dict[str, Mood] = {
    "better": "good",
    "cleared": "good",
    "worse": "bad",
    "invalid": "bad",
    "confounded": "doubt",
    "inconclusive": "doubt",
    "expired": "doubt",
    "undecided": "doubt",
    "unpriced": "doubt",
    "stale": "doubt",
    "raised": "doubt",
    "rolled-back": "doubt",
    "rollback-failed": "bad",
}
_GRADE_MOODS: dict[str, Mood] = {"A": "good", "B": "good", "C": "doubt", "D": "doubt", "E": "bad"}


@dataclass(frozen=True, slots=True)
class Tile:
    """One fact about the case."""

    what: str
    text: str
    more: str = ""
    mood: Mood = ""


def state_mood(state: str) -> Mood:
    """How a state, verdict or class is coloured; most are neutral."""
    return _MOODS.get(state, "")


def grade_mood(grade: str) -> Mood:
    """How a grade is coloured."""
    return _GRADE_MOODS.get(grade, "bad")


def outcome_words(story: Story) -> str:
    """What kind of verdict the case has."""
    return OUTCOME_WORDS.get(story.verdict.outcome, "Verdict") if story.verdict else "No verdict"


def tiles(story: Story) -> Iterator[Tile]:
    """The tiles that the case has something to say for."""
    if story.verdict is not None:
        faults = [fault.where for fault in story.verdict.faults]
        classes = listed([fault.fault_class for fault in story.verdict.faults])
        mood: Mood = "good" if story.verdict.outcome == "no_fault" else "doubt"
        yield Tile("Convicted", listed(faults) or "nobody", classes, "bad" if faults else mood)
        cleared = [entry.name for entry in story.verdict.cleared]
        if cleared:
            yield Tile("Cleared", listed(cleared), "", "good")
    if story.debt_known:
        yield _debt_tile(story.debt)
    if story.cure is not None:
        yield _cure_tile(story.cure)


def dip_sentence(dip: DipView) -> str:
    """A dip in words, with how far it is known."""
    low, high = (load(cell) for cell in dip.cells)
    kind = "A dip" if dip.verdict == "anomaly" else f"A dip is {dip.verdict}"
    removed = f" {dip.removed_by} does not show it." if dip.removed_by else ""
    return f"{kind}: {dip.arm} falls by {unsigned_percent(dip.drop)} from {low} to {high}.{removed}"


def knob_is_irrelevant(cure: CureView) -> bool | None:
    """Whether completion follows the fault alone; None where a corner is missing."""
    found = []
    for fault in cure.fault_states:
        corners = [cure.corner(fault, knob) for knob in cure.knob_states]
        done = {corner.completed if corner else None for corner in corners}
        if None in done or len(cure.knob_states) < 2 or len(cure.fault_states) < 2:
            return None
        found.append(done)
    return all(len(done) == 1 for done in found) and found[0] != found[1]


def corner_word(corner: CureCorner | None) -> str:
    """What became of the victim's shape in a corner."""
    if corner is None:
        return "not tried"
    return {True: "completes", False: "wedges", None: "unknown"}[corner.completed]


def cure_finding(cure: CureView) -> str:
    """What the corners say together."""
    return {
        True: f"completion follows {cure.fault_name} alone; {cure.knob_name} makes no difference",
        False: f"completion does not follow {cure.fault_name} alone",
        None: "not all corners were tried",
    }[knob_is_irrelevant(cure)]


def _debt_tile(debts: tuple[DebtView, ...]) -> Tile:
    if not debts:
        return Tile("Standing debt", "none", "no revert stands", "good")
    prices = [price for debt in debts for price in debt.prices]
    names = listed([debt.knob for debt in debts[:2]])
    if not prices:
        return Tile("Standing debt", "unpriced", names, "doubt")
    worst = max(prices, key=lambda price: price.loss)
    text = f"up to {unsigned_percent(worst.loss)} at {load(worst.cell)}"
    return Tile("Standing debt", text, f"{names}, grade {worst.grade}", "doubt")


def _cure_tile(cure: CureView) -> Tile:
    irrelevant = knob_is_irrelevant(cure)
    if irrelevant is None:
        return Tile("Cure", "not fully checked", "some corners were not tried", "doubt")
    if irrelevant:
        return Tile("Cure", "confirmed", f"{cure.knob_name} makes no difference", "good")
    return Tile("Cure", "not confirmed", "completion does not follow the fault alone", "bad")
