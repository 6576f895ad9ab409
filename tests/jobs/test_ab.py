"""A/B and A/A on a made-up world: a file, a service that reads it, and load with known noise."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.case.records import Record
from exonerate.core.case.redaction import Redactor
from exonerate.core.deployment.knobs import effective_value
from exonerate.core.deployment.model import Deployment, Hop, Knob, Service, Victim
from exonerate.core.experiment.decide import RULES, decide
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Progress
from exonerate.core.scene import Event, LoadCell, ReadSetting, RestartService, Scene, SwapFile
from exonerate.errors import ExonerateError
from exonerate.jobs.ab import (
    ExperimentRequest,
    Means,
    Prepared,
    Run,
    finish_cut_off,
    prepare_aa,
    prepare_ab,
    run_experiment,
)
from exonerate.jobs.ledger_run import verify

ORIGINAL = b"#!/bin/sh\nexec engine --port 1\n"
"""The default holds: the line of the knob was taken out."""

DEPLOYMENT = Deployment(
    name="d",
    model="m",
    folder="/d",
    hops=(
        Hop(name="edge", role="proxy", url="http://127.0.0.1:8080"),
        Hop(name="engine", role="engine", url="http://127.0.0.1:8000", behind=("edge",)),
    ),
    victim=Victim(prompt_tokens=50, max_tokens=20),
    services=(Service(name="decode", hop="engine", start=("./serve.sh",)),),
    knobs=(
        Knob(
            name="TARGET_CTAS",
            service="decode",
            file="serve.sh",
            form="export",
            values=("256", "512"),
            default="256",
        ),
    ),
)
KNOB = DEPLOYMENT.knobs[0]


class Killed(BaseException):
    """The process ended without any chance to clean up."""


class World:
    """A file, a service and its speed; `trouble` maps (scene, activity) to what happens there."""

    def __init__(self, ledger: SqlLedger, *, gain: float = 0.12, seed: int = 0) -> None:
        self.ledger = ledger
        self.file = ORIGINAL
        self.running: str | None = "256"
        self.gain = gain
        self.rng = np.random.default_rng(seed)
        self.trouble: dict[tuple[str, str], Callable[[], Awaitable[str]]] = {}
        self.played: list[Scene] = []
        self.bent: Callable[[dict[str, Any]], None] = lambda cell: None
        self.wrong_setting = False

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """Perform the activities one after the other, as their `after` demands."""
        self.played.append(scene)
        restart = float(self.rng.normal(0, 0.004))
        events: list[Event] = []
        failed: set[str] = set()
        for at, activity in enumerate(scene.activities):
            if failed & set(activity.after):
                kind, data = "skipped", {"because": sorted(failed & set(activity.after))}
            else:
                kind, data = await self._perform(scene, activity, restart)
            if kind in ("failed", "skipped"):
                failed.add(activity.name)
            events.append(Event(activity.name, at, kind, data))
        return events

    async def _perform(self, scene: Scene, activity: Any, restart: float) -> tuple[str, Any]:
        trouble = self.trouble.pop((scene.id, activity.name), None)
        if trouble is not None:
            return "failed", {"why": await trouble()}
        if isinstance(activity, SwapFile):
            return self._swap(activity)
        if isinstance(activity, RestartService):
            self.running = effective_value(self.file, KNOB)
            return "restarted", {"service": activity.service, "pid": 1, "ready_s": 2.0}
        if isinstance(activity, ReadSetting):
            value = "999" if self.wrong_setting else self.running
            return "setting", {
                "service": activity.service,
                "processes": [
                    {"pid": 1, "value": None, "launcher": True},
                    {"pid": 2, "value": value},
                ],
            }
        assert isinstance(activity, LoadCell)
        return "cell", self._cell(activity, restart)

    def _swap(self, activity: SwapFile) -> tuple[str, Any]:
        target = self.ledger.get_blob(activity.target_sha256)
        if self.file != target and self.ledger.put_blob(self.file) != activity.expected_sha256:
            return "failed", {"why": "somebody edited it", "file": "unchanged"}
        self.file = target
        return "swapped", {
            "path": activity.path,
            "from_sha256": activity.expected_sha256,
            "to_sha256": activity.target_sha256,
            "method": "exchange",
        }

    def _cell(self, activity: LoadCell, restart: float) -> JsonObject:
        speed = {1: 40.0, 4: 120.0}[activity.concurrency]
        speed *= 1 + (self.gain if self.running == "512" else 0.0)
        speed *= float(np.exp(restart + self.rng.normal(0, 0.003)))
        step_ns = int(activity.request.max_tokens * activity.concurrency / speed * 1e9)
        rows: list[list[Any]] = []
        for number in range(activity.requests):
            begun = number // activity.concurrency * step_ns + number % activity.concurrency
            rows.append([begun, begun + 1000, begun + step_ns, activity.request.max_tokens, "ok"])
        cell: dict[str, Any] = {
            "concurrency": activity.concurrency,
            "begun_ns": 0,
            "ended_ns": max(row[2] for row in rows),
            "rows": rows,
            "instrument": {"cpu_s": 0.1, "cpu_share": 0.06, "lag_ms_p99": 0.8},
        }
        self.bent(cell)
        return cell


class FailingLedger:
    """A ledger whose disk is full the first few times that one kind of record is written."""

    def __init__(self, ledger: SqlLedger, *, kind: str, failures: int) -> None:
        self._ledger = ledger
        self._kind = kind
        self._failures = failures

    def append(self, **fields: Any) -> Record:
        """Fail, or write."""
        if fields["kind"] == self._kind and self._failures:
            self._failures -= 1
            raise ExonerateError("the disk is full", "free some space")
        return self._ledger.append(**fields)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world with its ledger, where 512 brings 12 %."""
    return World(open_ledger(tmp_path / "ledger.db", clock=SystemClock()))


