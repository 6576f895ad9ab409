"""A run of `locate` in the ledger: decided again the same, and without the victim's secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.world import OK, SILENT, World

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.compose import DECIDERS
from exonerate.core.case.answers import objects_in
from exonerate.core.case.redaction import Redactor
from exonerate.core.ports import Progress
from exonerate.core.scene import Event, Scene
from exonerate.jobs.ledger_run import verify
from exonerate.jobs.locate import LocateRequest, locate

SECRET = "hunter2Hunter2"


class WorldPlayer:
    """Plays scenes in a simulated world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """What the world shows of the scene."""
        return self._world.play(scene)


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """An empty ledger."""
    return open_ledger(tmp_path / "ledger.db", clock=SystemClock())


def located(ledger: SqlLedger, world: World, run: str) -> object:
    """The outcome of a run of `locate`, as it was recorded."""
    request = LocateRequest(case="c1", run=run, seed=3, budget_s=60, symptom="hang")
    answer = asyncio.run(
        locate(
            world.deployment,
            request,
            ledger=ledger,
            player=WorldPlayer(world),
            redactor=Redactor(ledger.key()),
            progress=lambda what, fraction: None,
        )
    )
    return answer["outcome"]


def decided_again(ledger: SqlLedger) -> list[object]:
    """Whether each verdict is the same when it is decided again from the ledger."""
    verdicts = verify(ledger.check_chain(), DECIDERS)["verdicts"]
    return [entry.get("same") for entry in objects_in({"verdicts": verdicts}, "verdicts")]


def guilty_proxy() -> World:
    """A proxy that swallows the fourth request of a connection."""
    return World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)


def test_verdicts_of_locate_are_decided_again_the_same(ledger: SqlLedger) -> None:
    """From the ledger alone, a conviction and an acquittal come out as they were given."""
    assert located(ledger, guilty_proxy(), "run-1") == "fault"
    assert located(ledger, World(lambda _: OK), "run-2") == "no_fault"
    assert decided_again(ledger) == [True, True]


def test_secrets_of_the_deployment_do_not_reach_the_disk(ledger: SqlLedger, tmp_path: Path) -> None:
    """A password in a hop's address and a key in the victim's headers are kept as hashes only."""
    world = guilty_proxy()
    hops = tuple(
        replace(hop, url=hop.url.replace("://", f"://ann:{SECRET}@"))
        for hop in world.deployment.hops
    )
    victim = replace(world.deployment.victim, headers=(("X-Api-Key", SECRET),))
    world.deployment = replace(world.deployment, hops=hops, victim=victim)
    assert located(ledger, world, "run-1") == "fault"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    assert decided_again(ledger) == [True]
