"""Driving a job through the ledger, and deciding it again from what was recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.case.fold import fold_cases
from exonerate.core.case.records import ChainCheck, Record
from exonerate.core.case.redaction import Redactor
from exonerate.core.case.verdict import Verdict
from exonerate.core.instant import Instant
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Progress
from exonerate.core.scene import Event, SampleMetrics, Scene
from exonerate.jobs.ledger_run import Decider, RunStart, drive, resume, verify, wind_up

KEY = bytes(range(32))
RUN = RunStart(case="c1", run="r1", job="count", rules="1", seed=7, options={"target": 3})


class StoppedClock:
    """A clock that always shows the same time."""

    def now(self) -> Instant:
        """Always zero."""
        return Instant(0)

    def wall(self) -> str:
        """Always the same."""
        return "2026-01-01T00:00:00.000000Z"


class Interruption(KeyboardInterrupt):
    """Ctrl-C, with what had been seen until then."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self.events = events


class CountingPlayer:
    """Answers the n-th scene with the number n; interrupts or fails where it is told to."""

    def __init__(self, stop: BaseException | None = None, at: int = 2) -> None:
        self.played = 0
        self._stop = stop
        self._at = at

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """One event with the number of scenes played so far."""
        self.played += 1
        if self._stop is not None and self.played == self._at:
            raise self._stop
        return [Event("m", self.played, "metrics", {"n": self.played})]


def sampling(number: int, url: str = "http://engine/metrics") -> Scene:
    sample = SampleMetrics(name="m", hop="engine", url=url)
    return Scene(id=f"s{number}", why="count", activities=(sample,))


def decide(records: Sequence[Record]) -> Scene | Verdict:
    """Ask until the metric reaches the target of the run."""
    options = records[0].body["options"]
    assert isinstance(options, dict)
    played = [record for record in records if record.kind == "scene_played"]
    if len(played) < int(options["target"]):
        return sampling(len(played) + 1, str(options.get("url", "http://engine/metrics")))
    return Verdict(job="count", rules="1", answer={"outcome": "counted", "n": len(played)})


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """An empty ledger."""
    return open_ledger(tmp_path / "ledger.db", clock=StoppedClock())


def play(ledger: SqlLedger, player: CountingPlayer | None = None, run: RunStart = RUN) -> object:
    """Drive the counting job; returns its answer."""
    return asyncio.run(
        drive(
            decide,
            run=run,
            ledger=ledger,
            player=player or CountingPlayer(),
            redactor=Redactor(KEY),
            progress=lambda what, fraction: None,
        )
    )


def kinds(ledger: SqlLedger) -> list[str]:
    return [record.kind for record in ledger.records()]


def verified(chain: ChainCheck, rules: str = "1", decider: Decider = decide) -> dict[str, Any]:
    """The verification of the chain by these rules."""
    return dict(verify(chain, {("count", rules): decider}))


def test_every_intent_is_recorded_before_its_events(ledger: SqlLedger) -> None:
    """The ledger of a run reads: started, then planned and played in turn, then the verdict."""
    assert play(ledger) == {"outcome": "counted", "n": 3}
    assert kinds(ledger) == ["run_started", *["scene_planned", "scene_played"] * 3, "verdict"]


def test_finished_run_is_verified(ledger: SqlLedger) -> None:
    """Deciding again from the records gives the same scenes and the same verdict."""
    play(ledger)
    assert verified(ledger.check_chain()) == {
        "schema": "exonerate.verification/1",
        "records": 8,
        "chain": "ok",
        "first_bad": None,
        "head": ledger.records()[-1].hash,
        "verdicts": [{"id": "r1-verdict", "same": True, "why": None, "run": "r1"}],
        "unfinished_runs": [],
    }


def test_verdict_that_does_not_follow_is_found(ledger: SqlLedger) -> None:
    """A verdict that the records do not lead to is reported, though the chain is whole."""
    play(ledger)
    chain = ledger.check_chain()
    forged = replace(
        chain.sound[-1],
        body={**chain.sound[-1].body, "answer": {"outcome": "counted", "n": 4}},
    )
    (verdict,) = verified(ChainCheck(sound=(*chain.sound[:-1], forged), first_bad=None, records=8))[
        "verdicts"
    ]
    assert verdict["same"] is False
    assert "record 8" in verdict["why"]


def test_scene_that_does_not_follow_is_found(ledger: SqlLedger) -> None:
    """A changed event leads to another scene, which is noticed at the next plan."""
    play(ledger)
    chain = ledger.check_chain()
    without = tuple(record for record in chain.sound if record.seq != 3)
    (verdict,) = verified(ChainCheck(sound=without, first_bad=None, records=7))["verdicts"]
    assert "record 4 (scene_planned)" in verdict["why"]


def test_verdict_of_unknown_rules_is_neither_same_nor_other(ledger: SqlLedger) -> None:
    """Rules that this version no longer has cannot be recomputed, and it says so."""
    play(ledger)
    (verdict,) = verified(ledger.check_chain(), rules="2")["verdicts"]
    assert verdict["same"] is None
    assert "by rules 1" in verdict["why"]


