"""Probe sessions with triggers, against a small server that can fall silent."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.probed import ANSWER, play, server, session, slow_server
from tests.support.skipped_time import played

from exonerate.adapters.performers import watching
from exonerate.adapters.process_table import ProcessIdentity
from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.walk_sessions import walks_while_waiting
from exonerate.core.scene import Event, ProbeSession, Scene, Stall, WatchSockets
from exonerate.core.wire.exchange_json import exchange_from_json


def test_a_stall_starts_the_triggered_probe_while_the_victim_waits() -> None:
    """The new connection is answered while the round hangs, with the history of that round."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=2) as port:
            meanwhile = session("meanwhile", port, rounds=1)
            trigger = Stall(session="victim", after_s=0.3, play=(meanwhile,), give_up_ratio=5.0)
            victim = session("victim", port, rounds=3)
            return await play(Scene(id="s", why="t", activities=(victim,), triggers=(trigger,)))

    events = played(run())
    exchanges = {
        (event.activity, event.data["round"]): event.data
        for event in events
        if event.kind == "exchange"
    }
    hanging, other = exchanges["victim", 2], exchanges["meanwhile", 2]
    assert hanging["given_up"] == "provisional"
    assert other["given_up"] == "no"
    assert int(str(hanging["begun_ns"])) < int(str(other["begun_ns"]))
    assert int(str(other["ended_ns"])) < int(str(hanging["ended_ns"]))
    assert ("victim", 3) not in exchanges


def test_a_late_first_answer_does_not_use_up_what_a_hang_sets_off() -> None:
    """Nothing was asked for it, since it came while others waited as well; for the hang it is."""

    async def run() -> Sequence[Event]:
        async with server(2, cold_s=0.6) as edge, server(9, cold_s=0.65) as engine:
            victim = session("victim", edge, rounds=2)
            direct = replace(session("direct", engine, rounds=2), hop="engine")
            past = replace(
                session("past", engine, rounds=1),
                hop="engine",
                start_s=0.05,
                lane="beside@engine",
            )
            after = replace(past, name="after")
            triggers = (
                Stall(session="victim", after_s=0.4, play=(past,), give_up_ratio=3.0),
                Stall(session="direct", after_s=0.4, play=(after,)),
            )
            scene = Scene(id="s", why="t", activities=(victim, direct), triggers=triggers)
            return await play(scene)

    events = played(run())
    stalled = [e.data["round"] for e in events if (e.activity, e.kind) == ("victim", "stalled")]
    ends = [(e.activity, e.data["given_up"]) for e in events if e.kind == "exchange"]
    assert stalled == [1, 2]
    assert ("past", "no") in ends
    assert ("victim", "provisional") in ends


def test_a_round_that_is_answered_after_all_does_not_hold_the_scene_up() -> None:
    """A stall whose round ends ends with it, whatever the give-up ratio would have allowed."""

    async def run() -> float:
        async with server(silent_from=2) as port:
            meanwhile = session("meanwhile", port, rounds=1)
            trigger = Stall(session="victim", after_s=0.1, play=(meanwhile,), give_up_ratio=1e6)
            victim = session("victim", port, rounds=2, deadline_s=0.5)
            began = asyncio.get_running_loop().time()
            await play(Scene(id="s", why="t", activities=(victim,), triggers=(trigger,)))
            return asyncio.get_running_loop().time() - began

    assert played(run()) < 1.0


