"""A change step by step, with every step failing once, from records alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.case.records import GENESIS_HASH, Record, RecordKind
from exonerate.core.case.verdict import Verdict
from exonerate.core.change.plan import ChangePlan, plan_from_body, plan_to_body
from exonerate.core.change.restorer import decide, step_result
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event, ProbeSession, PromptRecipe, RequestRecipe, Scene
from exonerate.core.scene_json import event_to_json, scene_to_json
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange
from exonerate.core.wire.exchange_json import exchange_to_json

OLD, NEW = "a" * 64, "b" * 64
SMOKE = ProbeSession(
    name="smoke",
    hop="engine",
    url="http://127.0.0.1:1",
    request=RequestRecipe(
        path="/v1/completions",
        model="m",
        prompt=PromptRecipe(seed=0, prompt_tokens=4),
        max_tokens=4,
    ),
    rounds=1,
    connection="fresh",
    think_s=0.0,
    deadline_s=5.0,
)
PLAN = ChangePlan(
    id="change-1",
    type="restore",
    knob="KNOB",
    service="engine",
    form="export",
    file="/srv/serve.sh",
    was="256",
    to="512",
    file_was=None,
    file_to="512",
    base_sha256=OLD,
    target_sha256=NEW,
    restart=True,
    ready_timeout_s=60.0,
    smoke=SMOKE,
    purpose="give back what the revert took",
    prediction="it answers as before",
    confounds=("restart",),
    reason="the proxy was convicted",
)


@dataclass
class World:
    """A host that obeys scenes; `breaks` names the step (by its label) that goes wrong."""

    breaks: frozenset[str] = frozenset()
    content: str = OLD
    process: str = OLD
    records: list[Record] = field(default_factory=list)

    def record(self, kind: RecordKind, body: JsonObject) -> None:
        """Append one record (the chain does not matter here)."""
        seq = len(self.records) + 1
        record = Record(
            seq=seq, case="c", kind=kind, at="", body=body, prev=GENESIS_HASH, hash="", run="r"
        )
        self.records.append(record)

    def perform(self, scene: Scene) -> list[Event]:
        """What happens when the scene is played on this host."""
        label = scene.id.partition("/")[2].partition("#")[0]
        act = getattr(self, f"_{label.rpartition('-')[2]}")
        kind, data = act(scene, label in self.breaks)
        return [Event(scene.activities[0].name, 1, kind, data)]

    def _swap(self, scene: Scene, broken: bool) -> tuple[str, JsonObject]:
        swap = scene.activities[0]
        if broken:
            return "failed", {"why": "edited meanwhile", "file": "unchanged"}
        self.content = swap.target_sha256  # type: ignore[union-attr]  # a swap scene has a swap
        return "swapped", {"to_sha256": self.content, "method": "exchange"}

    def _restart(self, scene: Scene, broken: bool) -> tuple[str, JsonObject]:
        self.process = self.content
        return ("failed", {"why": "not ready"}) if broken else ("restarted", {"pid": 7})

    def _setting(self, scene: Scene, broken: bool) -> tuple[str, JsonObject]:
        value = "512" if (self.process == NEW) != broken else None
        launcher = {"pid": 6, "value": None, "launcher": True}
        return "setting", {"processes": [launcher, {"pid": 7, "value": value}]}

    def _smoke(self, scene: Scene, broken: bool) -> tuple[str, JsonObject]:
        exchange = Exchange(
            session="smoke",
            hop="engine",
            round=1,
            connection=ConnectionFacts(
                ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=1
            ),
            request_bytes=10,
            begun_ns=0,
            connected_ns=1,
            status=503 if broken else 200,
            body_complete=True,
            content=ContentFacts(done_seen=True),
        )
        return "exchange", exchange_to_json(exchange)


def run(
    world: World, plan: ChangePlan = PLAN, *, kill: Callable[[Scene], str] = lambda _: ""
) -> Verdict:
    """Play until the verdict; `kill` says how a scene is cut off, if it is.

    `before` or `after` it acts (nothing is written down), or `interrupted`.
    """
    if not world.records:
        world.record("run_started", {"options": {"plan": plan_to_body(plan)}})
    for _ in range(40):
        step = decide(world.records)
        if isinstance(step, Verdict):
            return step
        world.record("scene_planned", {"scene": scene_to_json(step)})
        how = kill(step)
        if how != "before":
            events = world.perform(step)
        if how == "":
            body: JsonObject = {"scene": step.id, "events": [event_to_json(e) for e in events]}
            world.record("scene_played", body)
            assert step_result(plan, step, events).step.label in step.id
        if how == "interrupted":
            world.record("scene_played", {"scene": step.id, "events": [], "interrupted": True})
    raise AssertionError("no verdict")


def outcome(verdict: Verdict) -> object:
    """The end that a verdict states."""
    return verdict.answer["outcome"]


def test_a_change_that_passes_every_gate_is_committed() -> None:
    """File, process and answer were all seen; what the engine does with it stays unknown."""
    world = World()
    verdict = run(world)
    assert outcome(verdict) == "committed"
    assert verdict.answer["live"] == "512"
    assert verdict.answer["arrived"] == {
        "state": "yes",
        "why": "= 512 in every process (1)",
        "processes": 1,
    }
    assert verdict.answer["answers"] is True
    assert isinstance(verdict.answer["in_effect"], dict)
    assert verdict.answer["in_effect"]["state"] == "unknown"


@pytest.mark.parametrize("broken", ["restart", "setting", "smoke"])
def test_a_failed_gate_brings_the_old_bytes_back(broken: str) -> None:
    """The file and the process are as before, and the reason is said."""
    world = World(breaks=frozenset({broken}))
    verdict = run(world)
    assert outcome(verdict) == "rolled-back"
    assert (world.content, world.process) == (OLD, OLD)
    assert verdict.answer["live"] == "256"
    assert broken in str(verdict.answer["why"])


@pytest.mark.parametrize("back", ["swap", "restart", "setting", "smoke"])
def test_a_failed_way_back_is_never_called_restored(back: str) -> None:
    """What is live is not known then, and the outcome says so."""
    world = World(breaks=frozenset({"smoke", f"rollback-{back}"}))
    verdict = run(world)
    assert outcome(verdict) == "rollback-failed"
    assert verdict.answer["live"] is None
    assert f"rollback-{back}" in str(verdict.answer["why"])


def test_a_file_that_was_edited_meanwhile_stops_the_change() -> None:
    """Nothing was touched, so nothing is restarted and nothing has to go back."""
    world = World(breaks=frozenset({"swap"}))
    verdict = run(world)
    assert outcome(verdict) == "refused"
    assert [r.kind for r in world.records].count("scene_planned") == 1


def test_without_a_restart_only_the_file_changes() -> None:
    """That the value arrived is then not claimed."""
    verdict = run(World(), replace(PLAN, restart=False))
    assert outcome(verdict) == "committed"
    assert verdict.answer["restarted"] is False
    assert isinstance(verdict.answer["arrived"], dict)
    assert verdict.answer["arrived"]["state"] == "not-checked"


@settings(deadline=None)
@given(
    st.sampled_from(["swap", "restart", "setting", "smoke"]),
    st.sampled_from(["before", "after"]),
    st.frozensets(st.sampled_from(["restart", "setting", "smoke", "rollback-restart"])),
)
def test_a_kill_in_any_step_is_finished_or_taken_back(
    step: str, when: str, breaks: frozenset[str]
) -> None:
    """A scene without an end is played again; the end is the same as without the kill."""
    killed: list[str] = []

    def kill_once(scene: Scene) -> str:
        if step in scene.id and not killed:
            killed.append(scene.id)
            return when
        return ""

    world, undisturbed = World(breaks=breaks), World(breaks=breaks)
    assert outcome(run(world, kill=kill_once)) == outcome(run(undisturbed))
    assert world.content == undisturbed.content


def test_a_step_that_never_ends_is_given_up_and_taken_back() -> None:
    """After three beginnings the change turns round instead of trying for ever."""
    world = World()
    verdict = run(world, kill=lambda scene: "before" if "/restart" in scene.id else "")
    assert outcome(verdict) == "rolled-back"
    assert "begun 3 times" in str(verdict.answer["why"])


@pytest.mark.parametrize("step", ["swap", "restart", "setting", "smoke"])
def test_an_interruption_turns_round(step: str) -> None:
    """Ctrl-C in any step leaves the old bytes live and arrived."""
    world = World()
    end = run(world, kill=lambda scene: "interrupted" if f"/{step}" in scene.id else "")
    assert outcome(end) == "rolled-back"
    assert "interrupted" in str(end.answer["why"])
    assert (world.content, world.process) == (OLD, OLD)


def test_an_interrupted_way_back_goes_on() -> None:
    """A second Ctrl-C does not leave the host between two configurations for good."""
    cut: list[str] = []

    def interrupt_once(scene: Scene) -> str:
        if scene.id.endswith("/rollback-restart") and not cut:
            cut.append(scene.id)
            return "interrupted"
        return ""

    world = World(breaks=frozenset({"smoke"}))
    assert outcome(run(world, kill=interrupt_once)) == "rolled-back"
    assert cut


def test_the_same_records_give_the_same_scene_at_every_prefix() -> None:
    """What was decided can be decided again from the ledger."""
    world = World(breaks=frozenset({"smoke"}))
    verdict = run(world)
    for index, record in enumerate(world.records):
        if record.kind == "scene_planned":
            again = decide(world.records[:index])
            assert isinstance(again, Scene)
            assert scene_to_json(again) == record.body["scene"]
    assert decide(world.records) == verdict


def test_a_plan_survives_the_ledger() -> None:
    """What is needed to take a change back is in its record."""
    assert plan_from_body(plan_to_body(PLAN)) == PLAN
    assert plan_from_body(plan_to_body(replace(PLAN, smoke=None))).smoke is None
