"""The lanes of the plot: what each face did, and when."""

from typing import Any

from tests.support.world import OK, SILENT, Load, World, judgement_after, locate_in

from exonerate.core.diagnosis.facts import SocketSample
from exonerate.core.diagnosis.timeline import timeline


def hanging() -> World:
    """The founding fault, before an engine that works for others."""
    return World(
        lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK,
        load=Load(running=1, tokens_per_s=50),
    )


def test_each_session_has_a_lane_and_each_round_a_bar() -> None:
    """The round that hung is painted as hung."""
    bars: Any = locate_in(hanging())["timeline"]
    edge = [bar for bar in bars if bar["lane"] == "victim@edge"]
    assert [bar["state"] for bar in edge[:4]] == ["ok", "ok", "ok", "hung"]
    assert all(bar["begin_s"] <= bar["end_s"] for bar in bars)


def test_the_engines_counters_are_shown_beside_the_wait() -> None:
    """They move for others while the victim hangs."""
    world = hanging()
    bars: Any = timeline(judgement_after(world).facts, world.deployment)
    engine = [bar for bar in bars if bar["lane"] == "engine: counters"]
    assert {bar["state"] for bar in engine} == {"moving"}


def test_bytes_between_two_hops_are_shown_where_they_moved_and_where_they_did_not() -> None:
    """The upstream face, which no client sees; our own connections are left out."""
    world = hanging()
    judgement = judgement_after(world)
    facts = judgement.facts

    def rows(carried: int) -> Any:
        row = {"local_port": 5000, "peer_port": 8000, "state": "ESTABLISHED"}
        return ({**row, "sent_bytes": carried, "received_bytes": 0},)

    samples = tuple(
        SocketSample("victim-1", "engine", facts.began_ns + at * 10**8, rows(carried))
        for at, carried in enumerate((0, 900, 900, 900))
    )
    seen = type(facts)(
        scenes=facts.scenes,
        sessions=facts.sessions,
        counters=(),
        sockets={("victim-1", "engine"): samples},
        own_ports=facts.own_ports,
        began_ns=facts.began_ns,
        ended_ns=facts.ended_ns,
    )
    bars: Any = timeline(seen, world.deployment)
    face = [bar for bar in bars if bar["lane"] == "inner → engine, bytes"]
    assert [(bar["begin_s"], bar["end_s"], bar["state"]) for bar in face] == [
        (0.0, 0.1, "moving"), (0.1, 0.3, "idle"),
    ]  # fmt: skip
