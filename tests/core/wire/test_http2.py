"""The HTTP/2 client against a server side of the library, and against everything that is none."""

from __future__ import annotations

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RequestReceived
from h2.settings import SettingCodes, Settings
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.wire.http1 import Broken, Data, End, Head, Part
from exonerate.core.wire.http2 import Http2Answer, Http2Wire, error_name

PSEUDO = ((":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", "/v1/x"))
OK = [(":status", "200"), ("content-type", "text/event-stream")]


class Hop:
    """A client and the server that it talks to, without a socket between them."""

    def __init__(self, *, window: int | None = None) -> None:
        self.server = H2Connection(H2Configuration(client_side=False))
        if window is not None:
            narrow = {SettingCodes.INITIAL_WINDOW_SIZE: window}
            self.server.local_settings = Settings(client=False, initial_values=narrow)
        self.server.initiate_connection()
        self.wire = Http2Wire()
        self.events: list[object] = []

    def ask(self, body: bytes = b"{}") -> Http2Answer:
        """Begin a request and hand it to the server."""
        answer = self.wire.request(PSEUDO, [("x-request-id", "r"), ("connection", "x")], body)
        self.to_server()
        return answer

    def to_server(self) -> None:
        """What the client wants to send reaches the server."""
        self.events += self.server.receive_data(self.wire.outgoing())

    def to_client(self, answer: Http2Answer, step: int = 1 << 20) -> list[Part]:
        """What the server wants to send reaches the client, in pieces."""
        sent = bytes(self.server.data_to_send())
        pieces = [sent[at : at + step] for at in range(0, len(sent), step)]
        return [part for piece in pieces for part in answer.feed(piece)]

    def received(self) -> bytes:
        """The body that the server has."""
        return b"".join(event.data for event in self.events if isinstance(event, DataReceived))


def goaway(last_stream: int, code: int) -> bytes:
    """A GOAWAY frame."""
    payload = last_stream.to_bytes(4, "big") + code.to_bytes(4, "big") + b"bye"
    return len(payload).to_bytes(3, "big") + b"\x07\0\0\0\0\0" + payload


@given(st.integers(1, 60), st.lists(st.binary(max_size=300), max_size=5))
def test_an_answer_comes_as_the_same_parts_as_in_http1(step: int, pieces: list[bytes]) -> None:
    """Head, body and end, wherever the bytes of the connection are cut."""
    hop = Hop()
    answer = hop.ask()
    hop.server.send_headers(1, OK)
    for piece in pieces:
        hop.server.send_data(1, piece)
    hop.server.end_stream(1)
    parts = hop.to_client(answer, step)
    head = parts[0]
    assert isinstance(head, Head)
    assert (head.status, head.version, head.framing) == (200, "2", "end-stream")
    assert head.header("content-type") == "text/event-stream"
    assert b"".join(p.content for p in parts if isinstance(p, Data)) == b"".join(pieces)
    assert parts[-1] == End()
    assert answer.finished
    assert answer.ending is None


def test_a_request_arrives_whole_and_without_the_fields_of_http1() -> None:
    """Names of the target in pseudo-headers, no `connection`, the body to its last byte."""
    hop = Hop()
    hop.ask(b"x" * 40_000)
    (asked,) = [event for event in hop.events if isinstance(event, RequestReceived)]
    names = [bytes(name) for name, _ in asked.headers or []]
    assert names == [b":method", b":scheme", b":authority", b":path", b"x-request-id"]
    assert hop.received() == b"x" * 40_000
    assert hop.wire.request_sent


def test_several_requests_go_over_one_connection() -> None:
    """Each on a stream of its own, and what belongs to an old one is not taken for the new."""
    hop = Hop()
    for stream in (1, 3, 5):
        answer = hop.ask()
        hop.server.send_headers(stream, OK)
        hop.server.send_data(stream, b"abc", end_stream=True)
        parts = hop.to_client(answer)
        assert [type(part) for part in parts] == [Head, Data, End]


def test_a_closed_window_holds_the_body_back_and_says_so() -> None:
    """The hop's flow control keeps the rest of the body here until it opens the window."""
    hop = Hop(window=1000)
    hop.to_client(hop.ask(b""))
    second = hop.ask(b"x" * 5000)
    assert hop.received() == b"x" * 1000
    assert not hop.wire.request_sent
    assert hop.wire.held_up == (
        "flow control: the hop takes no more of the body, 4000 bytes are left"
    )
    hop.server.increment_flow_control_window(9000, 3)
    hop.to_client(second)
    hop.to_server()
    assert hop.received() == b"x" * 5000
    assert hop.wire.request_sent
    assert hop.wire.held_up is None


