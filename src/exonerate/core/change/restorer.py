"""Makes one change, or takes it back: decides from the records alone what comes next.

Theory of operation
-------------------
A change is up to four steps: exchange the file, restart the service, read the setting from its
processes, ask one request. Each is a scene of its own, so the ledger has the intent before and the
events after; the gates (`core.change.gates`) judge them. The first gate that fails turns the
change round: the same steps bring the old bytes back. So there are four ends:

==================  ===============================================================================
committed           every gate passed
refused             the file was not exchanged, and is as it was
rolled-back         a gate failed; the old bytes are back, arrived, and the service answers
rollback-failed     the way back failed as well: what is live is not known, and said loudly
==================  ===============================================================================

A scene that was begun and has no events (a kill in the middle) is played again: every step says
what the world is like when it ends, whatever was done before. An interrupted one (Ctrl-C) turns
the change round. The plan stands in the options of `run_started`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.change.gates import (
    GateResult,
    restart_gate,
    setting_gate,
    smoke_gate,
    swap_gate,
)
from exonerate.core.change.plan import ChangePlan, plan_from_body
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import (
    Activity,
    Event,
    ReadSetting,
    RestartService,
    Scene,
    SwapFile,
)
from exonerate.core.scene_json import event_from_json

JOB = "knob"
RULES = "change/1"
SCHEMA = "exonerate.change/1"
ATTEMPTS_MAX = 3
SWAP_LIMIT_S = 30.0
READ_LIMIT_S = 30.0
STOP_LIMIT_S = 60.0
MARGIN_S = 10.0

Outcome: TypeAlias = Literal["committed", "refused", "rolled-back", "rollback-failed"]
StepName: TypeAlias = Literal["swap", "restart", "setting", "smoke"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, forward or back."""

    name: StepName
    back: bool = False

    @property
    def label(self) -> str:
        """The step's name in scenes and answers."""
        return f"rollback-{self.name}" if self.back else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """How a step went."""

    step: Step
    gate: GateResult


def decide(records: Sequence[Record]) -> Scene | Verdict:
    """The next scene of the change whose run these records are, or how it ended."""
    plan = plan_of(records)
    history = _History(records)
    forward = _walk(plan, history, back=False)
    if isinstance(forward, Scene):
        return forward
    results, failure = forward
    if failure is None:
        return _verdict(plan, "committed", results)
    if _file_untouched(failure):
        return _verdict(plan, "refused", results)
    backward = _walk(plan, history, back=True)
    if isinstance(backward, Scene):
        return backward
    back_results, back_failure = backward
    outcome: Outcome = "rolled-back" if back_failure is None else "rollback-failed"
    return _verdict(plan, outcome, [*results, *back_results])


def plan_of(records: Sequence[Record]) -> ChangePlan:
    """The plan of the change whose run these records are."""
    options = next(r.body for r in records if r.kind == "run_started")["options"]
    assert isinstance(options, Mapping)
    plan = options["plan"]
    assert isinstance(plan, Mapping)
    return plan_from_body(plan)


def step_result(plan: ChangePlan, scene: Scene, events: Sequence[Event]) -> StepResult:
    """How the step of a scene went, for the journal."""
    label = scene.id.removeprefix(f"{plan.id}/").partition("#")[0]
    steps = [*_steps(plan, back=False), *_steps(plan, back=True)]
    step = next(step for step in steps if step.label == label)
    return StepResult(step=step, gate=_gate(plan, step, events))


def _walk(
    plan: ChangePlan, history: _History, *, back: bool
) -> Scene | tuple[list[StepResult], StepResult | None]:
    """The next scene of one direction, or its results and the one that failed."""
    results: list[StepResult] = []
    for step in _way(plan, history, back=back):
        attempts = history.attempts(f"{plan.id}/{step.label}")
        events = history.events_of(attempts[-1]) if attempts else None
        if attempts and not back and history.was_interrupted(attempts[-1]):
            gate = GateResult(passed=False, why="interrupted")
        elif events is None and len(attempts) >= ATTEMPTS_MAX:
            gate = GateResult(passed=False, why=f"begun {len(attempts)} times and never ended")
        elif events is None:
            return _scene(plan, step, attempt=len(attempts) + 1)
        else:
            gate = _gate(plan, step, events)
        results.append(StepResult(step=step, gate=gate))
        if not gate.passed:
            return results, results[-1]
    return results, None


def _way(plan: ChangePlan, history: _History, *, back: bool) -> list[Step]:
    steps = _steps(plan, back=back)
    if back and not history.attempts(f"{plan.id}/restart"):
        # The running process never saw the new bytes: only the file has to go back.
        return steps[:1]
    return steps


def _steps(plan: ChangePlan, *, back: bool) -> list[Step]:
    names: list[StepName] = ["swap"]
    if plan.restart:
        names += ["restart", "setting"]
        names += ["smoke"] if plan.smoke is not None else []
    return [Step(name=name, back=back) for name in names]


def _file_untouched(failure: StepResult) -> bool:
    return failure.step.name == "swap" and failure.gate.detail.get("file") == "unchanged"


