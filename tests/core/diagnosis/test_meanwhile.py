"""What the engine did while a victim round waited, from its counters."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.world import NS, SILENT, Answer, Load, World, judgement_after, locate_in

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.facts import CounterSample, Outcome, Round, Session, read_facts
from exonerate.core.diagnosis.meanwhile import engine_state, legs
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange


def states(load: Load) -> set[str]:
    """What is observed of an engine under that load by victims that all hang."""
    answer: JsonObject = locate_in(World(lambda _: SILENT, load=load))
    found: set[str] = set()
    for row in answer["observations"]:  # type: ignore[union-attr]  # a list
        name, _, value = str(row["id"]).partition("=")  # type: ignore[index,call-overload]  # object
        if name == "engine-meanwhile@engine":
            found.add(value)
    return found


@pytest.mark.parametrize(
    ("load", "state"),
    [
        (Load(idle=True), "idle"),
        (Load(running=9, waiting=9), "stuck"),
        (Load(running=1, waiting=12, tokens_per_s=100), "queueing"),
    ],
)
def test_probes_that_hang_together_do_not_hide_the_engine_from_each_other(
    load: Load, state: str
) -> None:
    """Every entry hangs at the same time, and the counters still tell."""
    assert states(load) == {state}


def test_no_load_is_no_evidence_while_the_engine_owes_an_answer() -> None:
    """The front end shows what a scheduler wrote that may be frozen since."""
    assert states(Load()) == set()


def exchange(begun_s: float, ended_s: float, *, answered: bool) -> Exchange:
    """A request of ours that lasted so."""
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=1)
    end = int(ended_s * NS)
    return Exchange(
        session="p", hop="edge", round=1, connection=connection, request_bytes=1,
        begun_ns=int(begun_s * NS), ended_ns=end, first_byte_ns=end if answered else None,
        first_token_ns=end if answered else None,
        given_up="no" if answered else "deadline",
    )  # fmt: skip


def state(
    counters: Sequence[tuple[float, float]],
    *,
    outcome: Outcome = "hang",
    other_s: float = 0.0,
    hung_from_s: float | None = None,
    aborted: Sequence[float] = (),
) -> str | None:
    """The engine's state in a round from 0 to 8 s, from (running, tokens) every half second.

    `other_s` is how long another request of ours, begun with it, took to be answered;
    `hung_from_s` when one was sent that hung as well.
    """
    request = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
    )
    plan = ProbeSession(
        name="victim@edge", hop="edge", url="http://e", request=request, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=8.0,
    )  # fmt: skip
    waited = Round(exchange(0.0, 8.0, answered=outcome == "slow"), outcome)
    session = Session("s", plan, (waited,), None)
    others = replace(plan, name="meanwhile@edge/edge")
    beside = Session(
        "s", others, (Round(exchange(0, other_s, answered=True), "ok"),), "victim@edge"
    )
    samples = tuple(
        CounterSample(
            "s", "c", "engine", int(number * NS / 2),
            {"running": running, "generated_tokens": tokens}
            | ({"aborted": aborted[number]} if aborted else {}),
        )
        for number, (running, tokens) in enumerate(counters)
    )  # fmt: skip
    sessions = (session, beside) if other_s else (session,)
    if hung_from_s is not None:
        copy = Round(exchange(hung_from_s, 9.0, answered=False), "hang")
        sessions = (*sessions, Session("s", others, (copy,), "victim@edge"))
    facts = replace(read_facts(()), sessions=sessions, counters=samples)
    return engine_state(facts, session, ["engine"])


def test_an_engine_that_holds_one_request_while_others_are_answered_is_holding_it() -> None:
    """It is not stuck: something moved for somebody."""
    moved = [(2.0, 10.0 * n) for n in range(4)]
    held = [(1.0, 30.0)] * 12
    assert state([*moved, *held], other_s=1.6) == "holding"
    assert state([(0.0, 30.0), *[(1.0, 30.0)] * 15]) == "stuck"


def test_a_load_that_was_there_before_and_never_changes_is_no_evidence() -> None:
    """Nobody may have written it for hours: neither is the engine stuck nor is it idle."""
    assert state([(1.0, 30.0)] * 16) is None


def test_queues_that_turn_are_not_stuck() -> None:
    """Others come and go while no token is counted: somebody works, and nobody is accused."""
    turning = [(0.0, 30.0), *[(float(2 + n % 2), 30.0) for n in range(15)]]
    assert state(turning, aborted=[0.0] * 16) is None
    assert state([(0.0, 30.0), *[(3.0, 30.0)] * 14, (2.0, 30.0)], aborted=[0.0] * 16) == "stuck"


def test_clients_that_lose_patience_do_not_make_the_queues_turn() -> None:
    """They leave as well, and are counted; where nobody counts them, nothing is concluded."""
    leaving = [(0.0, 30.0), *[(float(2 + n % 2), 30.0) for n in range(15)]]
    assert state(leaving, aborted=[float(n // 2) for n in range(16)]) == "stuck"
    assert state(leaving) == "stuck"


def test_an_engine_that_reads_one_long_prompt_shows_it_only_at_the_end() -> None:
    """Flat for seconds, and then all of it at once: it worked on what it answered."""
    silent_then_done = [*[(1.0, 0.0)] * 14, (1.0, 1.0), (1.0, 5.0)]
    assert state(silent_then_done, outcome="slow") == "progressing"
    assert state([*[(0.0, 0.0)] * 15, (1.0, 1.0)], outcome="slow") == "idle"


def test_load_that_is_not_ours_is_seen_although_our_own_comes_late_to_the_counters() -> None:
    """For a moment after we asked, the engine counts less than what is under way."""
    others = [(1.0, 10.0), *[(4.0, 10.0 * n) for n in range(2, 16)]]
    assert state(others) == "progressing"


def test_a_reading_from_before_the_engine_counted_the_request_does_not_make_it_idle() -> None:
    """The first reading shows nothing, all others what it holds."""
    assert state([(0.0, 30.0), *[(2.0, 30.0)] * 15]) == "stuck"
    assert state([(0.0, 30.0)] * 16) == "idle"


def test_a_copy_that_hangs_as_well_shows_only_as_it_comes() -> None:
    """The engine counts its prompt once; before and after that it holds what it has."""
    before, after = [(1.0, 30.0)] * 7, [(2.0, 42.0)] * 9
    assert state([*before, *after], hung_from_s=3.4) == "holding"


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


@pytest.mark.parametrize(
    ("prefill", "decode", "value"),
    [(0, 1, "decode-waits"), (1, 0, "prefill-waits"), (1, 1, "both-wait"), (0, 0, "neither")],
)
def test_the_leg_of_a_pair_that_holds_the_request_is_told_from_the_one_that_does_not(
    prefill: int, decode: int, value: str
) -> None:
    """Each leg by its own counters, while the request waits."""
    deployment = parse_deployment(PAIR, path="test", folder="/")
    request = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
    )
    plan = ProbeSession(
        name="victim@router", hop="router", url="http://r", request=request, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=8.0,
    )  # fmt: skip
    session = Session("s", plan, (Round(exchange(0.0, 8.0, answered=False), "hang"),), None)
    counters = tuple(
        CounterSample(
            "s", "c", hop, int(n * NS / 2),
            {"running": load if n else 0.0, "generated_tokens": 7.0},
        )
        for hop, load in (("prefill", float(prefill)), ("decode", float(decode)))
        for n in range(16)
    )  # fmt: skip
    facts = replace(read_facts(()), sessions=(session,), counters=counters)
    seen = legs(deployment.hops[0], facts, deployment, [session])
    assert seen is not None
    assert seen.value == value


def test_each_late_round_of_a_session_is_a_wait_of_its_own() -> None:
    """A queue that every request waits in is seen as often as one waited, not once a session."""
    load = Load(running=1, waiting=99, tokens_per_s=100)
    judgement = judgement_after(World(lambda _: Answer(wait_s=4.0), load=load))
    sessions = [s for s in judgement.facts.sessions if s.victim_shaped]
    seen = next(
        o for o in judgement.observations if (o.hop, o.observable) == ("engine", "engine-meanwhile")
    )
    assert seen.value == "queueing"
    assert seen.times == sum(len(session.rounds) for session in sessions)
