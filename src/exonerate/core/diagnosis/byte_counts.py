"""What each connection of a hop has carried so far, by the kernel's counters."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.deployment.model import Hop
from exonerate.core.deployment.topology import hop_port
from exonerate.core.diagnosis.facts import SocketSample


@dataclass(frozen=True, slots=True)
class Carried:
    """What one connection has carried so far, in bytes; `peer` is where it leads, if known."""

    request: int = 0
    answer: int = 0
    closed: bool = False
    peer: str | None = None


def carried_bytes(sample: SocketSample, hop: Hop, ours: frozenset[int]) -> dict[str, int]:
    """Bytes that each connection to the hop has carried so far, both ways; our own are left out."""
    return {
        port: carried.request + carried.answer
        for port, carried in connections(sample, hop, ours).items()
    }


def onward(sample: SocketSample) -> dict[str, Carried]:
    """The onward sockets of the hop's process, by their own port."""
    return {
        str(row["local_port"]): Carried(
            request=number_of(row["sent_bytes"]),
            answer=number_of(row["received_bytes"]),
            peer=str(row.get("peer")),
        )
        for row in sample.rows or ()
        if row.get("up")
    }


def connections(sample: SocketSample, hop: Hop, ours: frozenset[int]) -> dict[str, Carried]:
    """Connections to the hop by the port of their client side; our own are left out.

    Both ends of a connection show on one host; either end's counters will do.
    """
    port = hop_port(hop)
    found: dict[str, Carried] = {}
    for row in sample.rows or ():
        at_hop = row["local_port"] == port
        client_port = number_of(row["peer_port"] if at_hop else row["local_port"])
        if row.get("up") or client_port in ours or row["state"] == "LISTEN":
            continue
        received, sent = number_of(row["received_bytes"]), number_of(row["sent_bytes"])
        request, answer = (received, sent) if at_hop else (sent, received)
        known = found.get(str(client_port), Carried())
        closed = row["state"] in ("TIME_WAIT", "CLOSE")
        found[str(client_port)] = Carried(
            max(known.request, request), max(known.answer, answer), known.closed or closed
        )
    return found


def number_of(value: object) -> int:
    """A counter of a row; 0 where the kernel gave none."""
    return value if isinstance(value, int) else 0
