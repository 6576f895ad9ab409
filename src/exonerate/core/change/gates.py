"""The gates of a change: what the events of each step must show before the next one is taken.

A gate that cannot tell fails: no event, an unknown event and a time-out are all failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from exonerate.core.deployment.model import KnobForm
from exonerate.core.diagnosis.facts import outcome_of
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event
from exonerate.core.wire.exchange_json import exchange_from_json

Arrival: TypeAlias = Literal["yes", "no", "not-checked"]

PROCESS_FORMS: frozenset[KnobForm] = frozenset(
    {"export", "flag", "environment-file", "unit-environment"}
)
"""Forms whose value is seen in the environment or on the command line of a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Whether a step passed and why; `detail` is for the report."""

    passed: bool
    why: str
    detail: JsonObject = field(default_factory=dict)


def swap_gate(events: Sequence[Event], target_sha256: str) -> GateResult:
    """The file must be said to hold the target's bytes."""
    event = _last(events, "swapped")
    if event is not None and event.data.get("to_sha256") == target_sha256:
        method = str(event.data.get("method"))
        return GateResult(passed=True, why=f"file exchanged ({method})", detail=event.data)
    return _failed(events, "nothing says that the file was exchanged")


def restart_gate(events: Sequence[Event]) -> GateResult:
    """The service must be said to be ready again."""
    event = _last(events, "restarted")
    if event is not None:
        return GateResult(passed=True, why="restarted and ready", detail=event.data)
    return _failed(events, "nothing says that the service is ready again")


def smoke_gate(events: Sequence[Event]) -> GateResult:
    """One request must have been answered whole."""
    event = _last(events, "exchange")
    if event is None:
        return _failed(events, "no answer to the smoke request is on record")
    outcome = outcome_of(exchange_from_json(event.data), None)
    if outcome == "ok":
        return GateResult(passed=True, why="it answers")
    return GateResult(passed=False, why=f"the smoke request was not answered whole ({outcome})")


def setting_gate(events: Sequence[Event], form: KnobForm, expected: str | None) -> GateResult:
    """Every process of the service must have got the value (None: must not have the setting).

    A launcher (the shell that runs the start script) has its own environment from before the
    script set anything, so it is left out. A flag must stand on at least one command line and
    must not stand on any with another value: the children of a server seldom repeat its flags.
    """
    if form not in PROCESS_FORMS:
        why = "the service reads the file itself; its processes do not show the value"
        return GateResult(passed=True, why=why, detail={"arrived": "not-checked"})
    event = _last(events, "setting")
    if event is None:
        return _failed(events, "nothing says what the processes got")
    processes = [process for process in _processes(event) if not process.get("launcher")]
    if not processes:
        return _no("no process of the service is running", processes)
    if any(process.get("readable") is False for process in processes):
        return _no("not every process of the service may be looked at", processes)
    if form == "flag" and expected is not None:
        return _flag_gate(processes, expected)
    wrong = [process for process in processes if process.get("value") != expected]
    if wrong:
        return _no(_wrong_words(wrong, expected, len(processes)), processes)
    said = "not set" if expected is None else f"= {expected}"
    return _yes(f"{said} in every process ({len(processes)})", processes)


def _flag_gate(processes: Sequence[JsonObject], expected: str) -> GateResult:
    shown = [process for process in processes if process.get("value") is not None]
    wrong = [process for process in shown if process.get("value") != expected]
    if wrong or not shown:
        return _no(_wrong_words(wrong or processes, expected, len(processes)), processes)
    why = f"= {expected} on the command line of {len(shown)} of {len(processes)} processes"
    return _yes(why, processes)


def _wrong_words(wrong: Sequence[JsonObject], expected: str | None, count: int) -> str:
    first = wrong[0]
    got = "it does not have it" if first.get("value") is None else f"it has {first.get('value')}"
    wanted = "no value" if expected is None else expected
    return (
        f"{len(wrong)} of {count} processes did not get {wanted}: process {first.get('pid')}, {got}"
    )


def _yes(why: str, processes: Sequence[JsonObject]) -> GateResult:
    return GateResult(passed=True, why=why, detail={"arrived": "yes", "processes": len(processes)})


def _no(why: str, processes: Sequence[JsonObject]) -> GateResult:
    return GateResult(passed=False, why=why, detail={"arrived": "no", "processes": len(processes)})


def _processes(event: Event) -> list[JsonObject]:
    processes = event.data.get("processes")
    if isinstance(processes, str) or not isinstance(processes, Sequence):
        return []
    return [process for process in processes if isinstance(process, Mapping)]


def _failed(events: Sequence[Event], otherwise: str) -> GateResult:
    event = _last(events, "failed")
    if event is None:
        return GateResult(passed=False, why=otherwise)
    return GateResult(passed=False, why=str(event.data.get("why", otherwise)), detail=event.data)


def _last(events: Sequence[Event], kind: str) -> Event | None:
    return next((event for event in reversed(events) if event.kind == kind), None)
