"""What crossed a tap on one connection, reduced to exchanges while it crosses.

Rules
-----
1. The tap calls one method for each thing that happened, in the order in which it happened, with
   the stamp that it took first. Nothing here reads a clock or a socket.
2. No text is kept. A connection remembers the times and sizes of its first `CHUNKS_KEPT` pieces
   and counts the rest.
3. An exchange is over when its answer is whole, when the client ends its side of the connection,
   or when the hop does; whoever was first ended it. A client that has only closed its sending
   side may still read, so that its exchange lasts until the hop ends it or the client is gone.
4. Where answers and requests no longer go one by one (pipelining, an upgrade, something that is
   not HTTP) the connection is only counted from there on, and says so in `unread`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

from exonerate.core.instant import seconds_between
from exonerate.core.json_types import JsonObject
from exonerate.core.wire.dialects import dialect_of_path
from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.exchange import ConnectionFacts, Exchange, GivenUp
from exonerate.core.wire.exchange_json import exchange_from_json, exchange_to_json
from exonerate.core.wire.recorder import ExchangeRecorder, Read
from exonerate.core.wire.request_reader import Asked, RequestReader

CHUNKS_KEPT = 64
COMPLETION_PATHS = ("/completions", "/responses", "/messages", "/generate")

Side: TypeAlias = Literal["client", "hop"]
EndedBy: TypeAlias = Literal["client", "hop", "nobody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TappedExchange:
    """One request and its answer as they crossed the tap."""

    asked: Asked
    exchange: Exchange
    request_complete: bool
    request_ended_ns: int | None
    ended_by: EndedBy
    how: str
    """`framed`, `fin`, `reset`, `refused` or `open` (the tap was taken away first)."""
    half_closed_ns: int | None = None
    """The client ended its sending side while it still waited for this answer."""
    hop_closed_ns: int | None = None
    """The hop had ended the connection before the first byte of this request."""
    answer_bytes: int = 0
    unneeded_bytes: int = 0
    """Of the answer: those from the read on in which the content said that it was over."""

    @property
    def is_completion(self) -> bool:
        """Whether it asked a model for something."""
        return self.asked.method == "POST" and self.asked.path.rstrip("/").endswith(
            COMPLETION_PATHS
        )

    @property
    def waited_s(self) -> float:
        """From the first byte of the request until the first token, or until the end."""
        seen = self.exchange.first_token_ns or self.exchange.ended_ns
        return seconds_between(self.exchange.begun_ns, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class TappedConnection:
    """One connection of the client through the tap."""

    ordinal: int
    client_port: int
    opened_ns: int
    connected_ns: int | None = None
    """When the tap's own connection to the hop stood; None when it never did."""
    error: str | None = None
    client_fin_ns: int | None = None
    client_reset_ns: int | None = None
    hop_fin_ns: int | None = None
    hop_reset_ns: int | None = None
    ended_ns: int = 0
    requests: int = 0
    client_bytes: int = 0
    hop_bytes: int = 0
    last_byte_ns: int | None = None
    chunks: tuple[tuple[str, float, int], ...] = ()
    """Side, milliseconds since it was opened, and bytes of its first pieces."""
    unread: str | None = None
    """Why its bytes were only counted from some point on."""

    @property
    def client_left_ns(self) -> int | None:
        """When the client ended its side."""
        ends = [ns for ns in (self.client_fin_ns, self.client_reset_ns) if ns is not None]
        return min(ends, default=None)


