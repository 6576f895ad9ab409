"""Where messages end, whatever way their bytes arrive."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.lab.http1 import (
    LAST_CHUNK,
    ChunkedBody,
    MalformedMessage,
    chunk,
    make_head,
    request_body,
    response_body,
    take_head,
)


def test_head_is_taken_when_whole() -> None:
    """A head is taken with its bytes once its empty line is there, and the rest stays."""
    buffer = bytearray(b"POST /v1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, Chunked\r\n")
    assert take_head(buffer) is None
    buffer += b"\r\nrest"
    head = take_head(buffer)
    assert head is not None
    assert (head.method, head.path, head.value("HOST"), head.is_chunked) == (
        "POST",
        "/v1",
        "x",
        True,
    )
    assert bytes(buffer) == b"rest"


def test_field_can_be_replaced() -> None:
    """A field is replaced or removed whatever the case of its name."""
    head = make_head("HTTP/1.1 200 OK", (("connection", "close"), ("A", "b")))
    assert head.with_field("Connection", None).raw == b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    assert not head.with_field("Connection", "keep-alive").says_close


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_malformed_heads(raw: bytes) -> None:
    """A field without a colon and a head without an end are refused."""
    with pytest.raises(MalformedMessage):
        take_head(bytearray(raw))


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.integers(1, 17), st.binary())
def test_chunked_bodies_agree_with_h11(pieces: list[bytes], step: int, rest: bytes) -> None:
    """Cut anywhere, a chunked body gives the payload that h11 reads, and ends where it ends."""
    encoded = b"".join(map(chunk, pieces)) + LAST_CHUNK
    body, payload, used = ChunkedBody(), b"", 0
    message = encoded + rest
    while not body.done:
        carried, took = body.feed(message[used : used + step])
        payload += carried
        used += took
    assert payload == b"".join(pieces)
    assert used == len(encoded)
    oracle = h11.Connection(h11.SERVER)
    oracle.receive_data(
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + encoded
    )
    read = b""
    while not isinstance(event := oracle.next_event(), h11.EndOfMessage):
        read += bytes(event.data) if isinstance(event, h11.Data) else b""
    assert payload == read


@pytest.mark.parametrize("raw", [b"zz\r\n", b"1\r\nab\r\n", b"1" * 9000])
def test_malformed_chunks(raw: bytes) -> None:
    """A size that is none, bytes behind a chunk and an endless size line are refused."""
    with pytest.raises(MalformedMessage):
        ChunkedBody().feed(raw)


def test_lengths() -> None:
    """Requests without a length have no body; responses without one end with the connection."""
    assert request_body(make_head("GET / HTTP/1.1", ())).done
    answer = make_head("HTTP/1.1 200 OK", ())
    assert not response_body(answer, to_method="GET").done
    assert response_body(answer, to_method="HEAD").done
    sized = request_body(make_head("POST / HTTP/1.1", (("Content-Length", "3"),)))
    assert sized.feed(b"abcdef") == (b"abc", 3)
    assert sized.done
    with pytest.raises(MalformedMessage):
        request_body(make_head("POST / HTTP/1.1", (("Content-Length", "-3"),)))
