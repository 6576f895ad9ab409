"""The client judged from what crossed a tap: simulated runs in, verdicts out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tapped import (
    EVENTS,
    OPENING,
    TAP_PORT,
    Connection,
    Run,
    answer,
    chunk,
    request,
    status_answer,
)
from tests.support.world import OK, SILENT, Answer, Asked, World, record

from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.diagnosis.client.decide import JOB, RULES, decide
from exonerate.core.diagnosis.client.observed import OBSERVE_SCENE
from exonerate.core.scene import Event, Scene
from exonerate.core.scene_json import event_to_json, scene_to_json

SCENES_MAX = 24


@dataclass
class Told:
    """A run of the program, and the world that our own requests meet afterwards."""

    run: Run
    world: World = field(default_factory=lambda: World(lambda _: OK))
    scenes: list[str] = field(default_factory=list)

    def verdict(self, *, symptom: str | None = None) -> Any:
        """Decide until there is a verdict."""
        deployment = replace(self.world.deployment, name="told")
        body = {
            "job": JOB,
            "rules": RULES,
            "seed": 1,
            "budget_s": 120.0,
            "deployment": deployment_to_json(deployment),
            "options": {
                "symptom": symptom,
                "gentle": False,
                "tap_port": TAP_PORT,
                "run_limit_s": 60.0,
                "program": "agent",
            },
        }
        records: list[Record] = [record([], "run_started", body)]  # type: ignore[arg-type]  # JSON
        for _ in range(SCENES_MAX):
            decided = decide(records)
            if isinstance(decided, Verdict):
                return decided.answer
            self.scenes.append(decided.id)
            records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
            events = [event_to_json(event) for event in self._play(decided)]
            records.append(record(records, "scene_played", {"scene": decided.id, "events": events}))
        raise AssertionError("no verdict")

    def _play(self, scene: Scene) -> Sequence[Event]:
        if scene.id == OBSERVE_SCENE:
            self.world.now_s = self.run.ended_s + 0.1
            return self.run.events()
        return self.world.play(scene)


def blamed(verdict: Any) -> list[tuple[str, list[str]]]:
    """Class and hops of every fault."""
    return [(fault["class"], list(fault["hops"])) for fault in verdict["faults"]]


def healthy() -> Run:
    """Three rounds on one connection, all whole; the program says that all was well."""
    told = Connection(1).ask(0.1).reply(0.2).ask(0.9, request(60)).reply(1.0)
    told.ask(1.7, request(80)).reply(1.8).client_fin(2.0)
    return Run([told], ended_s=2.0)


def leaking(count: int, reply: list[bytes] | None = None) -> Run:
    """Each answer read, no connection given back; then nothing until the program fails."""
    connections = [
        Connection(n, opened_s=n * 0.6).ask(n * 0.6, request(40 + n)).reply(n * 0.6 + 0.1, reply)
        for n in range(1, count + 1)
    ]
    return Run(connections, ended_s=count * 0.6 + 6.0, status=1)


def deadlocked() -> Run:
    """Two rounds go well, the third answer is never read."""
    first = Connection(1).ask(0.1).reply(0.2).ask(0.8, request(60)).reply(0.9)
    last = Connection(2, opened_s=1.5).ask(1.5, request(80)).reply(1.6)
    size = sum(len(read) for read in answer())
    return Run([first, last], ended_s=8.0, status=1, unread={2: size})


def impatient(limit_s: float, tries: int) -> Run:
    """Every try is given up after the same time, before a byte came."""
    step_s = limit_s + 0.1
    connections = [
        Connection(n, opened_s=n * step_s).ask(n * step_s).client_fin(n * step_s + limit_s)
        for n in range(tries)
    ]
    return Run(connections, ended_s=tries * step_s, status=1)


def half_closing() -> Run:
    """FIN right after the request, and the hop takes it for the client's leaving."""
    told = Connection(1).ask(0.10).client_fin(0.101).hop_fin(0.12)
    return Run([told], ended_s=0.2, status=1)


def stale() -> Run:
    """The hop closes the idle connection at 1 s, the client asks on it at 1.6 s."""
    told = Connection(1).ask(0.1).reply(0.2).hop_fin(1.3).ask(1.9, request(60)).client_fin(1.92)
    return Run([told], ended_s=2.0, status=1)


def only_through(rule: Callable[[Asked], Answer]) -> World:
    """A world in which the rule holds at the first hop, and everybody else answers well."""
    return World(lambda asked: rule(asked) if asked.hop == "edge" else OK)


