"""The player: order, skipping, background, limits and interruption, with tiny performers."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.support.skipped_time import played

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.player import ActivityFailed, ScenePlayer, Stage
from exonerate.core.scene import (
    Activity,
    Event,
    ProbeSession,
    PromptRecipe,
    ReadSetting,
    RequestRecipe,
    RestartService,
    SampleMetrics,
    Scene,
)
from exonerate.errors import ExonerateError


def silent(text: str, fraction: float | None) -> None:
    """No progress is shown."""


async def restart(activity: Activity, stage: Stage) -> None:
    """A service called `broken` cannot be restarted."""
    assert isinstance(activity, RestartService)
    await asyncio.sleep(0.01)
    if activity.service == "broken":
        raise ActivityFailed("it did not start")
    if activity.service == "slow":
        await asyncio.sleep(60)
    stage.emit(activity.name, "restarted", {"service": activity.service})


async def read(activity: Activity, stage: Stage) -> None:
    """Reading a setting always works."""
    stage.emit(activity.name, "setting", {})


async def sample(activity: Activity, stage: Stage) -> None:
    """Samples until it is ended from outside."""
    while True:
        stage.emit(activity.name, "metrics", {})
        await asyncio.sleep(0.005)


async def ask(activity: Activity, stage: Stage) -> None:
    """A session whose rounds never go well at the hop `bad`."""
    assert isinstance(activity, ProbeSession)
    stage.emit(activity.name, "exchange", {})
    if activity.hop == "bad":
        raise ActivityFailed("a round did not complete")


PERFORMERS: dict[type[Activity], Callable[[Activity, Stage], Awaitable[None]]] = {
    RestartService: restart,
    ReadSetting: read,
    SampleMetrics: sample,
    ProbeSession: ask,
}


def play(*activities: Activity, limit_s: float = 60.0) -> list[Event]:
    """Play one scene."""
    player = ScenePlayer(clock=SystemClock(), performers=PERFORMERS)
    scene = Scene(id="s", why="test", activities=activities, time_limit_s=limit_s)
    return list(played(player.play(scene, silent)))


def reading(after: str) -> ReadSetting:
    """An activity that waits for another."""
    return ReadSetting(name="read", service="s", setting="x", form="export", after=(after,))


def test_an_activity_waits_for_those_it_comes_after() -> None:
    """The setting is read after the restart, whatever the order in the scene."""
    events = play(reading("restart"), RestartService(name="restart", service="good"))
    assert [event.kind for event in events] == ["restarted", "setting"]


def test_what_depends_on_a_failure_is_skipped_and_says_so() -> None:
    """A service that does not start has no setting to read."""
    events = play(RestartService(name="restart", service="broken"), reading("restart"))
    assert [event.kind for event in events] == ["failed", "skipped"]
    assert events[1].data == {"because": ["restart"]}


def session_at(hop: str, *once_over: str) -> ProbeSession:
    """A session that waits for others, however they end."""
    prompt = PromptRecipe(seed=1, prompt_tokens=1)
    request = RequestRecipe(path="/v1/completions", model="m", prompt=prompt, max_tokens=1)
    return ProbeSession(
        name=f"at {hop}", hop=hop, url="http://127.0.0.1:1", request=request, rounds=1,
        connection="fresh", think_s=0.0, deadline_s=1.0, once_over=once_over,
    )  # fmt: skip


def test_a_session_can_wait_for_one_that_fails() -> None:
    """A control that fails does not end the turns."""
    events = play(session_at("good", "at bad"), session_at("bad"))
    assert [(e.activity, e.kind) for e in events] == [
        ("at bad", "exchange"), ("at bad", "failed"), ("at good", "exchange"),
    ]  # fmt: skip


def test_background_activities_end_with_the_last_of_the_others() -> None:
    """A watch runs as long as there is something to watch."""
    watch = SampleMetrics(name="watch", hop="h", url="u", background=True)
    events = play(watch, RestartService(name="restart", service="good"))
    kinds = {event.kind for event in events}
    assert kinds == {"metrics", "restarted"}


def test_a_scene_that_does_not_end_is_ended_at_its_limit() -> None:
    """The limit is an event, and the scene is over."""
    events = play(RestartService(name="restart", service="slow"), limit_s=0.05)
    assert [event.activity for event in events] == ["scene"]
    assert events[0].kind == "failed"


def test_an_interrupted_scene_hands_over_what_it_saw() -> None:
    """Ctrl-C in the middle loses nothing that had been seen."""

    async def run() -> None:
        player = ScenePlayer(clock=SystemClock(), performers=PERFORMERS)
        scene = Scene(
            id="s",
            why="test",
            activities=(
                RestartService(name="quick", service="good"),
                RestartService(name="long", service="slow"),
            ),
        )
        async with asyncio.timeout(1.5):
            await player.play(scene, silent)

    with pytest.raises(TimeoutError) as caught:
        played(run())
    # Python before 3.11.3 does not name the cause.
    cancelled = caught.value.__cause__ or caught.value.__context__
    assert [event.activity for event in getattr(cancelled, "events", [])] == ["quick"]


def test_what_the_operator_must_change_comes_out_of_every_group() -> None:
    """Two activities that lack the same key give one plain error, with what was seen before."""

    async def lacking(activity: Activity, stage: Stage) -> None:
        stage.emit(activity.name, "begun", {})
        await asyncio.sleep(0)
        raise ExonerateError("there is no key", "export it")

    player = ScenePlayer(clock=SystemClock(), performers={RestartService: lacking})
    twice = tuple(RestartService(name=name, service="good") for name in "ab")
    scene = Scene(id="s", why="test", activities=twice, time_limit_s=60.0)
    with pytest.raises(ExonerateError, match="there is no key") as caught:
        asyncio.run(player.play(scene, silent))
    assert [event.kind for event in caught.value.events] == ["begun", "begun"]  # type: ignore[attr-defined]  # set by the player
