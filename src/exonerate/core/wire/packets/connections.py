"""Folds captured packets into connections: who sent how much when, and who ended it.

Theory of operation
-------------------
One host shows a packet several times: the loopback as it leaves and as it arrives, a bridge once
for each of its cables. Of each direction of a connection only one *vantage* counts, that which
showed it first; for what a client sends that is the one next to it. A connection behind address
translation shows again under another name; its first SYN, with the same number, tells.

Bytes are counted by sequence numbers (RFC 9293, 3.4), modulo 2^32: whatever lies beyond the highest
number so far is new, whatever does not was sent again. A hole that is filled later was out of
order. What was captured from the middle of a connection on counts from there.

Bounds: so many connections and turns are kept; what had to be forgotten is counted.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.packets.marks import code_words_of, is_interim, request_ids_of, says_end
from exonerate.core.wire.packets.seen import End, How, PacketConnection, Turn, Who
from exonerate.core.wire.packets.segment import ACK, FIN, RST, SYN, Segment, TooBig

CONNECTIONS_MAX = 4096
TURNS_MAX, ENDS_MAX, STAMPS_MAX, MARKS_MAX = 32, 4, 8, 4
TRANSLATED_NS = NS_PER_S
"""A translated SYN follows its original within this time."""
INITIAL_HOPS = frozenset({64, 128, 255})
"""What packets begin with (Linux and macOS, Windows, routers): no router was passed."""
_NUMBERS, _HALF = 1 << 32, 1 << 31

Key: TypeAlias = tuple[bytes, int, bytes, int]
"""Address and port of the client, then of the server."""
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Vantage:
    """Where a packet was seen: which interface, whether it left there, and whether it can have come
    there only from the kernel of its sender, unless a router was in between."""

    interface: int
    leaving: bool
    near: bool


@dataclass(slots=True)
class _Way:
    """One direction of a connection."""

    vantage: Vantage | None = None
    next: int | None = None
    """The number of the next new byte."""
    missed: int = 0
    unanswered: int = 0
    zero_windows: int = 0


@dataclass(slots=True)
class _Turn:
    begun_ns: int
    sent_ns: int
    request_from: int
    answer_from: int | None = None
    request_bytes: int = 0
    request_acked: int = 0
    missed_bytes: int = 0
    again: int = 0
    unanswered: int = 0
    answer_bytes: int = 0
    answer_acked: int = 0
    answer_unanswered: int = 0
    answer_begun_ns: int | None = None
    answer_last_ns: int | None = None
    stamps_ns: list[int] = field(default_factory=list)
    end_seen: bool = False
    ids: dict[str, None] = field(default_factory=dict)
    words: dict[str, None] = field(default_factory=dict)

    @property
    def last_ns(self) -> int:
        """When something of it was last seen."""
        return max(self.sent_ns, self.answer_last_ns or 0)

    def shown(self) -> Turn:
        return Turn(
            begun_ns=self.begun_ns,
            sent_ns=self.sent_ns,
            request_bytes=self.request_bytes,
            request_acked=self.request_acked,
            missed_bytes=self.missed_bytes,
            again=self.again,
            unanswered=self.unanswered,
            answer_bytes=self.answer_bytes,
            answer_acked=self.answer_acked,
            answer_unanswered=self.answer_unanswered,
            answer_begun_ns=self.answer_begun_ns,
            answer_last_ns=self.answer_last_ns,
            answer_stamps_ns=tuple(self.stamps_ns),
            end_seen=self.end_seen,
            ids=tuple(self.ids),
            words=tuple(self.words),
        )


@dataclass(slots=True)
class _Connection:
    """A connection while it is watched."""

    key: Key
    first_ns: int
    last_ns: int
    hops_left: int = 0
    first_number: int | None = None
    opened_ns: int | None = None
    answered_ns: int | None = None
    syn_again: int = 0
    too_big: int = 0
    unseen_bytes: int = 0
    up: _Way = field(default_factory=_Way)
    down: _Way = field(default_factory=_Way)
    ends: list[End] = field(default_factory=list)
    turns: deque[_Turn] = field(default_factory=deque)
    told_ns: int = 0
    """What lies before was told already."""
    turns_lost: int = 0

    def take(self, segment: Segment, at_ns: int, vantage: Vantage, *, upwards: bool) -> None:
        """One packet of it; `upwards` from the client to the server."""
        way, other = (self.up, self.down) if upwards else (self.down, self.up)
        if way.vantage is None:
            way.vantage = vantage
            self.hops_left = segment.hops_left if upwards else self.hops_left
        elif way.vantage != vantage:
            return
        self.last_ns = max(self.last_ns, at_ns)
        other.unanswered = 0
        self._flags(segment, at_ns, way, upwards=upwards)
        if segment.flags & ACK:
            self._acknowledged(segment, upwards=upwards)
        if segment.payload_bytes and not segment.flags & RST:
            self._bytes(segment, at_ns, way, upwards=upwards)
        if segment.flags & FIN and way.next is not None:
            way.next = (segment.sequence + segment.payload_bytes + 1) % _NUMBERS
        self._note_silence()

    def _flags(self, segment: Segment, at_ns: int, way: _Way, *, upwards: bool) -> None:
        if segment.flags & SYN:
            self._opening(segment, at_ns, way, upwards=upwards)
        elif segment.flags & (FIN | RST):
            self._ended("client" if upwards else "server", segment.flags, at_ns)
        if not segment.window and not segment.flags & (SYN | RST):
            way.zero_windows += 1
        if upwards and not segment.payload_bytes and not segment.flags & (SYN | RST):
            # A segment without data has the number of the next byte.
            ahead = 0 if way.next is None else _beyond(segment.sequence, way.next)
            self.unseen_bytes = max(self.unseen_bytes, ahead)

    def told(self, since_ns: int, addresses: frozenset[bytes]) -> PacketConnection:
        """What it is by now, with the turns of which something came since then."""
        lost, self.turns_lost, self.told_ns = self.turns_lost, 0, self.last_ns
        vantage = self.up.vantage
        return PacketConnection(
            client_port=self.key[1],
            client=str(ipaddress.ip_address(self.key[0])) if self.key[0] in addresses else None,
            server=str(ipaddress.ip_address(self.key[2])),
            server_port=self.key[3],
            near=vantage is not None and vantage.near and self.hops_left in INITIAL_HOPS,
            first_ns=self.first_ns,
            last_ns=self.last_ns,
            opened_ns=self.opened_ns,
            answered_ns=self.answered_ns,
            syn_again=self.syn_again,
            zero_windows=self.up.zero_windows,
            server_zero_windows=self.down.zero_windows,
            unseen_bytes=self.unseen_bytes,
            too_big=self.too_big,
            ends=tuple(self.ends),
            turns=tuple(turn.shown() for turn in self.turns if turn.last_ns >= since_ns),
            turns_left_out=lost,
        )

    def _opening(self, segment: Segment, at_ns: int, way: _Way, *, upwards: bool) -> None:
        again = way.next is not None
        way.next = (segment.sequence + 1) % _NUMBERS
        if not upwards:
            self.answered_ns = self.answered_ns or at_ns
        elif again:
            self.syn_again += 1
        else:
            self.first_number, self.opened_ns = segment.sequence, at_ns

    def _acknowledged(self, segment: Segment, *, upwards: bool) -> None:
        turn = self.turns[-1] if self.turns else None
        if turn is None:
            return
        begun = turn.answer_from if upwards else turn.request_from
        size = turn.answer_bytes if upwards else turn.request_bytes
        if begun is None:
            return
        acked = max(0, min(_beyond(segment.acknowledged, begun), size))
        if upwards:
            turn.answer_acked = max(turn.answer_acked, acked)
        else:
            turn.request_acked = max(turn.request_acked, acked)

    def _bytes(self, segment: Segment, at_ns: int, way: _Way, *, upwards: bool) -> None:
        # The first byte of a SYN that carries some has the number behind the SYN's.
        first = (segment.sequence + bool(segment.flags & SYN)) % _NUMBERS
        hole = 0 if way.next is None else max(0, _beyond(first, way.next))
        start = first if way.next is None else way.next
        new = _beyond((first + segment.payload_bytes) % _NUMBERS, start)
        if new <= 0:
            self._sent_again(segment, way, start, upwards=upwards)
            return
        way.next = (start + new) % _NUMBERS
        way.missed += hole
        if upwards:
            self._request(segment, at_ns, start, new, hole)
        else:
            self._answer(segment, at_ns, start, new)

    def _sent_again(self, segment: Segment, way: _Way, start: int, *, upwards: bool) -> None:
        if segment.payload_bytes <= 1 and _beyond(start, segment.sequence) == 1:
            return  # a keep-alive probe: the last byte before the next one, or none
        if way.missed >= segment.payload_bytes:
            way.missed -= segment.payload_bytes
            return
        way.unanswered += 1
        if upwards and self.turns:
            self.turns[-1].again += 1

    def _request(self, segment: Segment, at_ns: int, start: int, new: int, hole: int) -> None:
        if not self.turns or self.turns[-1].answer_bytes:
            if len(self.turns) == TURNS_MAX:
                self.turns_lost += self.turns.popleft().last_ns > self.told_ns
            self.turns.append(_Turn(at_ns, at_ns, start))
        turn = self.turns[-1]
        turn.request_bytes += new
        turn.missed_bytes += hole
        turn.sent_ns = max(turn.sent_ns, at_ns)
        _add(turn.ids, request_ids_of(segment.payload))
        _add(turn.words, code_words_of(segment.payload))

    def _answer(self, segment: Segment, at_ns: int, start: int, new: int) -> None:
        turn = self.turns[-1] if self.turns else None
        if turn is None or (not turn.answer_bytes and is_interim(segment.payload)):
            return
        if turn.answer_from is None:
            turn.answer_from, turn.answer_begun_ns = start, at_ns
        turn.answer_bytes += new
        turn.answer_last_ns = at_ns
        if len(turn.stamps_ns) < STAMPS_MAX:
            turn.stamps_ns.append(at_ns)
        turn.end_seen = turn.end_seen or says_end(segment.payload)

    def _ended(self, who: Who, flags: int, at_ns: int) -> None:
        how: How = "reset" if flags & RST else "fin"
        known = any((end.who, end.how) == (who, how) for end in self.ends)
        if not known and len(self.ends) < ENDS_MAX:
            self.ends.append(End(who=who, how=how, at_ns=at_ns))

    def _note_silence(self) -> None:
        if self.turns:
            self.turns[-1].unanswered = self.up.unanswered
            self.turns[-1].answer_unanswered = self.down.unanswered


class PacketTable:
    """The connections to some ports, folded from the packets that were captured.

    Args:
        ports: the ports at which servers listen.
        addresses: clients whose connections count whatever the port.
        connections_max: how many connections are kept.
    """

    def __init__(
        self,
        ports: Iterable[int],
        addresses: Iterable[bytes] = (),
        *,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._ports = frozenset(ports)
        self._addresses = frozenset(addresses)
        self._connections_max = connections_max
        self._live: dict[Key, _Connection] = {}
        self._over: deque[_Connection] = deque(maxlen=connections_max)
        self._opened: dict[tuple[int, int], tuple[Key, int]] = {}
        self._translated: dict[Key, None] = {}
        self.packets = 0
        self.forgotten = 0

    def take(self, packet: Segment | TooBig, at_ns: int, vantage: Vantage) -> None:
        """Fold one packet in."""
        self.packets += 1
        if isinstance(packet, TooBig):
            self._too_big(packet)
            return
        key, upwards = self._place(packet)
        if key is None:
            return
        if packet.flags & SYN and upwards:
            self._opening(packet, key, at_ns)
        if key in self._translated:
            return
        connection = self._live.get(key)
        if connection is None:
            connection = self._begin(key, at_ns)
        connection.take(packet, at_ns, vantage, upwards=upwards)

    def connections(self, since_ns: int) -> Iterator[PacketConnection]:
        """Every connection of which a packet came since then, with what it did since then."""
        for connection in (*self._over, *self._live.values()):
            if connection.last_ns >= since_ns:
                yield connection.told(since_ns, self._addresses)

    def _place(self, segment: Segment) -> tuple[Key | None, bool]:
        """The connection that a segment belongs to, and whether its client sent it."""
        up = (segment.source, segment.source_port, segment.target, segment.target_port)
        down = (segment.target, segment.target_port, segment.source, segment.source_port)
        if up in self._live or up in self._translated:
            return up, True
        if down in self._live or down in self._translated:
            return down, False
        if segment.flags & SYN:
            upwards = not segment.flags & ACK
        else:
            to, of = segment.target_port in self._ports, segment.source_port in self._ports
            if not to and not of:
                to, of = segment.source in self._addresses, segment.target in self._addresses
            if to == of:
                return None, False
            upwards = to
        return (up, True) if upwards else (down, False)

    def _opening(self, segment: Segment, key: Key, at_ns: int) -> None:
        """A SYN: of another connection on the same four, or of one that was seen a moment ago."""
        number = (segment.sequence, segment.target_port)
        known = self._opened.get(number)
        if known is not None and known[0] != key and at_ns - known[1] <= TRANSLATED_NS:
            self._translated[key] = None
            _limit(self._translated, self._connections_max)
            return
        self._opened[number] = (key, at_ns)
        _limit(self._opened, self._connections_max)
        self._translated.pop(key, None)
        live = self._live.get(key)
        if live is not None and live.first_number != segment.sequence:
            self._retire(key)

    def _begin(self, key: Key, at_ns: int) -> _Connection:
        if len(self._live) >= self._connections_max:
            closed = next((k for k, c in self._live.items() if c.ends), None)
            self._retire(closed or next(iter(self._live)))
        connection = _Connection(key, at_ns, at_ns)
        self._live[key] = connection
        return connection

    def _retire(self, key: Key) -> None:
        self.forgotten += len(self._over) == self._over.maxlen
        self._over.append(self._live.pop(key))

    def _too_big(self, packet: TooBig) -> None:
        up = (packet.source, packet.source_port, packet.target, packet.target_port)
        down = (packet.target, packet.target_port, packet.source, packet.source_port)
        connection = self._live.get(up) or self._live.get(down)
        if connection is not None:
            connection.too_big += 1


def _beyond(number: int, other: int) -> int:
    """How far a sequence number lies beyond another; negative where it lies before it."""
    return (number - other + _HALF) % _NUMBERS - _HALF


def _add(marks: dict[str, None], found: Iterable[str]) -> None:
    for mark in found:
        if len(marks) < MARKS_MAX:
            marks[mark] = None


def _limit(entries: dict[K, V], limit: int) -> None:
    while len(entries) > limit:
        entries.pop(next(iter(entries)))
