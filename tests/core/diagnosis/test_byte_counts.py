"""What each connection of a hop has carried, as rows of the kernel's counters tell it."""

from typing import Any

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.byte_counts import (
    Carried,
    carried_bytes,
    connections,
    number_of,
    onward,
)
from exonerate.core.diagnosis.facts import SocketSample

EDGE = parse_deployment(PATH, path="test", folder="/").hops[0]
OURS = frozenset({5001})


def row(local_port: int, peer_port: int, **more: Any) -> dict[str, Any]:
    """One socket; it has sent 300 bytes and received 100 unless told otherwise."""
    plain = {
        "local_port": local_port, "peer_port": peer_port, "state": "ESTABLISHED",
        "up": False, "peer": None, "sent_bytes": 300, "received_bytes": 100,
    }  # fmt: skip
    return plain | more


def sample(*rows: dict[str, Any]) -> SocketSample:
    """One reading of the edge's sockets."""
    return SocketSample("s", "edge", 1, rows, True)


def test_either_end_of_a_connection_tells_what_it_carried() -> None:
    """The hop receives the request; its client sends it. The end that saw more is believed."""
    hop_side = row(8080, 6000, received_bytes=90)
    client_side = row(6000, 8080, sent_bytes=100, received_bytes=250)
    assert connections(sample(hop_side), EDGE, OURS) == {"6000": Carried(90, 300)}
    assert connections(sample(client_side), EDGE, OURS) == {"6000": Carried(100, 250)}
    assert connections(sample(hop_side, client_side), EDGE, OURS) == {"6000": Carried(100, 300)}
    assert carried_bytes(sample(hop_side, client_side), EDGE, OURS) == {"6000": 400}


def test_our_own_connections_the_listener_and_the_way_onwards_are_left_out() -> None:
    """They are not what others sent to the hop."""
    rows = (row(8080, 5001), row(8080, 0, state="LISTEN"), row(7000, 8081, up=True))
    assert connections(sample(*rows), EDGE, OURS) == {}


def test_a_connection_that_is_over_is_known_as_closed() -> None:
    """Its counters are no longer what it carried."""
    over = row(8080, 6000, state="TIME_WAIT")
    assert connections(sample(row(8080, 6000), over), EDGE, OURS)["6000"].closed


def test_the_way_onwards_is_told_by_its_own_port_and_where_it_leads() -> None:
    """On it the hop sends requests and receives answers."""
    led = row(7000, 8081, up=True, peer="127.0.0.1:8081")
    found = onward(sample(led, row(8080, 6000)))
    assert found == {"7000": Carried(request=300, answer=100, peer="127.0.0.1:8081")}


def test_a_reading_without_rows_carried_nothing() -> None:
    """Nor does a counter that the kernel did not give."""
    unseen = SocketSample("s", "edge", 1, None, False)
    assert (connections(unseen, EDGE, OURS), onward(unseen)) == ({}, {})
    assert (number_of(None), number_of("7"), number_of(7)) == (0, 0, 7)