SAID: list[str] = []


def means(world: World) -> Means:
    """The world as a job gets it."""
    SAID.clear()
    return Means(
        ledger=world.ledger,
        player=world,
        redactor=Redactor(world.ledger.key(), frozenset({KNOB.name})),
        clock=SystemClock(),
        progress=lambda text, fraction: SAID.append(text),
    )


def prepared(**changes: Any) -> Prepared:
    """An A/B of the knob with the values of the deployment."""
    request = ExperimentRequest(**{"seed": 7, "blocks": 3, "cells": (1, 4), **changes})
    return prepare_ab(DEPLOYMENT, KNOB.name, request, values=(), content=ORIGINAL)


def play(world: World, experiment: Prepared | None = None) -> Any:
    """Run the experiment to its answer."""
    run = Run(case="case", run="run-1", host="here")
    answer = asyncio.run(run_experiment(experiment or prepared(), run, means(world)))
    return json.loads(json.dumps(answer, allow_nan=False))


def gates(answer: Any, status: str) -> list[str]:
    """The names of the gates in one state."""
    return [gate["gate"] for gate in answer["gates"] if gate["status"] == status]


def assert_verifies(world: World) -> None:
    """Every verdict follows from the records of its run."""
    deciders = {("ab", RULES): decide, ("aa", RULES): decide}
    found: Any = verify(world.ledger.check_chain(), deciders)
    assert found["chain"] == "ok"
    assert found["unfinished_runs"] == []
    assert [verdict["same"] for verdict in found["verdicts"]] != []
    assert all(verdict["same"] for verdict in found["verdicts"]), found


def test_five_blocks_find_the_gain_and_put_everything_back(world: World) -> None:
    """The gain is found in every cell, the original bytes are back, and the verdict refolds."""
    answer = play(world, prepared(blocks=5))
    assert answer["arms"] == ["256", "512"]
    assert [cell["verdict"] for cell in answer["cells"]] == ["better", "better"]
    assert answer["primary"]["effect"] == pytest.approx(0.12, abs=0.01)
    assert answer["instrument"] == {"client_bound": False, "cpu_share": 0.06, "lag_ms_p99": 0.8}
    assert gates(answer, "broken") == []
    assert world.file == ORIGINAL
    assert world.running is None or world.running == "256"
    assert answer["restored"] is True
    assert len(answer["restarts"]) == 10
    assert_verifies(world)


