"""What packets showed of connections, as values: counts, stamps, and marks of our own requests.

Stamps are monotonic nanoseconds. A *turn* is one request and what came back for it: what the client
sends after the server has spoken begins the next one. Of what was said nothing is kept but our own
request ids and code words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

from exonerate.core.json_types import Json, JsonObject

Who: TypeAlias = Literal["client", "server"]
How: TypeAlias = Literal["fin", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request on a connection, and its answer.

    Bytes are counted by sequence numbers, so that what is sent again counts once; `missed_bytes`
    of the request passed unseen. `..._acked` is how much the other end's kernel acknowledged.
    """

    begun_ns: int
    sent_ns: int
    """The newest new byte of the request."""
    request_bytes: int = 0
    request_acked: int = 0
    missed_bytes: int = 0
    again: int = 0
    """Segments of the request that were sent again."""
    unanswered: int = 0
    """Those sent again since the other end last said anything."""
    answer_bytes: int = 0
    answer_acked: int = 0
    answer_unanswered: int = 0
    answer_begun_ns: int | None = None
    answer_last_ns: int | None = None
    answer_stamps_ns: tuple[int, ...] = ()
    """The first packets of the answer."""
    end_seen: bool = False
    """The answer's own end was among what was captured: its last chunk, or `[DONE]`."""
    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Somebody closed his side of a connection, or reset it."""

    who: Who
    how: How
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketConnection:
    """One TCP connection to a port that was watched.

    `near`: what its client sends was seen where it leaves the client's own kernel (the loopback,
    or our end of its virtual cable), so that nothing can have lost it before.
    """

    client_port: int
    server: str
    server_port: int
    near: bool
    first_ns: int
    last_ns: int
    opened_ns: int | None = None
    """Its first SYN; None where the connection is older than the capture."""
    client: str | None = None
    """Its client's address, where that is one of a hop; nobody else's is kept."""
    answered_ns: int | None = None
    """The SYN was answered."""
    syn_again: int = 0
    zero_windows: int = 0
    """How often the client said that it can take nothing more."""
    server_zero_windows: int = 0
    unseen_bytes: int = 0
    """What its client has sent by its own numbers, and never came here."""
    too_big: int = 0
    """How often a router said that a packet did not fit."""
    ends: tuple[End, ...] = ()
    turns: tuple[Turn, ...] = ()
    turns_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What was captured between two moments.

    `dropped` packets came too fast; of `left_out` connections nothing is said. Where either is not
    0, or the clocks were set, that something was not seen means nothing.
    """

    since_ns: int
    until_ns: int
    packets: int = 0
    dropped: int = 0
    left_out: int = 0
    clock_steps: int = 0
    addresses: tuple[str, ...] = ()
    """Of these everything was looked at, whatever the port."""
    connections: tuple[PacketConnection, ...] = ()

    def covers(self, begun_ns: int, ended_ns: int) -> bool:
        """Whether it tells of all of this time."""
        return self.since_ns <= begun_ns and ended_ns <= self.until_ns

    @property
    def whole(self) -> bool:
        """Whether nothing of it was missed."""
        return not (self.dropped or self.left_out or self.clock_steps)


def capture_to_json(capture: Capture) -> JsonObject:
    """As a JSON object; what has its usual value is left out of connections and turns."""
    return {
        "since_ns": capture.since_ns,
        "until_ns": capture.until_ns,
        "packets": capture.packets,
        "dropped": capture.dropped,
        "left_out": capture.left_out,
        "clock_steps": capture.clock_steps,
        "addresses": list(capture.addresses),
        "connections": [_sparse(connection) for connection in capture.connections],
    }


def capture_from_json(value: JsonObject) -> Capture:
    """The capture again; fields that a later version added are ignored."""
    taken = _known(Capture, value)
    taken["connections"] = tuple(map(_connection, _items(value.get("connections"))))
    taken["addresses"] = tuple(_items(value.get("addresses")))
    return Capture(**taken)


def _sparse(value: PacketConnection | Turn) -> JsonObject:
    kept: dict[str, Json] = {}
    for field in fields(value):
        item = getattr(value, field.name)
        if item == field.default:
            continue
        if field.name == "turns":
            item = [_sparse(turn) for turn in item]
        elif field.name == "ends":
            item = [asdict(end) for end in item]
        elif isinstance(item, tuple):
            item = list(item)
        kept[field.name] = item
    return kept


def _connection(value: Any) -> PacketConnection:
    taken = _known(PacketConnection, value)
    taken["turns"] = tuple(map(_turn, _items(value.get("turns"))))
    taken["ends"] = tuple(End(**_known(End, end)) for end in _items(value.get("ends")))
    return PacketConnection(**taken)


def _turn(value: Any) -> Turn:
    taken = _known(Turn, value)
    for name in ("answer_stamps_ns", "ids", "words"):
        taken[name] = tuple(_items(taken.get(name)))
    return Turn(**taken)


def _known(kind: type, value: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: item for name, item in value.items() if name in names}


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