def _scene(plan: ChangePlan, step: Step, *, attempt: int) -> Scene:
    suffix = "" if attempt == 1 else f"#{attempt}"
    activity, limit_s = _activity(plan, step)
    return Scene(
        id=f"{plan.id}/{step.label}{suffix}",
        why=_why(plan, step),
        activities=(activity,),
        time_limit_s=limit_s,
    )


def _activity(plan: ChangePlan, step: Step) -> tuple[Activity, float]:
    if step.name == "swap":
        ends = (plan.base_sha256, plan.target_sha256)
        expected, target = reversed(ends) if step.back else ends
        swap = SwapFile(name="swap", path=plan.file, expected_sha256=expected, target_sha256=target)
        return swap, SWAP_LIMIT_S
    if step.name == "restart":
        limit_s = plan.ready_timeout_s + STOP_LIMIT_S
        return RestartService(name="restart", service=plan.service), limit_s
    if step.name == "setting":
        read = ReadSetting(name="setting", service=plan.service, setting=plan.knob, form=plan.form)
        return read, READ_LIMIT_S
    assert plan.smoke is not None
    return replace(plan.smoke, name="smoke"), plan.smoke.deadline_s + MARGIN_S


def _why(plan: ChangePlan, step: Step) -> str:
    value = plan.was if step.back else plan.to
    return {
        "swap": f"set {plan.knob} to {value} in `{plan.file}`",
        "restart": f"restart {plan.service}, so that it gets {plan.knob} = {value}",
        "setting": f"read {plan.knob} from every process of {plan.service}",
        "smoke": f"ask {plan.service} one short request",
    }[step.name]


def _gate(plan: ChangePlan, step: Step, events: Sequence[Event] | None) -> GateResult:
    seen = events or ()
    if step.name == "swap":
        return swap_gate(seen, plan.base_sha256 if step.back else plan.target_sha256)
    if step.name == "restart":
        return restart_gate(seen)
    if step.name == "setting":
        return setting_gate(seen, plan.form, plan.file_was if step.back else plan.file_to)
    return smoke_gate(seen)


class _History:
    """Which scenes of the run were begun, and what was seen in those that ended."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._planned: list[str] = []
        self._events: dict[str, list[Event]] = {}
        self._interrupted: set[str] = set()
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        if record.kind == "scene_planned":
            scene = record.body["scene"]
            assert isinstance(scene, Mapping)
            self._planned.append(str(scene["id"]))
        elif record.kind == "scene_played" and record.body.get("interrupted"):
            self._interrupted.add(str(record.body["scene"]))
        elif record.kind == "scene_played":
            events = record.body["events"]
            assert isinstance(events, Sequence)
            self._events[str(record.body["scene"])] = [_event(event) for event in events]

    def attempts(self, step: str) -> list[str]:
        """The ids of the scenes of a step, in order."""
        return [scene for scene in self._planned if scene.partition("#")[0] == step]

    def was_interrupted(self, scene: str) -> bool:
        """Whether the scene was cut off by an interruption that could still be written down."""
        return scene in self._interrupted

    def events_of(self, scene: str) -> Sequence[Event] | None:
        """What was seen in a scene; None when its end is not on record."""
        return self._events.get(scene)


def _event(value: Json) -> Event:
    assert isinstance(value, Mapping)
    return event_from_json(value)


def _verdict(plan: ChangePlan, outcome: Outcome, results: Sequence[StepResult]) -> Verdict:
    setting = [r for r in results if r.step.name == "setting"]
    smoke = [r for r in results if r.step.name == "smoke"]
    arrived = setting[-1].gate if setting else None
    answer: JsonObject = {
        "schema": SCHEMA,
        "intervention": plan.id,
        "type": plan.type,
        "knob": plan.knob,
        "service": plan.service,
        "file": plan.file,
        "from": plan.was,
        "to": plan.to,
        "outcome": outcome,
        "live": _live(plan, outcome),
        "why": _end(outcome, results),
        "steps": [
            {"step": r.step.label, "passed": r.gate.passed, "why": r.gate.why} for r in results
        ],
        "restarted": any(r.step.name == "restart" and r.gate.passed for r in results),
        "arrived": _arrival(arrived),
        "in_effect": {
            "state": "unknown",
            "why": "only the engine itself could say what it does with the value",
        },
        "answers": smoke[-1].gate.passed if smoke else None,
    }
    return Verdict(job=JOB, rules=RULES, answer=answer)


def _arrival(gate: GateResult | None) -> JsonObject:
    if gate is None:
        return {"state": "not-checked", "why": "no process was restarted", "processes": None}
    return {
        "state": gate.detail.get("arrived", "no"),
        "why": gate.why,
        "processes": gate.detail.get("processes"),
    }


def _live(plan: ChangePlan, outcome: Outcome) -> str | None:
    if outcome == "rollback-failed":
        return None
    return plan.to if outcome == "committed" else plan.was


def _end(outcome: Outcome, results: Sequence[StepResult]) -> str:
    failures = [f"{r.step.label}: {r.gate.why}" for r in results if not r.gate.passed]
    if outcome == "committed":
        return "every step passed its gate"
    return "; ".join(failures)
