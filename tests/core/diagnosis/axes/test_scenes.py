"""The scene of one axis."""

from dataclasses import replace
from itertools import pairwise

from tests.support.world import OK, SILENT, Answer, World, judgement_after

from exonerate.core.deployment.model import Hop
from exonerate.core.deployment.topology import hop_named
from exonerate.core.diagnosis.axes.registry import AXES, axis_of
from exonerate.core.diagnosis.axes.scenes import Inquiry, applicable, axis_scene, cost_s
from exonerate.core.scene import ProbeSession, Scene


def scene_of(slug: str, world: World, *, gentle: bool = False) -> Scene:
    """The scene that varies one axis after the fourth request of a connection hung at the edge."""
    axis = axis_of(f"{slug}-flip")
    assert axis is not None
    facts = judgement_after(world).facts
    inquiry = Inquiry(axis, hop_named(world.deployment, "edge"))
    assert applicable(world.deployment, facts, inquiry)
    return axis_scene(world.deployment, facts, inquiry, seed=1, gentle=gentle)


def fourth_hangs() -> World:
    """A world with the founding fault."""
    return World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)


def sessions_of(scene: Scene) -> list[ProbeSession]:
    """The sessions of a scene in their order."""
    return [a for a in scene.activities if isinstance(a, ProbeSession)]


def test_each_session_waits_for_the_one_before_however_that_ended() -> None:
    """Never two requests at once, and a control that fails does not end the scene."""
    sessions = sessions_of(scene_of("size", fourth_hangs()))
    assert len(sessions) == 6
    assert sessions[0].once_over == ()
    for earlier, later in pairwise(sessions):
        assert later.once_over == (earlier.name,)


def test_the_two_arms_differ_in_one_thing_and_in_the_salt_of_the_prompt() -> None:
    """What is compared is the change, and no prefix cache."""
    control, changed = sessions_of(scene_of("keepalive", fourth_hangs()))[:2]
    salted = replace(changed.request, prompt=control.request.prompt)
    assert control.request.prompt.salt != changed.request.prompt.salt
    alike = replace(changed, name=control.name, request=salted, once_over=(), tcp_keepalive_s=None)
    assert alike == control


def test_the_sessions_end_with_the_round_that_is_known_to_fail() -> None:
    """No request more than the symptom needs."""
    assert {s.rounds for s in sessions_of(scene_of("idle", fourth_hangs()))} == {4}


def test_the_victims_other_sessions_come_along_on_both_sides() -> None:
    """A symptom that needs company has it; the axis `load` takes it away."""
    world = fourth_hangs()
    world.deployment = replace(
        world.deployment, victim=replace(world.deployment.victim, concurrency=3)
    )
    crowds = {
        name: sum(name in s.name for s in sessions_of(scene_of("idle", world)))
        for name in ("control-idle-1@", "axis-idle-1@")
    }
    assert crowds == {"control-idle-1@": 3, "axis-idle-1@": 3}
    load = [s.name for s in sessions_of(scene_of("load", world)) if "axis-load-2@" in s.name]
    assert load == ["axis-load-2@edge"]


def test_a_gentle_run_asks_nobody_else_while_a_round_waits() -> None:
    """Only the hop itself."""
    asked = {
        a.hop
        for trigger in scene_of("size", fourth_hangs(), gentle=True).triggers
        for a in trigger.play
        if isinstance(a, ProbeSession)
    }
    assert asked == {"edge"}


def test_names_within_a_scene_are_never_the_same() -> None:
    """Events are told apart by them."""
    for axis in AXES:
        world = fourth_hangs()
        facts = judgement_after(world).facts
        inquiry = Inquiry(axis, hop_named(world.deployment, "edge"))
        if not applicable(world.deployment, facts, inquiry):
            continue
        scene = axis_scene(world.deployment, facts, inquiry, seed=1)
        names = [a.name for a in scene.activities]
        names += [a.name for trigger in scene.triggers for a in trigger.play]
        assert len(names) == len(set(names)), axis.slug


def inquiry_of(slug: str, world: World) -> Inquiry:
    """One axis at the edge."""
    axis = axis_of(f"{slug}-flip")
    assert axis is not None
    return Inquiry(axis, hop_named(world.deployment, "edge"))


def test_what_only_later_requests_have_is_not_varied_where_the_first_is_ill() -> None:
    """Shorter pauses and new connections cannot make an answer smooth that came before any."""
    smooth = Answer(spread_s=0.6)
    world = World(lambda a: Answer(wait_s=0.6, spread_s=0.0) if a.hop == "edge" else smooth)
    facts = judgement_after(world).facts
    varied = [
        a.slug for a in AXES if applicable(world.deployment, facts, Inquiry(a, hop_of(world)))
    ]
    assert "idle" not in varied
    assert "fresh" not in varied
    assert "stream" in varied


def hop_of(world: World) -> Hop:
    """The first hop of the path."""
    return hop_named(world.deployment, "edge")


def test_a_scene_lasts_about_as_long_as_was_reckoned() -> None:
    """What an axis costs decides whether it is begun, so it is not far from the truth."""
    for slug in ("idle", "keepalive"):
        world = fourth_hangs()
        facts = judgement_after(world).facts
        reckoned_s = cost_s(facts, world.deployment, inquiry_of(slug, world))
        began_s = world.now_s
        world.play(axis_scene(world.deployment, facts, inquiry_of(slug, world), seed=1))
        assert 0.5 < reckoned_s / (world.now_s - began_s) < 2.0


def test_a_change_that_is_likely_to_cure_costs_less() -> None:
    """Nobody waits for a hang that does not come; and short pauses are short."""
    world = fourth_hangs()
    facts = judgement_after(world).facts
    in_vain = cost_s(facts, world.deployment, inquiry_of("keepalive", world))
    curing = cost_s(facts, world.deployment, inquiry_of("keepalive", world), cured=1.0)
    quicker = cost_s(facts, world.deployment, inquiry_of("idle", world))
    assert curing < in_vain
    assert quicker < in_vain