def test_the_rest_of_a_comparison_is_not_played() -> None:
    """Once the victim has failed in a round, the same session elsewhere ends after that round."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=2) as edge, server(silent_from=99) as engine:
            victim = session("victim", edge, rounds=4, deadline_s=0.3)
            direct = replace(
                session("direct", engine, rounds=9),
                think_s=0.5,
                no_longer_than=("victim",),
            )
            return await play(Scene(id="s", why="t", activities=(victim, direct)))

    rounds = [e.data["round"] for e in played(run()) if e.activity == "direct"]
    assert rounds == [1, 2]


def test_a_comparison_is_not_ahead_of_a_victim_that_waits() -> None:
    """Nothing would be compared with its next rounds, and they would be load beside the wait."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=2) as edge, server(silent_from=99) as engine:
            victim = session("victim", edge, rounds=4, deadline_s=1.5)
            direct = replace(session("direct", engine, rounds=9), no_longer_than=("victim",))
            direct = replace(direct, hop="engine", think_s=0.2)
            trigger = Stall(session="victim", after_s=0.3, play=())
            scene = Scene(id="s", why="t", activities=(victim, direct), triggers=(trigger,))
            return await play(scene)

    events = played(run())
    rounds = [e.data["round"] for e in events if e.activity == "direct" and e.kind == "exchange"]
    assert rounds == [1, 2]


def test_a_row_is_never_ahead_of_what_it_is_compared_with() -> None:
    """However quick it is: what is answered beside a wait must have been sent after it began."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=4) as edge, server(silent_from=99) as engine:
            walk = replace(
                session("walk", edge, rounds=6, deadline_s=9.0), think_s=0.3, in_turn=True
            )
            row = replace(session("row", engine, rounds=6), no_longer_than=("walk",), behind="walk")
            told = Stall(
                session="walk",
                after_s=0.3,
                play=(),
                give_up_ratio=8.0,
                look_s=0.4,
                beside=("engine",),
            )
            activities = (walk, replace(row, hop="engine", in_turn=True))
            return await play(Scene(id="s", why="t", activities=activities, triggers=(told,)))

    exchanges = [exchange_from_json(e.data) for e in played(run()) if e.kind == "exchange"]
    begun = {(e.session, e.round): e.begun_ns for e in exchanges}
    # The first ones are sent at the same time.
    assert all(begun["row", number] >= begun["walk", number] for number in (2, 3, 4))
    assert ("row", 5) not in begun
    hung = next(e for e in exchanges if (e.session, e.round) == ("walk", 4))
    assert hung.given_up == "provisional"


def test_without_an_answer_meanwhile_only_the_deadline_ends_the_wait() -> None:
    """When everything is silent a hang is not provisional: nothing shows what normal is."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=1) as port:
            meanwhile = session("meanwhile", port, rounds=1, deadline_s=0.5)
            trigger = Stall(session="victim", after_s=0.1, play=(meanwhile,), give_up_ratio=2.0)
            victim = session("victim", port, rounds=1, deadline_s=1.0)
            return await play(Scene(id="s", why="t", activities=(victim,), triggers=(trigger,)))

    ends = {e.activity: e.data["given_up"] for e in played(run()) if e.kind == "exchange"}
    assert ends == {"meanwhile": "deadline", "victim": "deadline"}


def test_a_round_that_hung_further_in_as_well_is_given_up_with_it() -> None:
    """What there is to ask was asked past the hop; another look would show the same."""

    async def run() -> Sequence[Event]:
        async with (
            server(silent_from=1) as outer,
            server(silent_from=1) as inner,
            server(silent_from=99) as engine,
        ):
            ports = {"outer": outer, "inner": inner, "engine": engine}

            def at(hop: str, name: str, rounds: int = 1) -> ProbeSession:
                plain = session(name, ports[hop], rounds=rounds, deadline_s=8.0)
                return replace(plain, hop=hop)

            def stall(hop: str, *past: str) -> Stall:
                play = tuple(at(other, f"meanwhile-{other}/{hop}") for other in past)
                return Stall(session=hop, after_s=0.3, play=play, give_up_ratio=2.0, look_s=0.5)

            activities = (at("outer", "outer"), at("inner", "inner"))
            triggers = (stall("outer", "inner", "engine"), stall("inner", "engine"))
            return await play(Scene(id="s", why="t", activities=activities, triggers=triggers))

    events = [e for e in played(run()) if e.kind == "exchange"]
    ended = {e.activity: int(str(e.data["ended_ns"])) for e in events}
    assert {e.data["given_up"] for e in events if e.activity == "outer"} == {"provisional"}
    assert ended["outer"] >= ended["inner"]
    assert not [name for name in ended if name.endswith("/outer")]


