"""Requests as they cross a tap: read to their end, never beyond, and without keeping their text."""

import hashlib
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.json_types import JsonObject
from exonerate.core.wire.request_reader import BODY_BYTES_KEPT, RequestReader

BODY = b'{"model":"m","stream":true,"max_tokens":7,"messages":[{"role":"user"},{"role":"x"}]}'
HEAD = b"POST /v1/chat/completions?key=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: agent/2\r\n"
PLAIN = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
CHUNKED = (
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
)


@given(st.sampled_from([PLAIN, CHUNKED]), st.lists(st.integers(0, 400), max_size=8))
def test_a_request_reads_the_same_however_it_was_cut(request_bytes: bytes, cuts: list[int]) -> None:
    """Model, limit, stream and size of history come out whatever the pieces were."""
    places = sorted({0, len(request_bytes), *(cut for cut in cuts if cut < len(request_bytes))})
    reader = RequestReader()
    for begin, end in pairwise(places):
        over = reader.take(request_bytes[begin:end])
    asked = reader.asked()
    assert over
    assert reader.complete
    assert (asked.model, asked.stream, asked.max_tokens, asked.messages) == ("m", True, 7, 2)
    assert (asked.method, asked.path, asked.user_agent) == (
        "POST",
        "/v1/chat/completions",
        "agent/2",
    )
    assert asked.body_bytes == len(BODY)
    assert asked.prompt_sha256 == hashlib.sha256(BODY).hexdigest()


@pytest.mark.parametrize(
    ("body", "stream"),
    [
        ({"messages": [], "stream": True}, True),
        ({"messages": []}, False),
        ({"input": "x", "stream": None}, False),
        ({"prompt": "x"}, False),
        ({"query": "x"}, None),
    ],
)
def test_who_does_not_ask_for_a_stream_gets_a_whole_answer(
    body: JsonObject, stream: bool | None
) -> None:
    """Copies of such a client must wait as silently as it does."""
    content = orjson.dumps(body)
    reader = RequestReader()
    reader.take(HEAD + b"Content-Length: %d\r\n\r\n" % len(content) + content)
    assert reader.asked().stream is stream


def test_what_follows_a_request_is_left_for_the_next_one() -> None:
    """Two requests in one read are not taken for one."""
    reader = RequestReader()
    assert reader.take(PLAIN + b"GET / HTTP/1.1\r\n")
    assert reader.rest == b"GET / HTTP/1.1\r\n"


def test_a_request_that_came_through_another_box_says_so() -> None:
    """An absolute target or a `via` header is not what a client sends to its server."""
    direct, absolute, via = RequestReader(), RequestReader(), RequestReader()
    direct.take(b"GET /v1/models HTTP/1.1\r\nHost: h\r\n\r\n")
    absolute.take(b"GET http://h:1/v1/models HTTP/1.1\r\nHost: h\r\n\r\n")
    via.take(b"GET /v1/models HTTP/1.1\r\nVia: 1.1 squid\r\n\r\n")
    assert [r.asked().forwarded for r in (direct, absolute, via)] == [False, True, True]
    assert absolute.path == "/v1/models"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", "tls"),
        (b"hello world\r\n\r\n", "not-http"),
        (HEAD + b"Content-Length: many\r\n\r\n", "bad-content-length"),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000, "head-too-long"),
    ],
)
def test_what_is_no_request_is_named(content: bytes, why: str) -> None:
    """TLS on a plain port, garbage and a wrong length are told apart."""
    reader = RequestReader()
    reader.take(content)
    assert reader.broken == why
    assert not reader.complete


def test_a_huge_body_is_counted_and_not_kept() -> None:
    """Its size and its hash are known, its fields are not."""
    size = BODY_BYTES_KEPT + 10
    reader = RequestReader()
    reader.take(HEAD + b"Content-Length: %d\r\n\r\n" % size)
    for _ in range(size // 1000):
        reader.take(b" " * 1000)
    assert reader.take(b" " * (size % 1000))
    assert reader.asked().body_bytes == size
    assert reader.asked().model is None
