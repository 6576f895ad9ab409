"""Probes over HTTP/2: against a server of other people's making, and against scripted ones."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived
from h2.settings import SettingCodes
from tests.support.certificates import Authority, authority_in
from tests.support.skipped_time import played

from exonerate.adapters.address import parse_address
from exonerate.adapters.clock import SystemClock
from exonerate.adapters.conversation import Http2Conversation
from exonerate.adapters.link import USUAL, Link
from exonerate.adapters.prober import play_session
from exonerate.adapters.request import build_request
from exonerate.adapters.transport import Connection, ConnectionLost
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange
from exonerate.errors import ExonerateError

ENGINE = Path(__file__).parents[1] / "support" / "asgi_engine.py"
HTTP2 = Link(http="2")
HEAD = [(":status", "200"), ("content-type", "text/event-stream")]
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"}}]}\n\n'
DONE = b"data: [DONE]\n\n"


def session_at(url: str, **changes: Any) -> ProbeSession:
    """A session of the shape that most tests need."""
    prompt = PromptRecipe(seed=1, prompt_tokens=changes.pop("prompt_tokens", 20), growth_tokens=10)
    recipe = RequestRecipe(path="/v1/chat/completions", model="m", prompt=prompt, max_tokens=8)
    settings: dict[str, Any] = {
        "rounds": 1, "connection": "reuse", "think_s": 0.0, "deadline_s": 60.0, **changes,
    }  # fmt: skip
    return ProbeSession(name="probe", hop="edge", url=url, request=recipe, **settings)


def probe(url: str, link: Link = HTTP2, **changes: Any) -> list[Exchange]:
    """Play one session and return what it saw."""
    seen: list[Exchange] = []
    session = session_at(url, **changes)
    asyncio.run(play_session(session, clock=SystemClock(), emit=seen.append, link=link))
    return seen


@contextmanager
def hypercorn(*arguments: str) -> Iterator[int]:
    """A running server with our engine; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        program = subprocess.Popen(
            [sys.executable, str(ENGINE), str(listener.fileno()), *arguments],
            pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield listener.getsockname()[1]
        finally:
            program.terminate()
            program.wait(60)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A private certificate authority."""
    return authority_in(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def plain_port() -> Iterator[int]:
    """A server that speaks both versions without TLS, the newer one by prior knowledge."""
    with hypercorn() as port:
        yield port


@pytest.fixture(scope="module")
def tls_port(authority: Authority) -> Iterator[int]:
    """A server that lets the TLS handshake choose."""
    pair = authority.sign("127.0.0.1")
    with hypercorn(str(pair.certificate), str(pair.key)) as port:
        yield port


def test_a_session_over_http2_is_complete(plain_port: int) -> None:
    """Every stamp is there as over HTTP/1.1, and all rounds share the connection."""
    seen = probe(f"http://127.0.0.1:{plain_port}", rounds=3)
    assert [exchange.complete for exchange in seen] == [True] * 3
    assert [exchange.end for exchange in seen] == ["---"] * 3
    assert {exchange.http_version for exchange in seen} == {"2"}
    assert {exchange.framing for exchange in seen} == {"end-stream"}
    assert [exchange.connection.request_number for exchange in seen] == [1, 2, 3]
    assert [exchange.content.meaningful_events for exchange in seen] == [3, 3, 3]
    assert seen[0].headers["x-served-by"] == "asgi"
    for one in seen:
        assert one.written_ns is not None
        assert one.first_byte_ns is not None
        assert one.first_token_ns is not None
        assert one.begun_ns <= one.written_ns <= one.ended_ns
        assert one.begun_ns <= one.first_byte_ns <= one.first_token_ns <= one.ended_ns


def test_a_long_request_goes_out_as_the_windows_open(plain_port: int) -> None:
    """A prompt of several windows arrives whole."""
    (seen,) = probe(f"http://127.0.0.1:{plain_port}", prompt_tokens=200_000)
    assert seen.complete
    assert seen.request_bytes > 1_000_000


def test_http1_is_spoken_unless_the_deployment_says_otherwise(plain_port: int) -> None:
    """A probe copies what clients of LLM services do, and those speak HTTP/1.1."""
    (seen,) = probe(f"http://127.0.0.1:{plain_port}", USUAL)
    assert seen.complete
    assert seen.http_version == "1.1"


@pytest.mark.parametrize(("http", "spoken"), [("1.1", "1.1"), ("2", "2"), ("auto", "2")])
def test_the_handshake_chooses_only_where_it_may(
    tls_port: int, authority: Authority, http: Any, spoken: str
) -> None:
    """Over TLS the offer follows the deployment; `auto` takes what the hop prefers."""
    link = Link(http=http, ca=str(authority.certificate))
    seen = probe(f"https://127.0.0.1:{tls_port}", link, rounds=2)
    assert [exchange.complete for exchange in seen] == [True, True]
    assert {exchange.http_version for exchange in seen} == {spoken}


def test_without_tls_auto_is_http1(plain_port: int) -> None:
    """Where there is no handshake nothing can be chosen in it."""
    (seen,) = probe(f"http://127.0.0.1:{plain_port}", Link(http="auto"))
    assert seen.http_version == "1.1"


class Server:
    """One accepted connection of a scripted hop that speaks HTTP/2."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.wire = H2Connection(H2Configuration(client_side=False))

    async def asked(self) -> int:
        """Wait for a request; its stream."""
        if not self.wire.open_inbound_streams and self.wire.highest_inbound_stream_id == 0:
            self.wire.initiate_connection()
            await self.flush()
        while received := await self._reader.read(65536):
            events = self.wire.receive_data(received)
            await self.flush()
            for event in events:
                if isinstance(event, RequestReceived):
                    return int(event.stream_id)
        raise ConnectionResetError

    async def flush(self) -> None:
        """Send what the protocol wants to send."""
        self.writer.write(self.wire.data_to_send())
        await self.writer.drain()

    async def answer(self, stream: int, *pieces: bytes, end: bool) -> None:
        """A head, pieces of the body, and perhaps the end."""
        self.wire.send_headers(stream, HEAD)
        for piece in pieces:
            self.wire.send_data(stream, piece)
        if end:
            self.wire.end_stream(stream)
        await self.flush()

    async def until_gone(self) -> None:
        """Wait until the client closes."""
        while await self._reader.read(65536):
            pass


def against(script: Callable[[Server], Any], link: Link = HTTP2, **changes: Any) -> list[Exchange]:
    """What a session sees of a scripted hop, on a clock that skips what is only waited for."""
    seen: list[Exchange] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(Server(reader, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            session = session_at(f"http://127.0.0.1:{port}", **changes)
            await play_session(session, clock=SystemClock(), emit=seen.append, link=link)

    played(run())
    return seen


@pytest.mark.parametrize(
    ("code", "end"),
    [(ErrorCodes.INTERNAL_ERROR, "hRD"), (ErrorCodes.REFUSED_STREAM, "hXD")],
)
def test_a_reset_stream_is_the_hops_end(code: ErrorCodes, end: str) -> None:
    """RST_STREAM in the data reads like RST, with its code; a refusal is an explicit no."""

    async def script(server: Server) -> None:
        stream = await server.asked()
        await server.answer(stream, WORD, end=False)
        server.wire.reset_stream(stream, code)
        await server.flush()
        await server.until_gone()

    (seen,) = against(script)
    assert (seen.end, seen.error) == (end, f"RST_STREAM: {code.name}")
    assert seen.content.meaningful_events == 1


def test_after_a_reset_stream_the_connection_lives() -> None:
    """The next round goes over the same connection, as every client of HTTP/2 does it."""

    async def script(server: Server) -> None:
        first = await server.asked()
        server.wire.reset_stream(first, ErrorCodes.CANCEL)
        await server.flush()
        await server.answer(await server.asked(), WORD, DONE, end=True)
        await server.until_gone()

    first, second = against(script, rounds=2, stop_after_failure=False)
    assert first.end == "hRH"
    assert second.complete
    assert (second.connection.ordinal, second.connection.request_number) == (1, 2)


def test_a_hop_that_goes_away_answers_and_is_replaced() -> None:
    """GOAWAY with the answer is a regular end; the next round opens a new connection."""

    async def script(server: Server) -> None:
        stream = await server.asked()
        await server.answer(stream, WORD, DONE, end=True)
        server.wire.close_connection()
        await server.flush()
        await server.until_gone()

    first, second = against(script, rounds=2, think_s=0.1)
    assert first.complete
    assert second.complete
    assert second.connection.ordinal == 2


def test_a_hop_that_goes_away_without_the_request_has_refused_it() -> None:
    """The request was not looked at; it is an explicit no, and it is not sent again."""
    connections = 0

    async def script(server: Server) -> None:
        nonlocal connections
        connections += 1
        await server.asked()
        payload = (0).to_bytes(4, "big") + int(ErrorCodes.ENHANCE_YOUR_CALM).to_bytes(4, "big")
        server.writer.write(b"\0\0\x08\x07\0\0\0\0\0" + payload)
        await server.until_gone()

    (seen,) = against(script)
    assert (seen.end, seen.error) == ("hXH", "GOAWAY: ENHANCE_YOUR_CALM")
    assert connections == 1


def test_a_hop_that_closes_after_a_goaway_is_quoted() -> None:
    """The connection's end is the evidence, and what the hop said of it stands beside it."""

    async def script(server: Server) -> None:
        stream = await server.asked()
        await server.answer(stream, WORD, end=False)
        payload = stream.to_bytes(4, "big") + int(ErrorCodes.INTERNAL_ERROR).to_bytes(4, "big")
        server.writer.write(b"\0\0\x08\x07\0\0\0\0\0" + payload)

    (seen,) = against(script)
    assert (seen.end, seen.error) == ("hFD", "GOAWAY: INTERNAL_ERROR")


def test_a_window_that_stays_closed_is_silence_in_the_body() -> None:
    """The round ends at its deadline, before the request was whole, and says what held it up."""

    async def script(server: Server) -> None:
        stream = await server.asked()
        server.wire.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 500})
        await server.answer(stream, WORD, DONE, end=True)
        await server.asked()
        await server.until_gone()

    first, second = against(script, rounds=2, prompt_tokens=250, deadline_s=0.4, think_s=0.05)
    assert first.complete
    assert second.end == "cZB"
    assert second.written_ns is None
    assert second.error is not None
    assert second.error.startswith("flow control: ")


def test_a_swallowed_request_waits_until_the_deadline() -> None:
    """Silence over HTTP/2 has the same code as over HTTP/1.1."""

    async def script(server: Server) -> None:
        await server.asked()
        await server.until_gone()

    (seen,) = against(script, deadline_s=0.3)
    assert (seen.end, seen.given_up, seen.error) == ("cZH", "deadline", None)
    assert seen.written_ns is not None


def test_a_cut_connection_is_a_cut_in_the_data() -> None:
    """FIN without END_STREAM is no end of the answer."""

    async def script(server: Server) -> None:
        await server.answer(await server.asked(), WORD, DONE, end=False)

    (seen,) = against(script)
    assert seen.end == "hFE"
    assert not seen.body_complete


def test_a_hop_of_http1_is_named() -> None:
    """Prior knowledge that was wrong is an explicit breach, not a wait until the deadline."""

    async def script(server: Server) -> None:
        server.writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await server.until_gone()

    (seen,) = against(script)
    assert (seen.end, seen.error) == ("hXH", "not-http2")


def test_a_hop_of_http2_alone_is_named() -> None:
    """A probe of HTTP/1.1 at a hop that speaks only the other says what it met."""

    async def script(server: Server) -> None:
        server.wire.initiate_connection()
        await server.flush()
        await server.until_gone()

    (seen,) = against(script, USUAL)
    assert (seen.end, seen.error) == ("hXH", "speaks-http2")


def test_without_the_extra_http2_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator is told what to install; `auto` speaks what there is."""
    monkeypatch.setitem(sys.modules, "h2", None)
    with pytest.raises(ExonerateError, match=r"HTTP/2 is not installed") as caught:
        probe("http://127.0.0.1:9")
    assert caught.value.hint == "pip install exonerate[h2]"
    assert Link(http="auto").protocols() == ["http/1.1"]


def test_over_tls_http2_must_be_chosen(authority: Authority) -> None:
    """A TLS hop that does not choose it in the handshake is not asked in it all the same."""
    pair = authority.sign("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.set_alpn_protocols(["http/1.1"])
    seen: list[Exchange] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
        async with server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            link = Link(http="2", ca=str(authority.certificate))
            session = session_at(url)
            await play_session(session, clock=SystemClock(), emit=seen.append, link=link)

    asyncio.run(run())
    assert seen[0].end == "hXK"
    assert seen[0].error is not None
    assert "`http` of the hop" in seen[0].error


class Unreading:
    """A connection to a hop that has stopped reading."""

    def __init__(self) -> None:
        self.written_ns: int | None = None
        self.unsent_bytes = 0

    def send(self, content: bytes) -> None:
        """What is sent stays here."""
        self.unsent_bytes += len(content)

    def take_read(self) -> None:
        """Nothing comes beside what the test feeds."""

    send_more = send


def test_a_hop_that_wants_answers_and_reads_none_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flood of pings ends the exchange as a breach, before it fills the memory."""
    monkeypatch.setattr("exonerate.adapters.conversation.UNREAD_ANSWERS_BYTES_MAX", 10_000)
    connection = Unreading()
    conversation = Http2Conversation(cast("Connection", connection), "http")
    recipe = session_at("http://127.0.0.1:9").request
    reader = conversation.begin(build_request(parse_address("http://h"), recipe, b"{}"))
    server = H2Connection(H2Configuration(client_side=False))
    server.initiate_connection()
    reader.feed(bytes(server.data_to_send()))
    ping = b"\0\0\x08\x06\0\0\0\0\0" + bytes(8)

    def flood() -> None:
        for _ in range(2000):
            reader.feed(ping)
            conversation.keep_up()

    with pytest.raises(ConnectionLost, match="reads none") as caught:
        flood()
    assert caught.value.ending == "broken"
    assert connection.unsent_bytes < 20_000
