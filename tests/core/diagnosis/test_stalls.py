"""How long a hang is waited for, and when a side probe is given up."""

import pytest
from tests.support.world import OK, SILENT, Load, World, judgement_after

from exonerate.core.diagnosis.inquiries import next_shape, victim_scene
from exonerate.core.diagnosis.stalls import GIVE_UP_RATIO, REPEATED_RATIO
from exonerate.core.scene import ProbeSession, Scene


def scene_after_one(world: World) -> Scene:
    """The scene that copies the victim once more, after a first one was played."""
    judgement = judgement_after(world)
    shape = next_shape(judgement.facts, world.deployment, "edge")
    return victim_scene(world.deployment, shape, 1)


def ratio_at(scene: Scene, name: str) -> float | None:
    """How often a direct answer fits into a wait before it is given up."""
    return next(t.give_up_ratio for t in scene.triggers if t.session == name)


def test_a_hang_that_repeats_a_plain_one_is_given_up_sooner() -> None:
    """The first was waited for in full while the engine was idle and answered others."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    assert ratio_at(scene_after_one(world), "victim@edge") == REPEATED_RATIO


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(
            World(lambda a: SILENT if a.hop == "edge" else OK, Load(2, 3, 60.0)), id="busy-engine"
        ),
        pytest.param(World(lambda _: SILENT), id="nobody-is-answered"),
        pytest.param(World(lambda _: OK), id="all-is-well"),
    ],
)
def test_while_a_slow_engine_may_explain_the_wait_it_is_waited_for_in_full(world: World) -> None:
    """Nothing so far says that it was more than slow."""
    assert ratio_at(scene_after_one(world), "victim@edge") == GIVE_UP_RATIO


def test_where_all_went_well_only_the_entry_is_asked_again() -> None:
    """What the places behind it would add is load; once something fails they are asked again."""
    for rule, hops in (
        (lambda _: OK, ["edge"]),
        (lambda a: SILENT if a.hop == "edge" else OK, ["edge", "inner", "engine"]),
    ):
        scene = scene_after_one(World(rule))
        copies = [a for a in scene.activities if isinstance(a, ProbeSession)]
        assert [a.hop for a in copies if a.name.startswith("victim@")] == hops


def test_every_side_probe_is_compared_with_answers_past_its_hop() -> None:
    """A probe that hangs as well does not hold the scene up until its deadline."""
    scene = scene_after_one(World(lambda a: SILENT if a.hop == "edge" else OK))
    beside = {t.session: t.beside for t in scene.triggers if not t.play}
    assert beside["meanwhile@edge/edge"] == ("inner", "engine")
    assert beside["meanwhile@inner/edge"] == ("engine",)
    fresh = [
        activity.name
        for activity in scene.activities
        if isinstance(activity, ProbeSession) and activity.name.startswith("fresh@")
    ]
    assert [beside[name] for name in fresh] == [("inner", "engine")]