def test_a_run_that_went_well_accuses_nobody() -> None:
    """No fault, no request of our own, and the client among the cleared."""
    told = Told(healthy())
    verdict = told.verdict()
    assert verdict["outcome"] == "no_fault"
    assert told.scenes == [OBSERVE_SCENE]
    assert verdict["requests_sent"] == 0
    assert {entry.get("hop") for entry in verdict["cleared"]} == {
        "client",
        "edge",
        "inner",
        "engine",
    }


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_client_that_keeps_its_connections_is_blamed_for_its_pool(count: int) -> None:
    """The answers were whole, the connections are held, nothing is asked any more."""
    verdict = Told(leaking(count)).verdict()
    assert blamed(verdict) == [("pool-exhausted", ["client"])]
    assert verdict["faults"][0]["layer"] == "client"
    assert verdict["faults"][0]["details"]["after_requests"] == count
    assert "engine" in {entry.get("hop") for entry in verdict["cleared"]}


def test_a_pool_that_leaks_on_errors_is_blamed_and_the_errors_are_not() -> None:
    """429 was a legitimate answer."""
    assert blamed(Told(leaking(2, [status_answer(429)])).verdict()) == [
        ("pool-exhausted", ["client"])
    ]


def test_a_client_that_reads_no_further_than_the_end_marker_has_given_nothing_up() -> None:
    """What frames the end came after it had left; its leak after an error is found all the same."""
    told = Told(leaking(2, [status_answer(429)]))
    early = Connection(9, opened_s=0.0).ask(0.01).reply(0.1, answer()[:-1]).client_fin(0.2)
    told.run.connections.insert(0, early)
    verdict = told.verdict()
    assert blamed(verdict) == [("pool-exhausted", ["client"])]


def test_an_answer_that_nobody_reads_is_the_clients_deadlock() -> None:
    """It lies whole in the client's own socket."""
    assert blamed(Told(deadlocked()).verdict()) == [("client-deadlock", ["client"])]


def test_a_limit_shorter_than_a_healthy_answer_is_the_clients_timer() -> None:
    """Our own requests wait longer and are answered, directly too."""
    verdict = Told(impatient(1.5, 3), World(lambda _: Answer(wait_s=4.0))).verdict()
    assert blamed(verdict) == [("client-timer", ["client"])]
    assert verdict["faults"][0]["details"]["total_s"] == pytest.approx(1.5, abs=0.05)


def test_a_client_that_gives_up_on_a_hanging_path_is_not_blamed() -> None:
    """The proxy never answers: whatever the client's limit, that is not its fault."""
    verdict = Told(impatient(1.5, 3), only_through(lambda _: SILENT)).verdict()
    assert all("client" not in hops for _, hops in blamed(verdict))
    assert verdict["outcome"] != "no_fault"


def test_a_short_limit_and_a_path_that_holds_answers_back_are_two_faults_or_none() -> None:
    """The client alone is never blamed for lateness that the path adds."""
    late = only_through(lambda _: Answer(wait_s=4.0))
    verdict = Told(impatient(1.5, 3), late).verdict()
    assert blamed(verdict) != [("client-timer", ["client"])]


def test_a_limit_that_large_requests_meet_easily_is_not_blamed() -> None:
    """The same request was answered at once before: the wait was not in the request."""
    run = impatient(1.5, 3)
    run.connections.insert(0, Connection(9).ask(0.0).reply(0.1))
    verdict = Told(run, World(lambda _: Answer(wait_s=4.0))).verdict()
    assert all("client" not in hops for _, hops in blamed(verdict))


def test_a_half_closing_client_and_its_hop_are_named_together() -> None:
    """Without the half-close the same bytes are answered; with it they are not."""
    told = Told(half_closing(), World(lambda a: SILENT if a.half_close else OK))
    assert blamed(told.verdict()) == [("half-close", ["client", "edge"])]


def test_a_half_close_that_the_hop_tolerates_is_not_blamed() -> None:
    """The hop answers such requests of ours, so that the failure had another reason."""
    verdict = Told(half_closing()).verdict()
    assert verdict["outcome"] == "insufficient_evidence"


def test_a_client_that_asks_on_a_closed_connection_shares_a_boundary() -> None:
    """Both sides are named, with the time after which the hop closes."""
    told = Told(stale(), World(lambda _: OK, idle_close_s=1.0))
    verdict = told.verdict()
    assert blamed(verdict) == [("stale-reuse", ["client", "edge"])]
    assert verdict["faults"][0]["layer"] == "boundary"
    assert verdict["faults"][0]["details"]["idle_s"] == pytest.approx(1.0, abs=0.1)


def test_a_hop_that_does_not_close_again_convicts_nobody() -> None:
    """Seen once and never again: one accident."""
    assert blamed(Told(stale()).verdict()) == []