def test_each_restart_is_a_scene_with_its_intent(world: World) -> None:
    """A restart exchanges, restarts, reads and then loads each cell after the other."""
    play(world, prepared(blocks=3))
    blocks = [scene for scene in world.played if scene.id.startswith("block")]
    assert [scene.id for scene in blocks] == [f"block-{b}-{p}" for b in (1, 2, 3) for p in (1, 2)]
    swapped = next(scene for scene in blocks if scene.activities[0].name == "swap")
    names = [activity.name for activity in swapped.activities]
    assert names[:3] == ["swap", "restart", "setting"]
    assert sorted(names[3:]) == ["cell-1", "cell-4"]
    assert [activity.after for activity in swapped.activities[1:]] == [
        (name,) for name in names[:-1]
    ]
    for first, second in zip(blocks[::2], blocks[1::2], strict=True):
        loads = [[a for a in s.activities if isinstance(a, LoadCell)] for s in (first, second)]
        assert [cell.concurrency for cell in loads[0]] == [cell.concurrency for cell in loads[1]]
        assert [cell.request for cell in loads[0]] == [cell.request for cell in loads[1]]


def test_load_goes_straight_to_the_engine(world: World) -> None:
    """The proxy in front is not part of the comparison."""
    play(world, prepared(blocks=1))
    hops = {a.hop for s in world.played for a in s.activities if isinstance(a, LoadCell)}
    assert hops == {"engine"}


def test_one_block_is_played_and_decides_nothing(world: World) -> None:
    """A single block has no interval and no verdict."""
    answer = play(world, prepared(blocks=1))
    assert answer["primary"]["verdict"] == "undecided"
    assert answer["primary"]["ci"] is None
    assert world.file == ORIGINAL


@pytest.mark.parametrize(
    "interruption", [asyncio.CancelledError, KeyboardInterrupt], ids=["cancelled", "interrupted"]
)
@pytest.mark.parametrize("activity", ["swap", "restart", "cell-4"])
def test_an_interruption_puts_the_original_bytes_back(
    world: World, activity: str, interruption: type[BaseException]
) -> None:
    """Ctrl-C at any step ends in the original bytes and a running service, and says so."""

    async def interrupt() -> str:
        raise interruption

    scene = "block-1-1" if prepared().setup.schedule[0].arms[0] == "512" else "block-1-2"
    world.trouble[scene, activity] = interrupt
    with pytest.raises(interruption):
        play(world)
    assert world.file == ORIGINAL
    assert effective_value(world.file, KNOB) == world.running
    assert "the original state of decode is back" in SAID
    (verdict,) = (r for r in world.ledger.records(run="run-1") if r.kind == "verdict")
    answer: Any = verdict.body["answer"]
    assert answer["restored"] is True
    assert "planned blocks were played: interrupted" in answer["warnings"][0]
    assert_verifies(world)


@pytest.mark.parametrize("before_swap", [True, False])
def test_a_kill_is_finished_by_the_next_command(world: World, before_swap: bool) -> None:
    """After a kill the next command finds the open intent and puts the original bytes back."""

    async def kill() -> str:
        raise Killed

    scene = "block-1-1" if prepared().setup.schedule[0].arms[0] == "512" else "block-1-2"
    world.trouble[scene, "swap" if before_swap else "restart"] = kill
    with pytest.raises(Killed):
        play(world)
    assert (world.file == ORIGINAL) == before_swap
    work = means(world)
    assert asyncio.run(finish_cut_off(DEPLOYMENT, work, host="elsewhere")) == ()
    (answer,) = asyncio.run(finish_cut_off(DEPLOYMENT, work, host="here"))
    assert world.file == ORIGINAL
    assert answer["restored"] is True
    assert asyncio.run(finish_cut_off(DEPLOYMENT, work, host="here")) == ()
    assert_verifies(world)


def test_a_second_interruption_does_not_stop_the_restore(world: World) -> None:
    """A task that is cancelled again while the original bytes go back still puts them back."""

    async def main() -> None:
        run = Run(case="case", run="run-1", host="here")
        task = asyncio.ensure_future(run_experiment(prepared(), run, means(world)))

        async def cancel_and_wait() -> str:
            task.cancel()
            await asyncio.sleep(0)
            return "cancelled"

        async def cancel_once_more() -> str:
            task.cancel()
            await asyncio.sleep(0.01)
            return "this try is spoilt"

        scene = "block-1-1" if prepared().setup.schedule[0].arms[0] == "512" else "block-1-2"
        world.trouble[scene, "cell-4"] = cancel_and_wait
        world.trouble["restore-1", "restart"] = cancel_once_more
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [played.id for played in world.played[-2:]] == ["restore-1", "restore-2"]
    assert world.file == ORIGINAL
    assert "the original state of decode is back" in SAID
    assert_verifies(world)


