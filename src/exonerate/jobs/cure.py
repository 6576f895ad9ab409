"""The check that a cure cured: the victim's own run in every corner of fault x knob, recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock, Ledger
from exonerate.jobs.case import CaseBook, Measurement, needed_case

SCHEMA = "exonerate.cure/1"


@dataclass(frozen=True, slots=True)
class Corner:
    """One run: the state of the fault, the state of the knob, and how many rounds came through."""

    fault: str
    knob: str
    done: int
    wanted: int

    @property
    def completed(self) -> bool:
        """Whether the victim got through."""
        return self.done == self.wanted


def cure_answer(*, fault: str, knob: str, corners: Sequence[Corner]) -> JsonObject:
    """The matrix as `exonerate.cure/1`, with what it says and what it rests on."""
    repaired = [corner for corner in corners if corner.fault != "faulty"]
    faulty = [corner for corner in corners if corner.fault == "faulty"]
    cured = all(c.completed for c in repaired) and not any(c.completed for c in faulty)
    states = {corner.knob for corner in corners}
    why = f"one run in each of {len(corners)} corners"
    if cured and len(states) > 1:
        why += f": the repaired {fault} cures, whatever {knob} is set to"
    elif cured:
        why += f": the repaired {fault} cures; {knob} was not varied"
    else:
        why += ": the repair alone does not decide whether the victim gets through"
    return {
        "schema": SCHEMA,
        "fault": fault,
        "knob": knob,
        "cured": cured,
        "corners": [
            {
                "fault": corner.fault,
                "knob": corner.knob,
                "completed": corner.completed,
                "rounds": corner.done,
                "of": corner.wanted,
            }
            for corner in corners
        ],
        "why": why,
    }


def record_cure(ledger: Ledger, book: CaseBook, answer: JsonObject, *, clock: Clock) -> str:
    """Write the matrix into the only open case; returns the id of the evidence."""
    measured = Measurement(
        source="the victim's own runs",
        restarts=1,
        design="one run in each corner",
        grade="D",
        knob=str(answer["knob"]),
    )
    case = needed_case(ledger, None)
    return book.add_measurement(case, measured, content={"cure": answer}, clock=clock)
