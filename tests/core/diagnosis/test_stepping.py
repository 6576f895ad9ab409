"""Counters that rise to the end of a wait: whoever is stuck, it is not the scheduler."""

from collections.abc import Sequence
from dataclasses import replace

from tests.support.world import NS, OK, PATH, SILENT, Load, World, locate_in

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.facts import CounterSample, Outcome, Round, Session, read_facts
from exonerate.core.diagnosis.stepping import steps
from exonerate.core.json_access import at, object_of
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

ENGINE = parse_deployment(PATH, path="test", folder="/").hops[-1]
REQUEST = RequestRecipe(
    path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
)
PLAN = ProbeSession(
    name="victim@edge", hop="edge", url="http://e", request=REQUEST, rounds=1, connection="reuse",
    think_s=0.0, deadline_s=8.0,
)  # fmt: skip


def waited(begun_s: int, outcome: Outcome = "hang") -> Session:
    """A round that waited for 8 s."""
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=1)
    exchange = Exchange(
        session="p", hop="edge", round=1, connection=connection, request_bytes=1,
        begun_ns=begun_s * NS, ended_ns=(begun_s + 8) * NS, given_up="deadline",
    )  # fmt: skip
    return Session("s", PLAN, (Round(exchange, outcome),), None)


def seen(tokens: Sequence[float], *sessions: Session) -> str | None:
    """What is observed from a reading of the tokens every second."""
    samples = tuple(
        CounterSample("s", "c", "engine", second * NS, {"generated_tokens": count})
        for second, count in enumerate(tokens)
    )
    facts = replace(read_facts(()), sessions=sessions, counters=samples)
    observed = steps(ENGINE, facts, sessions)
    return None if observed is None else observed.value


def scheduler_stuck(answer: JsonObject) -> JsonObject:
    """The row of that suspect."""
    rows = at(answer, "suspects")
    assert isinstance(rows, list)
    (found,) = (object_of(row) for row in rows if at(row, "class") == "scheduler-stuck")
    return found


def test_counters_that_rise_to_the_end_go_on() -> None:
    """And those that stopped in the first half of the wait do not."""
    assert seen(range(0, 90, 10), waited(0)) == "go-on"
    assert seen([0, 10, 20, 30, 40, 40, 40, 40, 40], waited(0)) is None


def test_most_of_the_waits_must_have_seen_it() -> None:
    """One in which somebody was still served says little."""
    rising = [*range(0, 80, 10), *[80] * 17]
    assert seen(rising, waited(0)) == "go-on"
    assert seen(rising, waited(0), waited(16)) is None


def test_a_wait_that_was_answered_does_not_count() -> None:
    """The steps may have been its own."""
    assert seen(range(0, 90, 10), waited(0, "slow")) is None


def test_no_scheduler_is_stuck_that_makes_tokens_for_others() -> None:
    """Every entry hangs, and gauges do not tell whose work it is: nobody is accused of it."""
    answer = locate_in(World(lambda _: SILENT, load=Load(running=3, tokens_per_s=100)))
    assert answer["outcome"] == "insufficient_evidence"
    contradicted = at(scheduler_stuck(answer), "contradicted_by")
    assert isinstance(contradicted, list)
    assert "steps@engine=go-on" in contradicted


def test_a_scheduler_that_makes_none_is_still_found() -> None:
    """Nothing speaks against it."""
    answer = locate_in(World(lambda _: SILENT, load=Load(running=9, waiting=9)))
    assert at(answer, "faults", 0, "class") == "scheduler-stuck"
    assert at(scheduler_stuck(answer), "contradicted_by") == []


def test_an_engine_that_worked_for_others_is_cleared_with_that() -> None:
    """A box swallows requests while the engine's queues turn."""
    world = World(
        lambda asked: SILENT if asked.hop == "edge" and asked.on_connection == 4 else OK,
        load=Load(running=3, tokens_per_s=100),
    )
    answer = locate_in(world)
    assert at(answer, "faults", 0, "class") == "drops-requests"
    cleared = answer["cleared"]
    assert isinstance(cleared, list)
    (why,) = [str(at(entry, "why")) for entry in cleared if at(entry, "hop") == "engine"]
    assert "engine still made steps" in why
