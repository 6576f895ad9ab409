"""Small pages from servers that do not behave."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from exonerate.adapters.http_get import BODY_LIMIT, get_page
from exonerate.core.ports import Page

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
LIMIT_S = 0.2


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that answers each connection that way, until the client goes."""

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                answer(connection)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
        listener.shutdown(socket.SHUT_RDWR)


def trickle(content: bytes) -> Callable[[socket.socket], None]:
    """One byte after the other, for ever, each well within any time-out."""

    def answer(connection: socket.socket) -> None:
        for byte in content:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    return answer


def flood(connection: socket.socket) -> None:
    """A body without an end, as fast as it goes."""
    connection.sendall(HEAD)
    while True:
        connection.sendall(b"x" * 1_000_000)


def garbage(connection: socket.socket) -> None:
    """Nothing like HTTP."""
    connection.sendall(b"\x00\xff garbage\r\n\r\n" * 10)


def read(url: str) -> Page:
    """The page; the loop ends only when the thread that read it has ended."""
    return asyncio.run(get_page(url, timeout_s=LIMIT_S))


@pytest.mark.parametrize("content", [b"HTTP/1.1 2", HEAD], ids=["head", "body"])
def test_a_page_that_trickles_in_for_ever_is_cut_off(content: bytes) -> None:
    """The time has a limit, and no thread stays behind that would keep the program for ever."""
    with server(trickle(content)) as url:
        page = read(url)
    assert page.status is None
    assert "no answer within" in str(page.error)


def test_a_page_without_an_end_is_read_up_to_a_limit() -> None:
    """Nothing of it is taken: to understand it would be load, again and again."""
    with server(flood) as url:
        page = asyncio.run(get_page(url, timeout_s=60))
    assert (page.status, page.text) == (None, "")
    assert f"longer than {BODY_LIMIT >> 20} MiB" in str(page.error)


def test_garbage_is_an_observation() -> None:
    """Whatever answers, the reader says what was wrong."""
    with server(garbage) as url:
        page = read(url)
    assert page.status is None
    assert page.error


@pytest.mark.parametrize("host", [f"{'a' * 70}.example", "a..b"])
def test_a_host_that_cannot_be_looked_up_is_an_observation(host: str) -> None:
    """As one that is not there."""
    page = read(f"http://{host}:9/")
    assert page.status is None
    assert page.error
