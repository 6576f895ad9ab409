"""Snapshots of real processes: what lies unread, what waits to be accepted, what is not there."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.adapters.test_packet_capture import Ring

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.packet_capture import StandingCapture
from exonerate.adapters.packet_ring import Captured
from exonerate.adapters.snapshots import take_snapshot
from exonerate.core.deployment.model import Hop


def look(*hops: Hop, pids: tuple[int, ...] = ()) -> Any:
    """A snapshot whose looks lie close together."""
    return take_snapshot(hops, pids, apart_s=0.05)


def test_bytes_that_a_process_does_not_read_are_seen_on_its_socket() -> None:
    """The same bytes in both looks: it stood still."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as peer,
    ):
        peer.sendall(b"x" * 700)
        (own,) = (p for p in look(pids=(os.getpid(),))["processes"] if p["pid"] == os.getpid())
        port = client.getsockname()[1]
    (row,) = (r for r in own["sockets"] if r["local_port"] == port)
    assert (row["unread_bytes"], row["stood_still"]) == (700, True)
    assert own["threads"]
    assert own["open_files"] > 0


def test_a_hop_shows_its_process_its_queue_and_the_end_of_its_log(tmp_path: Path) -> None:
    """A connection that nobody accepts waits in the queue of the listening socket."""
    log = tmp_path / "log"
    log.write_text("\n".join(f"line {n}" for n in range(100)))
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        hop = Hop(name="edge", role="proxy", url=url, log=str(log))
        with socket.create_connection(server.getsockname()):
            (seen,) = look(hop)["hops"]
    assert seen["listens_here"]
    assert seen["accept_queue"] == 1
    assert seen["pids"] == [os.getpid()]
    assert seen["log_tail"][-1] == "line 99"
    assert len(seen["log_tail"]) == 40


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """A pid that does not exist, a hop on another host, a log that cannot be read."""
    hop = Hop(name="far", role="engine", url="http://192.0.2.1:1", log=str(tmp_path / "none"))
    seen = look(hop, pids=(4_000_000,))
    assert seen["not_seen"] == ["process 4000000 does not exist"]
    assert not seen["hops"][0]["listens_here"]
    assert "cannot be read" in seen["hops"][0]["log_tail"][0]


class Busy(Ring):
    """There is always another packet, until somebody looks."""

    def packets(self, packets_max: int) -> Iterator[Captured]:
        """One that came just now."""
        self.comes(b"POST", 9)
        return super().packets(packets_max)


def test_packets_between_the_looks_are_told_where_they_are_captured() -> None:
    """What the rest of the snapshot shows stays the same."""
    capture = StandingCapture(Busy(), [8000], SystemClock())
    seen: Any = take_snapshot((), (), apart_s=0.01, capture=capture)
    (connection,) = seen["packets"]["connections"]
    assert connection["turns"][0]["request_bytes"] == 4
    assert look()["packets"] is None