def test_a_side_probe_that_hangs_is_given_up_beside_later_answers_past_its_hop() -> None:
    """It does not wait for its deadline; without such answers it does."""

    async def run(*, answers: bool) -> Sequence[Event]:
        async with server(silent_from=1) as edge, server(silent_from=99) as engine:
            probe = session("side", edge, rounds=1, deadline_s=2.0)
            direct = replace(session("direct", engine, rounds=4), hop="engine", think_s=0.3)
            trigger = Stall(
                session="side", after_s=0.2, play=(), give_up_ratio=2.0, beside=("engine",)
            )
            activities = (probe, direct) if answers else (probe,)
            return await play(Scene(id="s", why="t", activities=activities, triggers=(trigger,)))

    for answers, ending in ((True, "provisional"), (False, "deadline")):
        events = [e for e in played(run(answers=answers)) if e.kind == "exchange"]
        assert [e.data["given_up"] for e in events if e.activity == "side"] == [ending]


def test_socket_counters_are_watched_as_long_as_the_session_lasts() -> None:
    """Readings stand before and during the session; unchanged ones are short."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=2) as port:
            watch = WatchSockets(
                name="sockets", hop="edge", host="127.0.0.1", port=port, count=1000,
                every_s=0.05, background=True,
            )  # fmt: skip
            victim = session("victim", port, rounds=2, deadline_s=1.5)
            return await play(Scene(id="s", why="t", activities=(watch, victim)))

    readings = [event.data for event in played(run()) if event.kind == "sockets"]
    assert len(readings) >= 3
    assert any(reading.get("same") for reading in readings)
    assert any(reading.get("rows") for reading in readings)


def test_nothing_is_sent_before_the_sockets_were_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a host that is slow to look, too: else what the first request adds cannot be told."""

    async def slow(_port: int) -> list[ProcessIdentity]:
        await asyncio.sleep(0.7)
        return []

    monkeypatch.setattr(watching, "_owners", slow)

    async def run() -> Sequence[Event]:
        async with server(silent_from=9) as port:
            watch = WatchSockets(
                name="sockets", hop="edge", host="127.0.0.1", port=port, count=1000,
                every_s=0.05, background=True,
            )  # fmt: skip
            victim = session("victim", port, rounds=2)
            return await play(Scene(id="s", why="t", activities=(victim, watch)))

    events = played(run())
    looked_ns = min(event.at_ns for event in events if event.kind == "sockets")
    begun = [int(str(e.data["begun_ns"])) for e in events if e.kind == "exchange"]
    assert looked_ns < min(begun)


