"""Probes and load over TLS, with certificates that are trusted and that are not."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.certificates import Authority, Pair, authority_in

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.http_get import get_page
from exonerate.adapters.link import Link
from exonerate.adapters.load import play_cell
from exonerate.adapters.prober import play_session
from exonerate.adapters.tls import tls_context
from exonerate.core.scene import LoadCell, ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange
from exonerate.errors import ExonerateError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"}}]}\n\n'
RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=20),
    max_tokens=8,
)


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A private certificate authority."""
    return authority_in(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    """A certificate for 127.0.0.1 that it signed."""
    return authority.sign("127.0.0.1")


@asynccontextmanager
async def engine(pair: Pair) -> AsyncIterator[str]:
    """A small engine behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(HEAD + chunk(WORD))
                await asyncio.sleep(0.02)
                writer.write(chunk(WORD) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def against_engine(pair: Pair, play: Callable[[str], Awaitable[Any]]) -> Any:
    """What happens against the engine."""

    async def run() -> Any:
        async with engine(pair) as url:
            return await play(url)

    return asyncio.run(run())


def probe(pair: Pair, *, ca: Path | None = None, rounds: int = 1) -> list[Exchange]:
    """A session over TLS."""
    seen: list[Exchange] = []

    async def play(url: str) -> None:
        link = Link(ca=str(ca) if ca else None)
        await play_session(
            session_at(url, rounds), clock=SystemClock(), emit=seen.append, link=link
        )

    against_engine(pair, play)
    return seen


def session_at(url: str, rounds: int = 1) -> ProbeSession:
    """A session of the shape that every test here needs."""
    return ProbeSession(
        name="s", hop="h", url=url, request=RECIPE, rounds=rounds, connection="reuse",
        think_s=0.0, deadline_s=60.0,
    )  # fmt: skip


def load(pair: Pair, **changes: Any) -> Any:
    """The event of a cell over TLS."""

    async def play(url: str) -> Any:
        cell = LoadCell(
            name="c", hop="h", url=url, request=RECIPE, concurrency=2, requests=6, deadline_s=60.0
        )
        return await play_cell(cell, clock=SystemClock(), **changes)

    return against_engine(pair, play)


@pytest.mark.usefixtures("kernel_stamps")
def test_a_session_over_tls_is_complete(authority: Authority, pair: Pair) -> None:
    """The handshake has its own stamp, and the connection is reused with the kernel's stamps."""
    first, second = probe(pair, ca=authority.certificate, rounds=2)
    assert first.complete
    assert second.complete
    assert first.connected_ns is not None
    assert first.secured_ns is not None
    assert first.connected_ns < first.secured_ns
    assert second.connection.request_number == 2
    assert second.stamp_source == "kernel"


def test_the_variable_of_openssl_names_an_authority_too(
    authority: Authority, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a deployment file there is SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    (seen,) = probe(pair)
    assert seen.complete


def test_a_certificate_of_nobody_known_is_refused_with_the_way_out(pair: Pair) -> None:
    """The handshake fails while connecting, and the record says what to name and where."""
    (seen,) = probe(pair)
    assert seen.end == "hXK"
    assert seen.error is not None
    assert '`ca = "FILE"`' in seen.error
    assert "SSL_CERT_FILE" in seen.error


def test_the_authority_of_a_hop_counts_instead_of_all_others(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    """A hop that names its authority is not believed because some other one signed."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    (seen,) = probe(pair, ca=authority_in(tmp_path).certificate)
    assert seen.end == "hXK"


def test_an_expired_certificate_is_named(authority: Authority) -> None:
    """That it is too old is said, and where it must be renewed."""
    (seen,) = probe(authority.sign("127.0.0.1", days=-1), ca=authority.certificate)
    assert seen.end == "hXK"
    assert seen.error is not None
    assert seen.error.startswith("the certificate has expired")


@pytest.mark.parametrize("name", ["127.0.0.2", "other.example"])
def test_a_certificate_for_another_name_is_named(authority: Authority, name: str) -> None:
    """A hop that is asked by a name which its certificate does not have."""
    (seen,) = probe(authority.sign(name), ca=authority.certificate)
    assert seen.end == "hXK"
    assert seen.error is not None
    assert seen.error.startswith("the certificate is for another name")


def wants_certificates(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Shake hands once, refuse, and wait until the client has gone."""
    accepted, _ = listener.accept()
    with context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False) as peer:
        with suppress(ssl.SSLError):
            peer.do_handshake()
        with suppress(OSError):
            while socket.socket.recv(peer, 65536):
                pass


def test_a_hop_that_wants_a_clients_certificate_is_named(authority: Authority, pair: Pair) -> None:
    """The hop's no comes after our side of the handshake, and says what it wants."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.certificate)
    seen: list[Exchange] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hop = threading.Thread(target=wants_certificates, args=(listener, context))
        hop.start()
        session = session_at(f"https://127.0.0.1:{listener.getsockname()[1]}")
        link = Link(ca=str(authority.certificate))
        asyncio.run(play_session(session, clock=SystemClock(), emit=seen.append, link=link))
        hop.join()
    assert seen[0].end[:2] == "hX"
    assert seen[0].error is not None
    assert "client's certificate" in seen[0].error


def test_tls_to_a_hop_without_it_is_named(scripted: Any) -> None:
    """A hop that answers a handshake with an error page speaks no TLS."""
    seen: list[Exchange] = []

    async def script(peer: Any) -> None:
        await peer.reader.read(100)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await peer.until_gone()

    async def run() -> None:
        async with scripted(script) as served:
            session = session_at(served.url.replace("http:", "https:"))
            await play_session(session, clock=SystemClock(), emit=seen.append)

    asyncio.run(run())
    assert seen[0].end == "hXK"
    assert seen[0].error is not None
    assert seen[0].error.startswith("the hop does not speak TLS here")


@pytest.mark.parametrize("content", [None, "no certificate at all"])
def test_a_file_that_holds_no_certificate_is_the_operators_to_mend(
    pair: Pair, tmp_path: Path, content: str | None
) -> None:
    """Before anything is sent, with the name of the file."""
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ExonerateError, match=r"ca\.pem") as caught:
        tls_context(Link(ca=str(file)))
    assert "PEM file" in caught.value.hint


def test_load_goes_over_tls(authority: Authority, pair: Pair) -> None:
    """A cell over TLS measures every event, like one without."""
    event = load(pair, ca=str(authority.certificate))
    assert [row[4] for row in event["rows"]] == ["ok"] * 6
    assert [row[5] for row in event["rows"]] == [2] * 6
    assert event["instrument"]["connections"] == 2


def test_load_against_an_untrusted_certificate_ends_and_says_why(pair: Pair) -> None:
    """Each request fails with its code; nothing waits for a deadline; the way out is noted."""
    event = load(pair)
    assert [row[4] for row in event["rows"]] == ["hXK"] * 6
    (note,) = event["instrument"]["notes"]
    assert "SSL_CERT_FILE" in note


def test_pages_are_had_with_the_certificates_of_their_hop(authority: Authority, pair: Pair) -> None:
    """Metrics and health pages of a hop with a private authority can be read, and no others."""

    async def play(url: str) -> Any:
        cas = {url.removeprefix("https://"): str(authority.certificate)}
        return [await get_page(url, timeout_s=60.0, cas=which) for which in (cas, {})]

    known, unknown = against_engine(pair, play)
    assert known.error == "Remote end closed connection without response"
    assert "SSL_CERT_FILE" in (unknown.error or "")