class ConnectionReducer:
    """Takes what happens on one connection; `done` collects the exchanges that are over."""

    def __init__(self, *, hop: str, ordinal: int, client_port: int, opened_ns: int) -> None:
        self._hop = hop
        self._ordinal = ordinal
        self._client_port = client_port
        self._opened_ns = opened_ns
        self._connected_ns: int | None = None
        self._error: str | None = None
        self._ends: dict[tuple[Side, str], int] = {}
        self._requests = 0
        self._bytes: dict[Side, int] = {"client": 0, "hop": 0}
        self._last_ns: int | None = None
        self._answer_over_ns = opened_ns
        self._chunks: list[tuple[str, float, int]] = []
        self._unread: str | None = None
        self._unsolicited = 0
        self._under_way: _UnderWay | None = None
        self._whole_after_fin: tuple[_UnderWay, int] | None = None
        """An answer that came whole after the client's FIN; whether it was taken shows later."""
        self.done: list[TappedExchange] = []

    def connected(self, at_ns: int) -> None:
        """The tap's own connection to the hop stands."""
        self._connected_ns = at_ns

    def refused(self, error: str, at_ns: int) -> None:
        """The hop could not be reached."""
        self._error = error
        self._ends.setdefault(("hop", "reset"), at_ns)
        self._over("hop", "refused", at_ns)

    def bytes_from(self, side: Side, content: bytes, at_ns: int) -> None:
        """Bytes came from one side and were passed on."""
        self._bytes[side] += len(content)
        self._last_ns = at_ns
        if len(self._chunks) < CHUNKS_KEPT:
            ms = round((at_ns - self._opened_ns) / 1e6, 3)
            self._chunks.append((side, ms, len(content)))
        if self._unread is None:
            (self._asked if side == "client" else self._answered)(content, at_ns)

    def ended(self, side: Side, how: Literal["fin", "reset"], at_ns: int) -> None:
        """One side sent FIN or RST."""
        if self._ends.setdefault((side, how), at_ns) != at_ns:
            return
        if side == "client" and how == "reset" and self._whole_after_fin is not None:
            # It had not only closed its sending side: it was gone when the answer came.
            self._under_way, self._whole_after_fin = self._whole_after_fin[0], None
        under_way = self._under_way
        if under_way is None:
            return
        if side == "client" and how == "fin":
            # It may still read: what it meant shows in what happens next.
            under_way.half_closed_ns = at_ns
            return
        if side == "hop" and how == "fin":
            under_way.recorder.eof(at_ns)
        self._over(side, how, at_ns)

    def under_way(self, at_ns: int) -> TappedExchange | None:
        """The exchange that crosses now, as it stands; it goes on."""
        under_way = self._under_way
        return None if under_way is None else under_way.over("nobody", "open", at_ns)

    def finish(self, at_ns: int) -> TappedConnection:
        """The tap lets go of the connection; its facts."""
        self._over("nobody", "open", at_ns)
        if self._whole_after_fin is not None:
            under_way, whole_ns = self._whole_after_fin
            self.done.append(under_way.over("nobody", "framed", whole_ns))
        return TappedConnection(
            ordinal=self._ordinal,
            client_port=self._client_port,
            opened_ns=self._opened_ns,
            connected_ns=self._connected_ns,
            error=self._error,
            client_fin_ns=self._ends.get(("client", "fin")),
            client_reset_ns=self._ends.get(("client", "reset")),
            hop_fin_ns=self._ends.get(("hop", "fin")),
            hop_reset_ns=self._ends.get(("hop", "reset")),
            ended_ns=at_ns,
            requests=self._requests,
            client_bytes=self._bytes["client"],
            hop_bytes=self._bytes["hop"],
            last_byte_ns=self._last_ns,
            chunks=tuple(self._chunks),
            unread=self._unread,
        )

    def _asked(self, content: bytes, at_ns: int) -> None:
        if self._under_way is None:
            self._begin(at_ns)
        under_way = self._under_way
        assert under_way is not None
        if under_way.reader.finished:
            self._give_up_reading("pipelined")
            return
        under_way.request_bytes += len(content)
        if under_way.reader.take(content):
            under_way.request_ended_ns = at_ns
            under_way.recorder.written_ns = at_ns
        if under_way.reader.broken or under_way.reader.rest:
            self._give_up_reading(under_way.reader.broken or "pipelined")

    def _begin(self, at_ns: int) -> None:
        self._requests += 1
        first = self._requests == 1
        closed_ns = self._hop_closed_ns()
        self._under_way = _UnderWay(
            begun_ns=at_ns,
            connected_ns=self._opened_ns if first else None,
            hop_closed_ns=closed_ns,
            hop=self._hop,
            facts=ConnectionFacts(
                ordinal=self._ordinal,
                request_number=self._requests,
                age_s=seconds_between(self._opened_ns, at_ns),
                idle_s=0.0 if first else seconds_between(self._answer_over_ns, at_ns),
                local_port=self._client_port,
                unsolicited_bytes=self._unsolicited,
                closed_while_idle=closed_ns is not None,
            ),
        )

    def _answered(self, content: bytes, at_ns: int) -> None:
        under_way = self._under_way
        if under_way is None:
            self._unsolicited += len(content)
            return
        under_way.answered(content, at_ns)
        if under_way.recorder.finished:
            broken = under_way.recorder.broken
            if under_way.half_closed_ns is not None and not broken:
                self._whole_after_fin = (under_way, at_ns)
                self._under_way = None
                return
            self._over("hop" if broken else "nobody", "framed", at_ns)
            if broken:
                self._give_up_reading(broken)

    def _over(self, by: EndedBy, how: str, at_ns: int) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is None:
            return
        if how != "framed" and under_way.half_closed_ns is not None:
            # The client had ended its side first, whatever the hop did then.
            how = "reset" if by == "client" and how == "reset" else "fin"
            by = "client"
        self._answer_over_ns = at_ns
        self.done.append(under_way.over(by, how, at_ns))

    def _give_up_reading(self, why: str) -> None:
        self._unread = why
        self._under_way = None

    def _hop_closed_ns(self) -> int | None:
        ends = (self._ends.get(("hop", "fin")), self._ends.get(("hop", "reset")))
        return min((ns for ns in ends if ns is not None), default=None)


