"""Transcripts of connections through a tap, written as a test would tell them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from exonerate.core.scene import Event
from exonerate.core.wire.tapped import (
    ConnectionReducer,
    TappedConnection,
    TappedExchange,
    tapped_connection_to_json,
    tapped_exchange_to_json,
)

NS = 1_000_000_000
TAP_PORT = 9000
EVENTS = [b'data: {"choices":[{"delta":{"content":"w%d "}}]}\n\n' % n for n in range(4)]
END = b"data: [DONE]\n\n"
OPENING = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def request(words: int = 40, *, model: str = "m") -> bytes:
    """One streamed chat request."""
    body = {
        "model": model,
        "stream": True,
        "max_tokens": 16,
        "messages": [{"role": "user", "content": "word " * words}],
    }
    content = json.dumps(body).encode()
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
        % len(content)
        + content
    )


def chunk(content: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(content), content)


def answer() -> list[bytes]:
    """The reads of a whole streamed answer."""
    return [OPENING, *(chunk(event) for event in EVENTS), chunk(END), b"0\r\n\r\n"]


def status_answer(status: int) -> bytes:
    """A whole answer with an error."""
    return (
        b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" % status
    )


@dataclass(slots=True)
class Connection:
    """One connection told step by step; times are seconds since the run began."""

    ordinal: int
    opened_s: float = 0.0
    reducer: ConnectionReducer = field(init=False)
    exchanges: list[TappedExchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reducer = ConnectionReducer(
            hop="edge",
            ordinal=self.ordinal,
            client_port=40_000 + self.ordinal,
            opened_ns=_ns(self.opened_s),
        )
        self.reducer.connected(_ns(self.opened_s))

    def ask(self, at_s: float, content: bytes | None = None) -> Connection:
        """The client sends."""
        self.reducer.bytes_from("client", request() if content is None else content, _ns(at_s))
        return self

    def reply(self, at_s: float, reads: Sequence[bytes] | None = None) -> Connection:
        """The hop sends, 20 ms between two reads."""
        for number, read in enumerate(answer() if reads is None else reads):
            self.reducer.bytes_from("hop", read, _ns(at_s + 0.02 * number))
        return self

    def client_fin(self, at_s: float) -> Connection:
        """The client ends its sending side."""
        self.reducer.ended("client", "fin", _ns(at_s))
        return self

    def client_reset(self, at_s: float) -> Connection:
        """The client resets."""
        self.reducer.ended("client", "reset", _ns(at_s))
        return self

    def hop_fin(self, at_s: float) -> Connection:
        """The hop ends its sending side."""
        self.reducer.ended("hop", "fin", _ns(at_s))
        return self

    def over(self, at_s: float) -> TappedConnection:
        """The tap lets go."""
        connection = self.reducer.finish(_ns(at_s))
        self.exchanges = list(self.reducer.done)
        return connection


@dataclass(slots=True)
class Run:
    """A whole run of a program, as the events of its scene."""

    connections: list[Connection] = field(default_factory=list)
    ended_s: float = 0.0
    status: int | None = 0
    by: str = "itself"
    unread: dict[int, int] = field(default_factory=dict)
    """Bytes that lie unread on a connection at the end, by its ordinal."""
    blind_s: tuple[float, ...] = ()
    """Moments of looks at the program that showed no socket of it."""
    waits_in: str = "ep_poll"
    cpu_share: float = 0.0
    peers: tuple[tuple[str, int], ...] = ()
    proxies: dict[str, str] = field(default_factory=dict)

    def events(self) -> list[Event]:
        """What the player would have brought home."""
        found = [Event("program", 0, "program_started", {"pid": 1, "proxies": dict(self.proxies)})]
        for number in range(1, int(self.ended_s / 0.5)):
            found.append(self._sample(number * 0.5))
        end_ns = _ns(self.ended_s)
        for connection in self.connections:
            facts = connection.over(self.ended_s)
            found += [
                Event("tap", one.exchange.ended_ns, "tap_exchange", tapped_exchange_to_json(one))
                for one in connection.exchanges
            ]
            found.append(Event("tap", end_ns, "tap_connection", tapped_connection_to_json(facts)))
        data = {"status": self.status, "by": self.by}
        found.append(Event("program", end_ns, "program_ended", data))
        return sorted(found, key=lambda event: event.at_ns)

    def _sample(self, at_s: float) -> Event:
        own = [(40_000 + n, "127.0.0.1", TAP_PORT, count) for n, count in self.unread.items()]
        others = [(50_000 + n, host, port, 0) for n, (host, port) in enumerate(self.peers)]
        sockets = [
            {
                "local_port": local,
                "peer": peer,
                "peer_port": port,
                "state": "ESTABLISHED",
                "unread_bytes": unread,
            }
            for local, peer, port, unread in [*own, *others]
            if at_s not in self.blind_s
        ]
        threads = [{"pid": 1, "name": "t", "state": "S", "waits_in": self.waits_in}]
        data = {"sockets": sockets, "cpu_s": at_s * self.cpu_share, "threads": threads}
        return Event("program", _ns(at_s), "program_sampled", data)  # type: ignore[arg-type]  # JSON


def _ns(at_s: float) -> int:
    return int(at_s * NS) + 1
