"""Makes one planned change and journals it, through kills and interruptions.

The intent (`intervention_planned`) is on the disk before the run begins, the end
(`intervention_done`) after its verdict. A change without an end is found by `finish_open` and
taken up where it was: finished, or taken back when a gate fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.case.records import Record, RecordKind
from exonerate.core.case.redaction import Redactor
from exonerate.core.change.history import RecordedChange, open_changes, recorded_changes
from exonerate.core.change.plan import ChangePlan, plan_to_body
from exonerate.core.change.restorer import JOB, RULES, decide, step_result
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Ledger, Player, Progress
from exonerate.core.scene import Event, Scene
from exonerate.errors import ExonerateError
from exonerate.jobs.ledger_run import RunStart, drive, resume


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTools:
    """What a change needs of the world."""

    ledger: Ledger
    player: Player
    redactor: Redactor
    progress: Progress


async def make_change(plan: ChangePlan, *, case: str, tools: ChangeTools) -> JsonObject:
    """Make the change; returns the answer `exonerate.change/1`.

    An interruption turns it round: the old bytes are put back before it is raised again.
    """
    _write_plan(plan, case, tools)
    return await _run(plan, case, tools, earlier=())


async def finish_open(tools: ChangeTools) -> list[JsonObject]:
    """Finish every change that was cut off, or take it back; returns their answers."""
    changes = recorded_changes(tools.ledger.records())
    return [await _finish(change, tools) for change in open_changes(changes)]


def record_done_change(plan: ChangePlan, *, case: str, tools: ChangeTools) -> None:
    """Take in a change that somebody made before: its plan and its end, nothing is touched."""
    _write_plan(plan, case, tools)
    _write_done(plan, {"outcome": "committed", "live": plan.to}, case, tools)


async def _finish(change: RecordedChange, tools: ChangeTools) -> JsonObject:
    plan, case = change.plan, change.case
    tools.progress(f"finishing the {plan.type} of {plan.knob} that was cut off", None)
    records = tools.ledger.records(run=plan.id)
    for record in records:
        answer = record.body.get("answer")
        if record.kind == "verdict" and isinstance(answer, dict):
            _write_done(plan, answer, case, tools)
            return answer
    return await _run(plan, case, tools, earlier=_own(records))


async def _run(
    plan: ChangePlan, case: str, tools: ChangeTools, *, earlier: Sequence[Record]
) -> JsonObject:
    try:
        answer = await _played(plan, case, tools, earlier)
    except (asyncio.CancelledError, KeyboardInterrupt):
        # SIGTERM comes as KeyboardInterrupt from wherever the program was, Ctrl-C as cancellation.
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        tools.progress("interrupted: putting the old bytes back", None)
        records = _own(tools.ledger.records(run=plan.id))
        answer = await _played(plan, case, tools, records)
        _write_done(plan, answer, case, tools)
        if answer["outcome"] == "rollback-failed":
            raise _not_taken_back(plan, answer) from None
        raise
    _write_done(plan, answer, case, tools)
    return answer


def _not_taken_back(plan: ChangePlan, answer: JsonObject) -> ExonerateError:
    return ExonerateError(
        f"interrupted, and the way back failed ({answer['why']}): what is live is not known",
        f"look at `{plan.file}` and at {plan.service} yourself",
    )


async def _played(
    plan: ChangePlan, case: str, tools: ChangeTools, earlier: Sequence[Record]
) -> JsonObject:
    player = _JournallingPlayer(plan, case, tools)
    if earlier:
        return await resume(
            decide,
            earlier,
            ledger=tools.ledger,
            player=player,
            redactor=tools.redactor,
            progress=tools.progress,
        )
    run = RunStart(
        case=case, run=plan.id, job=JOB, rules=RULES, seed=0, options={"plan": plan_to_body(plan)}
    )
    return await drive(
        decide,
        run=run,
        ledger=tools.ledger,
        player=player,
        redactor=tools.redactor,
        progress=tools.progress,
    )


class _JournallingPlayer:
    """Plays the scenes of a change and adds a line to its journal after each."""

    def __init__(self, plan: ChangePlan, case: str, tools: ChangeTools) -> None:
        self._plan = plan
        self._case = case
        self._tools = tools

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """Play the scene and judge it by its gate."""
        progress(scene.why, None)
        events = await self._tools.player.play(scene, progress)
        result = step_result(self._plan, scene, events)
        body: JsonObject = {
            "id": self._plan.id,
            "step": result.step.label,
            "passed": result.gate.passed,
            "why": result.gate.why,
        }
        _append(self._tools, self._case, "intervention_step", body, run=self._plan.id)
        return events


def _own(records: Sequence[Record]) -> Sequence[Record]:
    """The records of a run from its beginning; empty when it did not get that far."""
    starts = [index for index, record in enumerate(records) if record.kind == "run_started"]
    return records[starts[0] :] if starts else ()


def _write_plan(plan: ChangePlan, case: str, tools: ChangeTools) -> None:
    _append(tools, case, "intervention_planned", plan_to_body(plan))


def _write_done(plan: ChangePlan, answer: JsonObject, case: str, tools: ChangeTools) -> None:
    body: JsonObject = {"id": plan.id, "outcome": answer["outcome"], "live": answer["live"]}
    _append(tools, case, "intervention_done", body)


def _append(
    tools: ChangeTools, case: str, kind: RecordKind, body: JsonObject, *, run: str | None = None
) -> None:
    tools.ledger.append(case=case, kind=kind, body=tools.redactor.body(body), run=run)
