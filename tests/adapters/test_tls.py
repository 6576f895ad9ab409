"""Probes and load over TLS, with certificates that are trusted and that are not."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.load import play_cell
from exonerate.adapters.prober import play_session
from exonerate.core.scene import LoadCell, ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange

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
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    extension = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    subprocess.run([*command.split(), *extension, *files], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "cert").read_bytes())
    return both


@asynccontextmanager
async def engine(certificate: Path) -> AsyncIterator[str]:
    """A small engine behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

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


def against_engine(certificate: Path, play: Callable[[str], Awaitable[Any]]) -> Any:
    """What happens against the engine."""

    async def run() -> Any:
        async with engine(certificate) as url:
            return await play(url)

    return asyncio.run(run())


def probe(certificate: Path, rounds: int = 2) -> list[Exchange]:
    """A session over TLS."""
    seen: list[Exchange] = []

    async def play(url: str) -> None:
        session = ProbeSession(
            name="s",
            hop="h",
            url=url,
            request=RECIPE,
            rounds=rounds,
            connection="reuse",
            think_s=0.0,
            deadline_s=5.0,
        )
        await play_session(session, clock=SystemClock(), emit=seen.append)

    against_engine(certificate, play)
    return seen


def test_a_session_over_tls_is_complete(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handshake has its own stamp, and the connection is reused with the kernel's stamps."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    first, second = probe(certificate)
    assert first.complete
    assert second.complete
    assert first.connected_ns is not None
    assert first.secured_ns is not None
    assert first.connected_ns < first.secured_ns
    assert second.connection.request_number == 2
    assert second.stamp_source == "kernel"


def test_an_untrusted_certificate_is_an_observation(certificate: Path) -> None:
    """A handshake that fails ends while connecting, and says why."""
    (seen,) = probe(certificate)
    assert seen.end == "hXK"
    assert seen.error is not None
    assert "certificate" in seen.error.lower()


def test_load_goes_over_tls(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell over TLS measures every event, like one without."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def play(url: str) -> Any:
        cell = LoadCell(
            name="c", hop="h", url=url, request=RECIPE, concurrency=2, requests=6, deadline_s=5.0
        )
        return await play_cell(cell, clock=SystemClock())

    event = against_engine(certificate, play)
    assert [row[4] for row in event["rows"]] == ["ok"] * 6
    assert [row[5] for row in event["rows"]] == [2] * 6
    assert event["instrument"]["connections"] == 2


def test_load_against_an_untrusted_certificate_ends(certificate: Path) -> None:
    """Each request fails with its code; nothing waits for a deadline."""

    async def play(url: str) -> Any:
        cell = LoadCell(
            name="c", hop="h", url=url, request=RECIPE, concurrency=2, requests=4, deadline_s=20.0
        )
        return await play_cell(cell, clock=SystemClock())

    assert [row[4] for row in against_engine(certificate, play)["rows"]] == ["hXK"] * 4
