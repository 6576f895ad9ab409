"""What is asked beside the victim's session while it waits."""

from dataclasses import replace

import pytest
from tests.support.world import NS

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.aside import (
    FRESH,
    SMALL,
    fresh_session,
    meanwhile,
    small_meanwhile,
    small_one,
    while_waiting,
)
from exonerate.core.diagnosis.facts import Facts, Outcome, Round, Session, read_facts
from exonerate.core.diagnosis.inquiries import next_shape, victim_session
from exonerate.core.diagnosis.stalls import stalls_of
from exonerate.core.scene import ProbeSession
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

PAIR = """\
[deployment]
model = "m"
[[hop]]
name = "router"
role = "router"
url = "http://127.0.0.1:9000"
[[hop]]
name = "prefill"
role = "prefill"
url = "http://127.0.0.1:9001"
[[hop]]
name = "decode"
role = "decode"
url = "http://127.0.0.1:9002"
"""
ONE_ENGINE = """\
[deployment]
model = "m"
[[hop]]
name = "router"
role = "router"
url = "http://127.0.0.1:9000"
[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:9001"
"""


def played(plan: ProbeSession, outcome: Outcome, during: str | None) -> Session:
    """A session of one round that went so."""
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=1)
    exchange = Exchange(
        session=plan.name, hop=plan.hop, round=1, connection=connection, request_bytes=1,
        begun_ns=0, ended_ns=NS,
    )  # fmt: skip
    return Session("s", plan, (Round(exchange, outcome),), during)


def facts_of(small: Outcome, copy: Outcome) -> Facts:
    """A victim that waited, a small request and a copy of its own meanwhile."""
    deployment = parse_deployment(PAIR, path="test", folder="/")
    shape = next_shape(read_facts(()), deployment, None)
    plan = victim_session(deployment, deployment.hops[0], shape, 1)
    sessions = (
        played(plan, "hang", None),
        played(small_one(plan, "router"), small, plan.name),
        played(replace(plan, name="meanwhile@router/router"), copy, plan.name),
    )
    return replace(read_facts(()), sessions=sessions)


@pytest.mark.parametrize(("text", "asked"), [(PAIR, 1), (ONE_ENGINE, 0)])
def test_a_small_request_is_asked_only_where_nobody_past_the_hop_can_be(
    text: str, asked: int
) -> None:
    """The engines of a pair take no plain requests; an engine by itself does."""
    deployment = parse_deployment(text, path="test", folder="/")
    shape = next_shape(read_facts(()), deployment, None)
    plan = victim_session(deployment, deployment.hops[0], shape, 1)
    trigger, *_ = stalls_of(deployment, plan, shape.patience, gentle=False)
    small = [a for a in trigger.play if a.name.startswith(SMALL)]
    assert len(small) == asked
    for probe in small:
        assert isinstance(probe, ProbeSession)
        assert probe.request.prompt.prompt_tokens < plan.request.prompt.prompt_tokens
        assert probe.request.prompt.growth_tokens == 0


def test_a_small_request_that_passes_is_no_copy_of_the_one_that_waits() -> None:
    """Each is reported for itself."""
    facts = facts_of("ok", "hang")
    small, copy = (
        small_meanwhile("router", facts),
        meanwhile("router", "fresh-meanwhile", facts, {"router"}),
    )
    assert small is not None
    assert copy is not None
    assert (small.value, small.times) == ("ok", 1)
    assert (copy.value, copy.times) == ("fails", 1)


@pytest.mark.parametrize(
    ("begun_s", "told_s", "counts"),
    [(0.5, 0.9, True), (0.5, None, True), (0.5, 1.1, False), (1.0, 1.2, False), (1.5, None, False)],
)
def test_what_came_after_the_wait_says_nothing_of_it(
    begun_s: float, told_s: float | None, counts: bool
) -> None:
    """What held everybody up may have let go just then."""
    facts = facts_of("ok" if told_s is not None else "hang", "hang")
    victim, small, copy = facts.sessions
    exchange = replace(
        small.rounds[0].exchange,
        begun_ns=int(begun_s * NS),
        first_token_ns=None if told_s is None else int(told_s * NS),
        ended_ns=2 * NS,
    )
    moved = replace(small, rounds=(replace(small.rounds[0], exchange=exchange),))
    later = replace(facts, sessions=(victim, moved, copy))
    assert while_waiting(moved, later) is counts
    assert (small_meanwhile("router", later) is not None) is counts


@pytest.mark.parametrize(("went_well", "said"), [(2, None), (3, None), (4, "ok")])
def test_a_row_of_new_connections_that_was_cut_short_says_nothing(
    went_well: int, said: str | None
) -> None:
    """The victim's third request on its connection hung: fewer than four tell nothing of that."""
    deployment = parse_deployment(ONE_ENGINE, path="test", folder="/")
    shape = next_shape(read_facts(()), deployment, None)
    plan = replace(victim_session(deployment, deployment.hops[0], shape, 1), connection="reuse")
    failed = played(plan, "hang", None).rounds[0]
    third = replace(failed.exchange.connection, request_number=3)
    failed = replace(failed, exchange=replace(failed.exchange, connection=third))
    fresh = played(replace(plan, name=f"{FRESH}router", connection="fresh"), "ok", plan.name)
    rounds = (*fresh.rounds * went_well, replace(fresh.rounds[0], outcome="unfinished"))
    sessions = (Session("s", plan, (failed,), None), replace(fresh, rounds=rounds))
    seen = fresh_session("router", replace(read_facts(()), sessions=sessions))
    assert (seen.value if seen else None) == said