class _UnderWay:
    """The exchange that crosses now."""

    def __init__(
        self,
        *,
        begun_ns: int,
        connected_ns: int | None,
        hop_closed_ns: int | None,
        hop: str,
        facts: ConnectionFacts,
    ) -> None:
        self.reader = RequestReader()
        self.request_bytes = 0
        self.request_ended_ns: int | None = None
        self.half_closed_ns: int | None = None
        self._hop_closed_ns = hop_closed_ns
        self._hop = hop
        self._begun_ns = begun_ns
        self._connected_ns = connected_ns
        self._facts = facts
        self._recorder: ExchangeRecorder | None = None
        self._last_ns = begun_ns
        self.answer_bytes = 0
        self.unneeded_bytes = 0

    @property
    def recorder(self) -> ExchangeRecorder:
        """Made when the path, and with it the dialect, is known."""
        if self._recorder is None:
            self._recorder = ExchangeRecorder(
                session="tap",
                hop=self._hop,
                round_number=self._facts.request_number,
                dialect=dialect_of_path(self.reader.path),
            )
            self._recorder.begun_ns = self._begun_ns
            self._recorder.connected_ns = self._connected_ns
            self._recorder.connection = self._facts
        return self._recorder

    def answered(self, content: bytes, at_ns: int) -> None:
        self.answer_bytes += len(content)
        read = Read(content, at_ns, at_ns, self._last_ns, "read")
        self._last_ns = at_ns
        self.recorder.read(read)
        if self.recorder.done_said or self.recorder.finished:
            self.unneeded_bytes += len(content)

    def over(self, by: EndedBy, how: str, at_ns: int) -> TappedExchange:
        recorder = self.recorder
        recorder.request_bytes = self.request_bytes
        ended_ns = self.half_closed_ns if by == "client" and self.half_closed_ns else at_ns
        ending, given_up = _ENDINGS[by, how]
        return TappedExchange(
            asked=self.reader.asked(),
            exchange=recorder.ended(ending, ended_ns, given_up=given_up),
            request_complete=self.reader.complete,
            request_ended_ns=self.request_ended_ns,
            ended_by=by,
            how=how,
            half_closed_ns=self.half_closed_ns,
            hop_closed_ns=self._hop_closed_ns,
            answer_bytes=self.answer_bytes,
            unneeded_bytes=self.unneeded_bytes,
        )


_ENDINGS: Mapping[tuple[EndedBy, str], tuple[Ending, GivenUp]] = {
    ("nobody", "framed"): ("framed", "no"),
    ("hop", "framed"): ("broken", "no"),
    ("hop", "fin"): ("fin", "no"),
    ("hop", "reset"): ("reset", "no"),
    ("hop", "refused"): ("refused", "no"),
    ("client", "fin"): ("given-up", "deadline"),
    ("client", "reset"): ("given-up", "deadline"),
    ("client", "refused"): ("refused", "no"),
    ("client", "open"): ("given-up", "deadline"),
    ("nobody", "open"): ("given-up", "deadline"),
}
"""In the words of an exchange: the client is "we" there, and what it gave up is given up."""


def tapped_exchange_to_json(tapped: TappedExchange) -> JsonObject:
    """The data of a ``tap_exchange`` event."""
    plain: dict[str, Any] = {
        field.name: getattr(tapped, field.name)
        for field in fields(TappedExchange)
        if field.name not in ("asked", "exchange")
    }
    return {
        **plain,
        "asked": asdict(tapped.asked),
        "exchange": exchange_to_json(tapped.exchange),
    }


def tapped_exchange_from_json(value: JsonObject) -> TappedExchange:
    """The exchange that the event describes."""
    taken = _known(TappedExchange, value)
    asked, exchange = value["asked"], value["exchange"]
    assert isinstance(asked, Mapping)
    assert isinstance(exchange, Mapping)
    taken["asked"] = Asked(**_known(Asked, asked))
    taken["exchange"] = exchange_from_json(exchange)
    return TappedExchange(**taken)


def tapped_connection_to_json(connection: TappedConnection) -> JsonObject:
    """The data of a ``tap_connection`` event."""
    return asdict(connection)


def tapped_connection_from_json(value: JsonObject) -> TappedConnection:
    """The connection that the event describes."""
    taken = _known(TappedConnection, value)
    taken["chunks"] = tuple(tuple(chunk) for chunk in taken.get("chunks", ()))
    return TappedConnection(**taken)


def _known(kind: type, value: JsonObject) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: item for name, item in value.items() if name in names}