@pytest.mark.parametrize("failures", [1, 100])
def test_a_full_disk_ends_in_the_original_or_in_a_loud_word(world: World, failures: int) -> None:
    """When the ledger fails once, the original comes back; when it keeps failing, that is said."""
    work = means(world)
    failing = FailingLedger(world.ledger, kind="scene_played", failures=failures)
    experiment = run_experiment(
        prepared(), Run(case="case", run="run-1", host="here"), replace(work, ledger=failing)
    )
    with pytest.raises(ExonerateError, match="disk is full"):
        asyncio.run(experiment)
    last = "is back" if failures == 1 else "the next command goes on with it"
    assert last in SAID[-1]
    if failures > 1:
        (answer,) = asyncio.run(finish_cut_off(DEPLOYMENT, work, host="here"))
        assert answer["restored"] is True
    assert world.file == ORIGINAL
    assert_verifies(world)


def test_a_kill_between_two_scenes_does_not_go_on_with_the_experiment(world: World) -> None:
    """When no scene was under way, the next command restores and starts no further block."""
    play(world, prepared(blocks=1))
    records = list(world.ledger.records(run="run-1"))
    cut = next(i for i, r in enumerate(records) if r.kind == "scene_played") + 1
    for record in records[:cut]:
        world.ledger.append(case="case", kind=record.kind, body=record.body, run="run-2")
    played = len(world.played)
    (answer,) = asyncio.run(finish_cut_off(DEPLOYMENT, means(world), host="here"))
    assert [scene.id for scene in world.played[played:]] == ["restore-1"]
    assert answer["restored"] is True


def test_somebody_elses_edit_is_never_overwritten(world: World) -> None:
    """A file edited by hand in the middle is left as it is, and the answer says so loudly."""

    async def edit() -> str:
        world.file = b"edited by hand\n"
        raise asyncio.CancelledError

    world.trouble["block-2-1", "restart"] = edit
    with pytest.raises(asyncio.CancelledError):
        play(world)
    assert world.file == b"edited by hand\n"
    assert any("NOT back" in text for text in SAID)
    (verdict,) = (r for r in world.ledger.records(run="run-1") if r.kind == "verdict")
    answer: Any = verdict.body["answer"]
    assert answer["restored"] is False
    assert answer["primary"]["verdict"] == "invalid"
    assert "restore" in gates(answer, "broken")
    assert_verifies(world)


def test_an_arm_that_does_not_come_up_ends_the_experiment(world: World) -> None:
    """A failed restart is a broken gate; the original bytes come back and nothing is compared."""

    async def refuse() -> str:
        return "not ready within 600 s"

    world.trouble["block-2-1", "restart"] = refuse
    answer = play(world)
    assert answer["primary"]["verdict"] == "invalid"
    assert "start" in gates(answer, "broken")
    assert "not ready within 600 s" in answer["primary"]["why"]
    assert world.file == ORIGINAL
    assert len(answer["restarts"]) == 3
    assert_verifies(world)


def test_a_restore_that_fails_is_tried_again(world: World) -> None:
    """A service that does not come up with the original bytes at first gets another try."""

    async def refuse() -> str:
        return "port in use"

    world.trouble["restore-1", "restart"] = refuse
    ends_with_512 = next(
        seed for seed in range(50) if prepared(seed=seed).setup.schedule[-1].arms[1] == "512"
    )
    answer = play(world, prepared(seed=ends_with_512))
    assert [scene.id for scene in world.played[-2:]] == ["restore-1", "restore-2"]
    assert answer["restored"] is True
    assert world.file == ORIGINAL
    assert_verifies(world)


def test_a_setting_that_did_not_arrive_makes_the_answer_invalid(world: World) -> None:
    """When a worker has another value than the arm, no number is compared."""
    world.wrong_setting = True
    answer = play(world)
    assert gates(answer, "broken") == ["environment"]
    assert answer["primary"]["verdict"] == "invalid"
    assert "999" in answer["primary"]["why"]
    assert answer["primary"]["effect"] is None
    assert world.file == ORIGINAL