def test_long_answers_are_acknowledged_as_they_come() -> None:
    """More than any window comes through, because what was read is given back."""
    hop = Hop()
    answer = hop.ask()
    hop.to_client(answer)
    hop.to_server()
    hop.server.send_headers(1, OK)
    taken = 0
    while taken < 5_000_000:
        room = hop.server.local_flow_control_window(1)
        assert room > 0
        hop.server.send_data(1, bytes(min(room, 16_000)))
        taken += sum(len(p.content) for p in hop.to_client(answer) if isinstance(p, Data))
        hop.to_server()


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        (ErrorCodes.INTERNAL_ERROR, "reset"),
        (ErrorCodes.CANCEL, "reset"),
        (ErrorCodes.REFUSED_STREAM, "refused"),
    ],
)
def test_a_reset_stream_says_with_which_code(code: ErrorCodes, ending: str) -> None:
    """RST_STREAM is the hop's end of the answer; REFUSED_STREAM is its explicit no."""
    hop = Hop()
    answer = hop.ask()
    hop.server.send_headers(1, OK)
    hop.server.reset_stream(1, code)
    hop.to_client(answer)
    assert answer.finished
    assert (answer.ending, answer.why) == (ending, f"RST_STREAM: {code.name}")


def test_a_reset_after_the_end_changes_nothing() -> None:
    """A hop that wants no more of the request says so after its whole answer (RFC 9113, 8.1)."""
    hop = Hop(window=1000)
    hop.to_client(hop.ask(b""))
    answer = hop.ask(b"x" * 5000)
    hop.server.send_headers(3, [(":status", "413")], end_stream=True)
    hop.server.reset_stream(3, ErrorCodes.NO_ERROR)
    parts = hop.to_client(answer)
    assert [type(part) for part in parts] == [Head, End]
    assert answer.ending is None


def test_an_early_answer_leaves_the_rest_of_the_request_unsent() -> None:
    """A 413 while the body waits for a window is the answer; the request never was whole."""
    hop = Hop(window=1000)
    hop.to_client(hop.ask(b""))
    answer = hop.ask(b"x" * 5000)
    hop.server.send_headers(3, [(":status", "413")], end_stream=True)
    hop.to_client(answer)
    assert answer.finished
    assert not hop.wire.request_sent


def test_a_hop_that_is_drained_still_answers_what_it_has() -> None:
    """GOAWAY that names our stream as taken ends nothing; the next request needs a connection."""
    hop = Hop()
    answer = hop.ask()
    hop.server.send_headers(1, OK)
    hop.to_client(answer)
    assert answer.feed(goaway(1, 0)) == []
    hop.server.send_data(1, b"abc", end_stream=True)
    assert [type(part) for part in hop.to_client(answer)] == [Data, End]
    assert answer.ending is None
    assert hop.wire.going_away == "GOAWAY: NO_ERROR"


def test_a_hop_that_goes_away_without_our_request_refuses_it() -> None:
    """GOAWAY with an older stream says that this one was not looked at."""
    hop = Hop()
    answer = hop.ask()
    answer.feed(goaway(0, 11))
    assert (answer.ending, answer.why) == ("refused", "GOAWAY: ENHANCE_YOUR_CALM")
    assert answer.finished


def test_interim_answers_are_counted() -> None:
    """A 103 is not the answer, and an endless row of them is a breach."""
    hop = Hop()
    answer = hop.ask()
    hop.server.send_headers(1, [(":status", "103"), ("link", "<x>")])
    assert hop.to_client(answer) == []
    assert (answer.interim_answers, answer.answering) == (1, False)
    for _ in range(40):
        hop.server.send_headers(1, [(":status", "103")])
    assert hop.to_client(answer) == [Broken("endless-interim-answers")]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not-http2"),
        (b"\xff\xff\xff\x00\0\0\0\0\0", "frame-too-large"),
        (b"\0\0\x04\x07\0\0\0\0\0abcd", "bad-goaway"),
        (b"\0\0\x01\x00\0\0\0\0\x09a", "http2-no-such-stream"),
        (b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0", "http2-protocol"),
    ],
)
def test_a_breach_is_named(content: bytes, why: str) -> None:
    """What is no HTTP/2, or breaks its rules, has a name."""
    answer = Hop().ask()
    assert answer.feed(content) == [Broken(why)]
    assert answer.finished
    assert answer.feed(b"more") == []


@settings(max_examples=150)
@given(st.lists(st.binary(max_size=80), max_size=5), st.booleans())
def test_garbage_never_raises(pieces: list[bytes], after_settings: bool) -> None:
    """Whatever comes, the reader answers with parts."""
    hop = Hop()
    answer = hop.ask()
    if after_settings:
        hop.to_client(answer)
    for piece in pieces:
        answer.feed(piece)
    hop.wire.outgoing()


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10), st.integers(0, 255), st.integers(0, 3), st.binary(max_size=40)
        ),
        max_size=6,
    )
)
def test_frames_of_any_kind_never_raise(frames: list[tuple[int, int, int, bytes]]) -> None:
    """Well-formed frames with any flags, stream and payload are parts or a breach."""
    hop = Hop()
    answer = hop.ask()
    hop.to_client(answer)
    for kind, flags, stream, payload in frames:
        head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
        answer.feed(head + payload)
        hop.wire.outgoing()


def test_unknown_codes_are_numbers() -> None:
    """A code that no standard names is given as it came."""
    assert error_name(99) == "code 99"
