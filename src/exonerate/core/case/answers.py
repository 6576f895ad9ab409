"""What verdicts of other jobs say about a knob or a suspect: reading, not deciding.

The answers are the documents that `locate --json` (`exonerate.verdict/1`) and `ab --json`
(`exonerate.comparison/1`) print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.case.model import Case, Grade, RecordedVerdict
from exonerate.core.json_types import JsonObject

BLOCKS_GRADE_A = 5
BLOCKS_GRADE_B = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of a conviction: its class, where, and the setting it names."""

    fault_class: str
    hops: tuple[str, ...]
    knob: str | None


def convictions(case: Case) -> tuple[RecordedVerdict, ...]:
    """The verdicts of `locate` that convict something."""
    return tuple(verdict for verdict in case.verdicts if faults_of(verdict))


def faults_of(verdict: RecordedVerdict) -> tuple[Fault, ...]:
    """The faults that a verdict of `locate` proved; none for any other verdict."""
    if verdict.job != "locate" or verdict.answer.get("outcome") != "fault":
        return ()
    return tuple(_fault(fault) for fault in objects_in(verdict.answer, "faults"))


def cleared(case: Case, key: str, name: str) -> str | None:
    """Why `locate` cleared the `knob` or `hop` of that name the last time, or None."""
    for verdict in reversed(case.verdicts):
        for entry in objects_in(verdict.answer, "cleared") if verdict.job == "locate" else ():
            if entry.get(key) == name:
                return str(entry.get("why", ""))
    return None


def knob_of(case: Case, verdict: RecordedVerdict) -> str | None:
    """The knob that an A/B compared: named in its answer or among the options of its run."""
    named = verdict.answer.get("knob")
    if isinstance(named, str):
        return named
    for run in case.runs:
        if run.id == verdict.run:
            option = run.options.get("knob")
            return option if isinstance(option, str) else None
    return None


def blocks_grade(answer: JsonObject) -> Grade:
    """The grade of a randomised comparison by its number of restarts per arm.

    Five blocks are grade A and three grade B; below that one cell could tip it.
    """
    blocks = answer.get("blocks")
    if not isinstance(blocks, int):
        return "E"
    if blocks >= BLOCKS_GRADE_A:
        return "A"
    if blocks >= BLOCKS_GRADE_B:
        return "B"
    return "C" if blocks == 2 else "D"


def arms_of(answer: JsonObject) -> tuple[str, ...]:
    """The compared values, baseline first."""
    arms = answer.get("arms")
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        return ()
    return tuple(str(arm) for arm in arms)


def objects_in(answer: JsonObject, key: str) -> list[JsonObject]:
    """The objects of the list under that key; anything else there counts as none."""
    value = answer.get(key)
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [entry for entry in value if isinstance(entry, Mapping)]


def _fault(fault: JsonObject) -> Fault:
    details = fault.get("details")
    setting = details.get("setting") if isinstance(details, Mapping) else None
    knob = fault.get("knob", setting)
    hops = fault.get("hops")
    return Fault(
        fault_class=str(fault.get("class", "")),
        hops=tuple(map(str, hops)) if isinstance(hops, Sequence) else (),
        knob=knob if isinstance(knob, str) else None,
    )