def test_interrupted_scene_keeps_what_was_seen(ledger: SqlLedger) -> None:
    """Ctrl-C in a scene records what the player had seen, and ends the run without a verdict."""
    stop = Interruption([Event("m", 9, "metrics", {"n": 9})])
    with pytest.raises(KeyboardInterrupt):
        play(ledger, CountingPlayer(stop))
    assert kinds(ledger)[-2:] == ["scene_planned", "scene_played"]
    assert ledger.records()[-1].body["interrupted"] is True
    (case,) = fold_cases(ledger.records())
    assert case.runs[0].verdict is None
    assert verified(ledger.check_chain())["unfinished_runs"][0]["same"] is True


@pytest.mark.parametrize("stop", [asyncio.CancelledError(), RuntimeError("player broke")])
def test_scene_that_broke_off_stays_an_open_intent(ledger: SqlLedger, stop: BaseException) -> None:
    """A player that stops without a word leaves an intent that the case shows as unfinished."""
    with pytest.raises(type(stop)):
        play(ledger, CountingPlayer(stop))
    (case,) = fold_cases(ledger.records())
    assert [scene.scene for scene in case.unplayed] == ["s2"]
    assert case.is_unfinished


def test_decider_that_never_ends_is_stopped(ledger: SqlLedger) -> None:
    """A run plays at most the scenes it was allowed, then crashes as the defect it is."""
    player = CountingPlayer()
    endless = replace(RUN, options={"target": 10**6}, scenes_max=4)
    with pytest.raises(AssertionError, match="more than 4 scenes"):
        play(ledger, player, endless)
    assert player.played == 4


def test_secret_of_a_run_is_recorded_and_verified_as_its_hash(
    ledger: SqlLedger, tmp_path: Path
) -> None:
    """A password in an address is not on the disk, and the run still verifies."""
    options: JsonObject = {"target": 1, "url": "http://ann:hunter2@engine/metrics"}
    play(ledger, run=replace(RUN, options=options))
    assert b"hunter2" not in (tmp_path / "ledger.db").read_bytes()
    assert verified(ledger.check_chain())["verdicts"][0]["same"] is True


def careful(records: Sequence[Record]) -> Scene | Verdict:
    """As `decide`, but a scene that was cut off ends the run."""
    planned = [record for record in records if record.kind == "scene_planned"]
    played = [record for record in records if record.kind == "scene_played"]
    if len(planned) > len(played):
        return Verdict(job="count", rules="1", answer={"outcome": "cut off", "n": len(played)})
    return decide(records)


def cut_off(ledger: SqlLedger, at: int) -> None:
    """Drive the counting job until its player breaks in that scene."""
    with pytest.raises(RuntimeError):
        play(ledger, CountingPlayer(RuntimeError("killed"), at))


def go_on(way: Any, ledger: SqlLedger, decider: Decider) -> object:
    """Take the run up again from its records; returns its answer."""
    return asyncio.run(
        way(
            decider,
            ledger.records(run="r1"),
            ledger=ledger,
            player=CountingPlayer(),
            redactor=Redactor(KEY),
            progress=lambda what, fraction: None,
        )
    )


def test_run_that_was_cut_off_is_resumed(ledger: SqlLedger) -> None:
    """After a crash between two scenes the run goes on to the verdict it would have had."""
    with pytest.raises(KeyboardInterrupt):
        play(ledger, CountingPlayer(Interruption([Event("m", 2, "metrics", {"n": 2})])))
    assert go_on(resume, ledger, decide) == {"outcome": "counted", "n": 3}
    assert verified(ledger.check_chain())["verdicts"][0]["same"] is True


def test_scene_that_was_cut_off_is_shown_to_the_decider(ledger: SqlLedger) -> None:
    """A decider that is resumed in the middle of a scene can tell, and end the run."""
    cut_off(ledger, at=2)
    assert go_on(resume, ledger, careful) == {"outcome": "cut off", "n": 1}


def test_wound_up_run_begins_nothing_new(ledger: SqlLedger) -> None:
    """Winding up plans the next scene without playing it, so that the verdict can be followed."""
    with pytest.raises(KeyboardInterrupt):
        play(ledger, CountingPlayer(Interruption([])))
    assert go_on(wind_up, ledger, careful) == {"outcome": "cut off", "n": 2}
    assert kinds(ledger)[-2:] == ["scene_planned", "verdict"]
    chain = ledger.check_chain()
    assert [entry["same"] for entry in verified(chain, decider=careful)["verdicts"]] == [True]


def test_wound_up_run_that_was_cut_off_in_a_scene_goes_straight_to_its_verdict(
    ledger: SqlLedger,
) -> None:
    """Where a scene was under way, that one already says that the run was cut off."""
    cut_off(ledger, at=2)
    assert go_on(wind_up, ledger, careful) == {"outcome": "cut off", "n": 1}
    assert kinds(ledger).count("scene_planned") == 2


def test_verdict_outside_a_run_is_not_decided_again(ledger: SqlLedger) -> None:
    """A verdict without a run, or whose run has no beginning, is named and not judged."""
    body: JsonObject = {"id": "v", "job": "count", "rules": "1", "answer": {}}
    ledger.append(case="c1", kind="verdict", body=body)
    ledger.append(case="c1", kind="verdict", body=body, run="r9")
    checked = verified(ledger.check_chain())["verdicts"]
    assert [entry["same"] for entry in checked] == [None, None]
    assert "no run" in checked[0]["why"]
    assert "no beginning" in checked[1]["why"]