def test_nothing_is_asked_past_a_hop_while_the_victim_waits_there_as_well() -> None:
    """An engine that is slow for everybody gets no more load; its answer is waited for first."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=1) as edge, server(silent_from=2) as engine:
            probes = [
                session("meanwhile-edge", edge, rounds=1, deadline_s=0.2),
                replace(session("meanwhile-engine", engine, rounds=1), hop="engine"),
            ]
            direct = replace(session("direct", engine, rounds=2, deadline_s=1.5), hop="engine")
            triggers = (
                Stall(session="victim", after_s=0.4, play=tuple(probes)),
                Stall(session="direct", after_s=0.3, play=()),
            )
            victim = replace(session("victim", edge, rounds=1, deadline_s=4.0), hop="edge")
            scene = Scene(id="s", why="t", activities=(victim, direct), triggers=triggers)
            return await play(scene)

    events = [e for e in played(run()) if e.kind == "exchange"]
    begun = {(e.activity, e.data["round"]): int(str(e.data["begun_ns"])) for e in events}
    ended = {(e.activity, e.data["round"]): int(str(e.data["ended_ns"])) for e in events}
    assert begun["meanwhile-engine", 1] > ended["direct", 2]
    assert ended["meanwhile-engine", 1] < ended["victim", 1]


def test_a_probe_asked_for_a_round_that_has_been_answered_is_ended() -> None:
    """It would only hold the engine; it says nothing then."""

    async def run() -> Sequence[Event]:
        async with slow_server(0.6) as slow, server(silent_from=1) as never:
            meanwhile = session("meanwhile", never, rounds=1, deadline_s=30.0)
            victim = session("victim", slow, rounds=1)
            trigger = Stall(session="victim", after_s=0.1, play=(meanwhile,), give_up_ratio=9.0)
            return await play(Scene(id="s", why="t", activities=(victim,), triggers=(trigger,)))

    ends = {e.activity: e.data["given_up"] for e in played(run()) if e.kind == "exchange"}
    assert ends == {"meanwhile": "interrupted", "victim": "no"}


def test_what_only_fills_a_wait_ends_with_it() -> None:
    """Many new connections are tried after the first, as long as the round waits and no longer."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=2) as port, server(silent_from=9) as engine:
            first = replace(session("first", port, rounds=1), connection="fresh")
            # It hangs as well, at its second request, and has a long deadline.
            many = replace(
                session("many", port, rounds=9, deadline_s=60.0), after=("first",), think_s=0.1
            )
            past = replace(session("past", engine, rounds=1), hop="engine")
            victim = session("victim", port, rounds=2)
            trigger = Stall(
                session="victim", after_s=0.3, play=(first, many, past), give_up_ratio=5.0,
                look_s=1.0,
            )  # fmt: skip
            return await play(Scene(id="s", why="t", activities=(victim,), triggers=(trigger,)))

    ends = [
        (str(e.activity), e.data["round"], e.data["given_up"])
        for e in played(run())
        if e.kind == "exchange"
    ]
    assert ("victim", 2, "provisional") in ends
    assert [end for end in ends if end[0] == "many"] == [
        ("many", 1, "no"),
        ("many", 2, "interrupted"),
    ]


def test_what_is_nearly_done_when_a_wait_ends_is_finished() -> None:
    """A row that was begun tells nothing when it is cut short."""

    async def run() -> Sequence[Event]:
        async with server(silent_from=2) as port, server(silent_from=9) as engine:
            first = replace(session("first", port, rounds=1), connection="fresh")
            many = replace(
                session("many", engine, rounds=3), hop="engine", after=("first",), think_s=1.2
            )
            many = replace(many, connection="fresh")
            past = replace(session("past", engine, rounds=1), hop="engine")
            victim = session("victim", port, rounds=2)
            trigger = Stall(
                session="victim", after_s=0.3, play=(first, many, past), give_up_ratio=5.0,
                look_s=0.5,
            )  # fmt: skip
            return await play(Scene(id="s", why="t", activities=(victim,), triggers=(trigger,)))

    exchanges = [e for e in played(run()) if e.kind == "exchange"]
    ends = {(str(e.activity), e.data["round"]): int(str(e.data["ended_ns"])) for e in exchanges}
    assert ends["many", 3] > ends["victim", 2] > ends["many", 1]
    assert {e.data["given_up"] for e in exchanges if e.activity == "many"} == {"no"}


def test_a_walk_goes_well_at_a_server_that_closes_after_each_answer() -> None:
    """It says keep-alive and closes all the same, a moment later; no request is lost with it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
        writer.write(ANSWER)
        await asyncio.sleep(0.005)
        writer.close()
        await writer.wait_closed()

    async def run() -> Sequence[Event]:
        started = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with started:
            port = started.sockets[0].getsockname()[1]
            row = session("fresh@edge", port, rounds=5)
            engine = Hop(name="engine", role="engine", url=row.url)
            pair = [replace(one, after=()) for one in walks_while_waiting(row, engine)[:2]]
            events = await play(Scene(id="s", why="t", activities=tuple(pair)))
            await asyncio.sleep(0.1)  # The server closes its last connections.
            return events

    exchanges = [e.data for e in played(run()) if e.kind == "exchange"]
    assert [exchange["body_complete"] for exchange in exchanges] == [True] * 10
    assert {str(e["connection"]["request_number"]) for e in exchanges} == {"1"}  # type: ignore[index,call-overload]  # an object