def fail_some(cell: dict[str, Any]) -> None:
    """One request in sixteen times out at C4."""
    if cell["concurrency"] == 4:
        cell["rows"][0][4] = "hXT"


def shorten_the_answers_of_one_arm(cell: dict[str, Any]) -> None:
    """Fast restarts produce fewer tokens per request."""
    if cell["ended_ns"] < 4.9e9 and cell["concurrency"] == 4:
        for row in cell["rows"]:
            row[3] -= 1


def leave_the_loop_half_full(cell: dict[str, Any]) -> None:
    """Requests of C4 take half as long as they should, so that two are in flight."""
    if cell["concurrency"] == 4:
        for row in cell["rows"]:
            row[2] = row[0] + (row[2] - row[0]) // 2


def slow_the_client(cell: dict[str, Any]) -> None:
    """The load generator says of itself that it set the pace at C4."""
    if cell["concurrency"] == 4:
        cell["instrument"] |= {"client_bound": True, "why": "its core was full"}


@pytest.mark.parametrize(
    ("bent", "gate"),
    [
        (fail_some, "errors"),
        (shorten_the_answers_of_one_arm, "tokens"),
        (leave_the_loop_half_full, "in-flight"),
        (slow_the_client, "instrument"),
    ],
)
def test_a_broken_gate_spoils_its_cell_and_the_band(
    world: World, bent: Callable[[dict[str, Any]], None], gate: str
) -> None:
    """A gate that breaks at C4 makes C4 and the band invalid and leaves C1 alone."""
    world.bent = bent
    answer = play(world)
    assert gates(answer, "broken") == [gate]
    verdicts = {cell["cell"]: cell["verdict"] for cell in answer["cells"]}
    assert verdicts == {1: "better", 4: "invalid"}
    assert answer["primary"]["verdict"] == "invalid"


def test_planned_looks_stop_early(world: World) -> None:
    """A clear gain is settled at the look after three blocks, and that is no interruption."""
    answer = play(world, prepared(blocks=8, looks=True))
    assert (answer["blocks"], answer["plan"]) == (3, "looks")
    assert answer["primary"]["verdict"] == "better"
    assert "the look after 3 blocks settled it" in answer["warnings"][0]
    assert_verifies(world)


def test_an_aa_measures_the_noise_and_touches_no_file(world: World) -> None:
    """An A/A exchanges nothing, finds no difference, and tells the noise that was put in."""
    request = ExperimentRequest(seed=1, blocks=8, cells=(1, 4))
    answer = play(world, prepare_aa(DEPLOYMENT, None, request))
    assert answer["primary"]["verdict"] in ("flat", "undecided")
    assert answer["noise"]["cell_value_sd"] == pytest.approx(0.005, rel=0.6)
    assert answer["noise"]["enough"] is True
    assert not any(isinstance(a, SwapFile) for s in world.played for a in s.activities)
    assert len(world.played) == 16
    assert_verifies(world)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: prepared(primary=(8,)), "`--primary` names C8, which is not measured"),
        (lambda: prepared(guards=(8,)), "`--guard` names C8, which is not measured"),
        (
            lambda: prepare_ab(
                DEPLOYMENT, "TARGET", ExperimentRequest(seed=1), values=(), content=ORIGINAL
            ),
            "the deployment has no knob `TARGET`",
        ),
        (
            lambda: prepare_ab(
                DEPLOYMENT, KNOB.name, ExperimentRequest(seed=1), values=("1",), content=ORIGINAL
            ),
            "needs two different values; given: 1",
        ),
        (
            lambda: prepare_aa(DEPLOYMENT, "prefill", ExperimentRequest(seed=1)),
            "the deployment has no service `prefill`",
        ),
        (
            lambda: prepare_aa(
                Deployment(name="d", model="m", folder="/d"), None, ExperimentRequest(seed=1)
            ),
            "`aa` has to know which service to restart; there are 0",
        ),
    ],
)
def test_an_experiment_that_cannot_be_is_refused(call: Callable[[], object], words: str) -> None:
    """Unknown knobs, values, cells and services are named before anything is touched."""
    with pytest.raises(ExonerateError) as caught:
        call()
    assert words in caught.value.problem
    assert caught.value.hint
