"""What a verdict is worth against the known culprit. Pure.

Right layer, hops and class: 1. Right layer and hops, wrong class: 0.5. Nobody accused: 0 where
there was a culprit, 1 where there was none (0.5 when the explanation is another one). Any
accusation of an innocent layer or hop, and any accusation where there is no culprit: -3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from exonerate.lab.scenario import Accusation, Expected, ExpectedFault

FALSE_ACCUSATION = -3.0
DETAIL_TOLERANCE = 0.25
"""How far a measured number may be from the drawn one; timers are read off real exchanges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Points of one run and what they were given for."""

    points: float
    false_accusation: bool
    right_layer: bool
    right_class: bool
    why: str


def score(expected: Expected, verdict: Mapping[str, object]) -> Score:
    """The score of a verdict in the JSON form of `locate --json` (schema exonerate.verdict/1)."""
    accused = _accused(verdict)
    wrong = [item for item in accused if not any(_same_place(item, one) for one in expected.fault)]
    if wrong:
        return _false(f"accused {_named(wrong)}")
    if expected.outcome == "fault":
        if not accused and _explained_as(expected.explanation, verdict):
            return _score(1.0, layer=True, kind=True, why="explained, as it may be")
        return _score_fault(expected.fault, accused)
    if expected.outcome == "no_fault":
        return _score_no_fault(expected, verdict)
    right = verdict.get("outcome") == "insufficient_evidence"
    return _score(1.0 if right else 0.0, layer=right, kind=right, why="nothing can be decided here")


def details_off(expected: Expected, verdict: Mapping[str, object]) -> list[str]:
    """The details of the right accusations that are missing or wrong; not part of the score."""
    faults = verdict.get("faults")
    given = [fault for fault in faults if isinstance(fault, Mapping)] if _is_list(faults) else []
    off: list[str] = []
    for fault in expected.fault:
        there = [one for one in given if str(one.get("class")) == fault.kind]
        said = there[0].get("details") if there else None
        if isinstance(said, Mapping):
            off += [
                f"{name} is {said.get(name)}, was {wanted}"
                for name, wanted in fault.details.items()
                if not _agree(wanted, said.get(name))
            ]
    return off


def _agree(wanted: object, said: object) -> bool:
    if isinstance(said, Mapping):  # a threshold as the two values that it lies between
        return any(_agree(wanted, bound) for bound in said.values())
    if isinstance(wanted, int | float) and isinstance(said, int | float):
        return abs(said - wanted) <= DETAIL_TOLERANCE * abs(wanted)
    return wanted == said


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _score_fault(expected: Sequence[ExpectedFault], accused: Sequence[Accusation]) -> Score:
    if not accused:
        return _score(0.0, layer=False, kind=False, why="nobody was accused")
    credits = []
    for fault in expected:
        there = [item for item in accused if _same_place(item, fault)]
        exact = [item for item in there if _same_class(item, fault)]
        credits.append(1.0 if exact else 0.5 if there else 0.0)
    points = sum(credits) / len(credits)
    why = f"accused {_named(accused)}"
    return _score(points, layer=all(credits), kind=min(credits) == 1.0, why=why)


def _score_no_fault(expected: Expected, verdict: Mapping[str, object]) -> Score:
    if verdict.get("outcome") != "no_fault":
        return _score(0.0, layer=False, kind=False, why="the evidence did not suffice")
    given = _explanation(verdict)
    if expected.explanation in (None, given):
        return _score(1.0, layer=True, kind=True, why="nobody accused, as it should be")
    return _score(0.5, layer=True, kind=False, why=f"explained by {given or 'nothing'}")


def _explained_as(wanted: str | None, verdict: Mapping[str, object]) -> bool:
    return (
        wanted is not None
        and verdict.get("outcome") == "no_fault"
        and _explanation(verdict) == wanted
    )


def _explanation(verdict: Mapping[str, object]) -> str | None:
    explanation = verdict.get("explanation")
    return str(explanation.get("class")) if isinstance(explanation, Mapping) else None


def _accused(verdict: Mapping[str, object]) -> list[Accusation]:
    faults = verdict.get("faults")
    if verdict.get("outcome") != "fault" or not isinstance(faults, Sequence):
        return []
    return [
        Accusation(
            layer=str(fault.get("layer")),
            kind=str(fault.get("class")),
            hops=tuple(map(str, fault.get("hops", ()))),
        )
        for fault in faults
        if isinstance(fault, Mapping)
    ]


def _answers(fault: ExpectedFault) -> list[Accusation]:
    own = Accusation(layer=fault.layer, kind=fault.kind, hops=fault.hops)
    return [own, *fault.also]


def _same_place(accusation: Accusation, fault: ExpectedFault) -> bool:
    return any(
        accusation.layer == answer.layer and set(accusation.hops) == set(answer.hops)
        for answer in _answers(fault)
    )


def _same_class(accusation: Accusation, fault: ExpectedFault) -> bool:
    return any(
        accusation.layer == answer.layer
        and set(accusation.hops) == set(answer.hops)
        and accusation.kind == answer.kind
        for answer in _answers(fault)
    )


def _named(accused: Sequence[Accusation]) -> str:
    return ", ".join(f"{'+'.join(item.hops)} ({item.layer}: {item.kind})" for item in accused)


def _false(why: str) -> Score:
    return Score(
        points=FALSE_ACCUSATION,
        false_accusation=True,
        right_layer=False,
        right_class=False,
        why=why,
    )


def _score(points: float, *, layer: bool, kind: bool, why: str) -> Score:
    return Score(
        points=points, false_accusation=False, right_layer=layer, right_class=kind, why=why
    )
