"""One change made, cut off, interrupted and taken up again, on a real ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.case.fold import fold_cases
from exonerate.core.case.redaction import Redactor
from exonerate.core.change import restorer
from exonerate.core.change.plan import ChangePlan
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Progress
from exonerate.core.scene import Event, Scene
from exonerate.errors import ExonerateError
from exonerate.jobs.change_run import ChangeTools, finish_open, make_change, record_done_change
from exonerate.jobs.ledger_run import verify

PLAN = ChangePlan(
    id="revert-1",
    type="revert",
    knob="KNOB",
    service="engine",
    form="export",
    file="/srv/serve.sh",
    was="512",
    to="256",
    file_was="512",
    file_to=None,
    base_sha256="a" * 64,
    target_sha256="b" * 64,
    restart=True,
    ready_timeout_s=60.0,
    smoke=None,
    purpose="tests it",
    prediction="it stops",
    confounds=("restart",),
    reason="incident",
)


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours runs after it."""


@dataclass
class ScriptedPlayer:
    """Answers each step; `ends` says which step (by its label) ends the program, and how."""

    value: str | None = None
    ends: dict[str, BaseException] = field(default_factory=dict)
    broken: str = ""
    played: list[str] = field(default_factory=list)

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """One event as a host that obeys gives it."""
        label = scene.id.partition("/")[2].partition("#")[0]
        self.played.append(label)
        ending = self.ends.pop(label, None)
        if ending is not None:
            if not isinstance(ending, Killed):
                ending.events = []  # type: ignore[attr-defined]  # as the real player does
            raise ending
        if label == self.broken:
            return [Event("x", 1, "failed", {"why": "not ready"})]
        back = label.startswith("rollback")
        sums = (PLAN.target_sha256, PLAN.base_sha256)
        answers: dict[str, tuple[str, JsonObject]] = {
            "swap": ("swapped", {"to_sha256": sums[back], "method": "exchange"}),
            "restart": ("restarted", {"pid": 7}),
            "setting": ("setting", {"processes": [{"pid": 7, "value": "512" if back else None}]}),
        }
        kind, data = answers[label.removeprefix("rollback-")]
        return [Event("x", 1, kind, data)]


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """An empty ledger."""
    return open_ledger(tmp_path / "ledger" / "ledger.db", clock=SystemClock())


def tools(ledger: SqlLedger, player: ScriptedPlayer) -> ChangeTools:
    """What a change needs, on that ledger."""
    return ChangeTools(
        ledger=ledger,
        player=player,
        redactor=Redactor(ledger.key()),
        progress=lambda text, fraction: None,
    )


def make(ledger: SqlLedger, player: ScriptedPlayer) -> JsonObject:
    """Make the change."""
    return asyncio.run(make_change(PLAN, case="c", tools=tools(ledger, player)))


def outcome_on_record(ledger: SqlLedger) -> str | None:
    """How the ledger says that the change ended."""
    [case] = fold_cases(ledger.records())
    [change] = case.interventions
    return change.outcome


def test_the_ledger_tells_the_whole_change(ledger: SqlLedger) -> None:
    """Plan first, a line for each step, its end last; the verdict can be recomputed."""
    assert make(ledger, ScriptedPlayer())["outcome"] == "committed"
    kinds = [record.kind for record in ledger.records()]
    assert kinds[0] == "intervention_planned"
    assert kinds[-2:] == ["verdict", "intervention_done"]
    steps = [r.body["step"] for r in ledger.records() if r.kind == "intervention_step"]
    assert steps == ["swap", "restart", "setting"]
    deciders = {(restorer.JOB, restorer.RULES): restorer.decide}
    verification = verify(ledger.check_chain(), deciders)
    assert isinstance(verification["verdicts"], list)
    assert [one["same"] for one in verification["verdicts"]] == [True]


@pytest.mark.parametrize("step", ["swap", "restart", "setting"])
def test_a_kill_is_taken_up_by_the_next_command(ledger: SqlLedger, step: str) -> None:
    """The step that was cut off is played again, and the change gets its end."""
    with pytest.raises(Killed):
        make(ledger, ScriptedPlayer(ends={step: Killed()}))
    assert outcome_on_record(ledger) is None
    player = ScriptedPlayer()
    [answer] = asyncio.run(finish_open(tools(ledger, player)))
    assert answer["outcome"] == "committed"
    assert player.played[0] == step
    assert outcome_on_record(ledger) == "committed"
    assert asyncio.run(finish_open(tools(ledger, player))) == []


def test_a_kill_before_the_run_began_is_taken_up_too(ledger: SqlLedger) -> None:
    """Only the plan is on record then."""
    plan_only = ScriptedPlayer(ends={"swap": Killed()})
    with pytest.raises(Killed):
        make(ledger, plan_only)
    first = ledger.records()[0]
    fresh = open_ledger(Path(ledger.where).parent.parent / "second" / "l.db", clock=SystemClock())
    fresh.append(case="c", kind=first.kind, body=first.body)
    [answer] = asyncio.run(finish_open(tools(fresh, ScriptedPlayer())))
    assert answer["outcome"] == "committed"


def test_a_verdict_without_an_end_is_only_closed(ledger: SqlLedger) -> None:
    """A kill between the last two records plays nothing again."""
    make(ledger, ScriptedPlayer())
    *records, end = ledger.records()
    assert end.kind == "intervention_done"
    fresh = open_ledger(Path(ledger.where).parent.parent / "second" / "l.db", clock=SystemClock())
    for record in records:
        fresh.append(case="c", kind=record.kind, body=record.body, run=record.run)
    player = ScriptedPlayer()
    [answer] = asyncio.run(finish_open(tools(fresh, player)))
    assert (answer["outcome"], player.played) == ("committed", [])
    assert outcome_on_record(fresh) == "committed"


@pytest.mark.parametrize("step", ["swap", "restart", "setting"])
@pytest.mark.parametrize("ending", [asyncio.CancelledError, KeyboardInterrupt])
def test_an_interruption_turns_round_before_it_goes_on(
    ledger: SqlLedger, step: str, ending: type[BaseException]
) -> None:
    """The old bytes are back and on record when the interruption reaches the caller."""
    player = ScriptedPlayer(ends={step: ending()})

    async def interrupted() -> None:
        with pytest.raises(ending):
            await make_change(PLAN, case="c", tools=tools(ledger, player))

    asyncio.run(interrupted())
    assert "rollback-swap" in player.played
    assert outcome_on_record(ledger) == "rolled-back"


def test_an_interruption_whose_way_back_fails_is_loud(ledger: SqlLedger) -> None:
    """The caller gets the error of the operator instead of a quiet interruption."""
    player = ScriptedPlayer(ends={"setting": asyncio.CancelledError()}, broken="rollback-restart")

    async def interrupted() -> None:
        with pytest.raises(ExonerateError, match="what is live is not known"):
            await make_change(PLAN, case="c", tools=tools(ledger, player))

    asyncio.run(interrupted())
    assert outcome_on_record(ledger) == "rollback-failed"


def test_a_change_that_was_made_before_is_only_recorded(ledger: SqlLedger) -> None:
    """Nothing is played; it stands like any other."""
    player = ScriptedPlayer()
    record_done_change(PLAN, case="c", tools=tools(ledger, player))
    assert player.played == []
    assert outcome_on_record(ledger) == "committed"
