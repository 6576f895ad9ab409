"""The axes of the body."""

from dataclasses import replace

from tests.support.world import OK, Answer, World, judgement_after

from exonerate.core.deployment.topology import hop_named
from exonerate.core.diagnosis.axes.body import AXES, small_body_bytes
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.inquiries import next_shape, victim_session
from exonerate.core.scene import ProbeSession
from exonerate.core.workload.prompts import chat_body
from exonerate.core.workload.sized import round_body

REFUSED = Answer(status=413)
LIMIT = 4000


def refusing() -> tuple[World, Facts, ProbeSession]:
    """A box that refuses large bodies, what was seen of it, and the victim's session there."""
    world = World(lambda a: REFUSED if a.hop == "edge" and a.body_bytes > LIMIT else OK)
    facts = judgement_after(world).facts
    shape = next_shape(facts, world.deployment, None)
    edge = hop_named(world.deployment, "edge")
    return world, facts, victim_session(world.deployment, edge, shape, 1)


def test_a_small_body_is_smaller_than_all_that_failed() -> None:
    """The smallest that went well; half of the smallest that failed where none did."""
    _, facts, _ = refusing()
    small = small_body_bytes(facts, "edge")
    assert small is not None
    assert small <= LIMIT
    everything = World(lambda a: REFUSED if a.hop == "edge" else OK)
    failed = judgement_after(everything).facts
    first = next(s for s in failed.sessions if s.hop == "edge").rounds[0].exchange.body_sent_bytes
    assert small_body_bytes(failed, "edge") == first // 2


def test_fewer_prompt_tokens_come_in_as_many_bytes() -> None:
    """So that a limit of bytes and one of tokens come apart."""
    world, facts, session = refusing()
    axes = {axis.slug: axis for axis in AXES}
    changed = axes["tokens"].vary(session, facts, world.deployment)
    assert changed is not None
    for number in (1, 2):
        body = round_body(changed.request, number)
        was = chat_body(session.request, number)
        assert abs(len(body) - len(was)) < 40
        assert len(body.split()) < len(was.split()) / 4


def test_one_axis_changes_one_thing() -> None:
    """Each varied session differs from the victim's in one field of it, or of its request."""
    world, facts, session = refusing()
    for axis in AXES:
        changed = axis.vary(session, facts, world.deployment)
        if changed is None:
            continue
        assert changed != session, axis.slug
        assert replace(changed, request=session.request, accept_encoding=None) == session