def test_the_proxy_that_swallows_a_request_is_found_behind_a_real_program() -> None:
    """The client is cleared, the box is named, and the probes copy what the client sent."""
    run = Run(
        [Connection(1).ask(0.1).reply(0.2).ask(0.8, request(60)).client_fin(9.0)],
        ended_s=9.1,
        status=1,
    )
    world = only_through(lambda a: SILENT if a.on_connection == 2 else OK)
    verdict = Told(run, world).verdict()
    assert [fault["class"] for fault in verdict["faults"]] == ["drops-requests"]
    assert "client" in {entry.get("hop") for entry in verdict["cleared"]}
    assert verdict["observed"]["victim"]["connection"] == "reuse"


def test_a_failure_that_our_requests_do_not_meet_is_no_acquittal() -> None:
    """The client failed on the wire and we did not: the evidence does not suffice."""
    run = Run([Connection(1).ask(0.1).reply(0.2, answer()[:3]).hop_fin(0.5)], 0.6, status=1)
    verdict = Told(run).verdict()
    assert verdict["outcome"] == "insufficient_evidence"
    assert verdict["cleared"] == []


def test_a_program_that_fails_by_itself_accuses_nobody() -> None:
    """All answers were whole and read: what went wrong did not cross the wire."""
    run = replace(healthy(), status=1)
    verdict = Told(run).verdict()
    assert verdict["outcome"] == "insufficient_evidence"
    assert verdict["faults"] == []
    assert "edge" in {entry.get("hop") for entry in verdict["cleared"]}


def test_a_program_that_goes_through_its_environments_proxy_is_told_so() -> None:
    """Nothing came to the tap, and its sockets lead to the proxy that its environment names."""
    proxies = {"HTTP_PROXY": "localhost:3128"}
    run = Run([], 4.0, status=1, peers=(("127.0.0.1", 3128),), proxies=proxies)
    verdict = Told(run).verdict()
    assert blamed(verdict) == [("env-proxy", ["client"])]
    assert verdict["faults"][0]["details"]["peer"] == "127.0.0.1:3128"


def test_a_program_that_talks_to_somebody_else_is_not_judged() -> None:
    """It has its own address: the answer says how to lead it to the tap."""
    verdict = Told(Run([], 4.0, status=1, peers=(("192.0.2.1", 443),))).verdict()
    assert verdict["outcome"] == "insufficient_evidence"
    assert "tap" in verdict["next"][0]


def test_a_client_that_asks_again_what_was_answered_is_suspected_and_not_convicted() -> None:
    """It may not understand the answer, or dislike what it says: the wire cannot tell."""
    told = Connection(1)
    for number in range(4):
        told.ask(number * 0.8).reply(number * 0.8 + 0.1)
    run = Run([told], ended_s=3.3, status=1)
    verdict = Told(run).verdict()
    assert verdict["outcome"] == "insufficient_evidence"
    assert verdict["suspects"][0]["class"] == "client-parser"
    assert "parser" in verdict["next"][0]


def test_a_stream_in_one_piece_is_compared_with_the_engines_own() -> None:
    """A happy program is not proof of a healthy path: the localiser is asked."""
    burst = [OPENING, b"".join(chunk(event) for event in EVENTS * 3) + answer()[-2] + answer()[-1]]
    told = Connection(1).ask(0.1).reply(2.0, burst).client_fin(2.5)
    seen = Told(Run([told], ended_s=2.6), only_through(lambda _: Answer(wait_s=0.45, spread_s=0.0)))
    verdict = seen.verdict()
    assert len(seen.scenes) > 1
    assert all(hops[0] == "edge" for _, hops in blamed(verdict))


STEPS = st.lists(
    st.tuples(
        st.floats(0.0, 3.0),
        st.floats(0.02, 2.5),
        st.sampled_from(["whole", "error", "same"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60)
@given(STEPS, st.floats(0.0, 1.0))
def test_a_program_that_says_all_went_well_and_got_answers_is_never_blamed(
    steps: list[tuple[float, float, str, bool]], tail_s: float
) -> None:
    """Whatever its pauses, its connections and the legitimate errors among its answers."""
    now_s = 0.1
    connections = [Connection(1)]
    for number, (pause_s, wait_s, kind, fresh) in enumerate(steps):
        now_s += pause_s
        if fresh:
            connections[-1].client_fin(now_s)
            connections.append(Connection(len(connections) + 1, opened_s=now_s))
        size = 40 if kind == "same" else 40 + number
        reply = [status_answer(503)] if kind == "error" else None
        connections[-1].ask(now_s, request(size)).reply(now_s + wait_s, reply)
        now_s += wait_s + 0.3
    run = Run(connections, ended_s=now_s + tail_s)
    assert Told(run).verdict()["faults"] == []


@pytest.mark.parametrize("blind_s", [2.0, 7.5])
def test_one_look_that_missed_the_unread_answer_makes_a_deadlock_no_leak(blind_s: float) -> None:
    """The first look may come before the bytes, the last one while the program ends."""
    (fault,) = blamed(Told(replace(deadlocked(), blind_s=(blind_s,))).verdict())
    assert fault == ("client-deadlock", ["client"])
