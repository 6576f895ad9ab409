"""The answer reader against h11, and against everything that h11 refuses."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.http1 import (
    HEAD_BYTES_MAX,
    Broken,
    Data,
    End,
    Head,
    Part,
    ResponseReader,
)

OK = b"HTTP/1.1 200 OK\r\n"


def read_whole(content: bytes, *, eof: bool = False) -> list[Part]:
    """Every part of an answer given at once."""
    reader = ResponseReader()
    return [*reader.feed(content), *(reader.feed_eof() if eof else [])]


def read_bytewise(content: bytes, *, eof: bool = False) -> list[Part]:
    """Every part of an answer given one byte at a time."""
    reader = ResponseReader()
    parts = [part for byte in content for part in reader.feed(bytes([byte]))]
    return [*parts, *(reader.feed_eof() if eof else [])]


def body_of(parts: list[Part]) -> bytes:
    """The body in these parts."""
    return b"".join(part.content for part in parts if isinstance(part, Data))


def why_broken(content: bytes) -> str | None:
    """The rule that an answer breaks, whether it comes at once or byte by byte."""
    whole = [part.why for part in read_whole(content) if isinstance(part, Broken)]
    bytewise = [part.why for part in read_bytewise(content) if isinstance(part, Broken)]
    assert whole == bytewise
    return whole[0] if whole else None


names = st.sampled_from(["x-one", "x-two", "server", "date"])
values = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
pieces = st.lists(st.binary(min_size=1, max_size=200), max_size=6)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A valid answer as h11 writes it, and its body."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    connection.next_event()
    connection.next_event()
    body = draw(pieces)
    headers = draw(st.lists(st.tuples(names, values), max_size=4))
    if draw(st.booleans()):
        headers.append(("content-length", str(sum(map(len, body)))))
    else:
        headers.append(("transfer-encoding", "chunked"))
    content = connection.send(h11.Response(status_code=200, headers=headers))
    for piece in body:
        content += connection.send(h11.Data(data=piece))
    content += connection.send(h11.EndOfMessage())
    return content, b"".join(body)


def h11_reads(content: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body as h11's client reads them."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(content)
    status, headers, body = 0, [], b""
    while not isinstance(event := client.next_event(), h11.EndOfMessage):
        match event:
            case h11.Response():
                status, headers = event.status_code, list(event.headers)
            case h11.Data():
                body += event.data
            case _:
                raise AssertionError(event)
    return status, headers, body


@given(answers(), st.lists(st.integers(1, 400), max_size=8))
def test_valid_answers_read_as_h11_reads_them(answer: tuple[bytes, bytes], cuts: list[int]) -> None:
    """Status, headers and body agree with h11, wherever the bytes are cut."""
    content, body = answer
    reader = ResponseReader()
    parts: list[Part] = []
    rest = content
    for cut in cuts:
        parts += reader.feed(rest[:cut])
        rest = rest[cut:]
    parts += reader.feed(rest)
    status, headers, h11_body = h11_reads(content)
    head = parts[0]
    assert isinstance(head, Head)
    assert head.status == status
    assert [(name.encode(), value.encode("latin-1")) for name, value in head.headers] == headers
    assert body_of(parts) == h11_body == body
    assert parts[-1] == End()


@given(answers())
def test_one_byte_at_a_time_gives_the_same(answer: tuple[bytes, bytes]) -> None:
    """The parts do not depend on how the bytes were cut."""
    content, body = answer
    parts = read_bytewise(content)
    assert body_of(parts) == body
    assert parts[-1] == End()


@given(st.binary(max_size=400))
def test_garbage_never_raises(garbage: bytes) -> None:
    """Whatever comes, the reader answers with parts."""
    for content in (garbage, OK + garbage, OK + b"Transfer-Encoding: chunked\r\n\r\n" + garbage):
        read_whole(content, eof=True)
        read_bytewise(content, eof=True)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x16\x03\x01", "not-http"),
        (b"SSH-2.0-OpenSSH", "not-http"),
        (b"HTTP/1.1 twohundred\r\n\r\n", "bad-status-line"),
        (OK + b"no colon here\r\n\r\n", "bad-header"),
        (OK + b"Bad Name: x\r\n\r\n", "bad-header"),
        (OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", "bad-content-length"),
        (OK + b"Content-Length: -3\r\n\r\n", "bad-content-length"),
        (OK + b"Content-Length: \xb2\r\n\r\n", "bad-content-length"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "bad-chunk-size"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", "bad-chunk-size"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\naXX", "bad-chunk-end"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 5000, "endless-chunk-size"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "unasked-upgrade"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 40, "endless-interim-answers"),
    ],
)
def test_a_breach_is_named(content: bytes, why: str) -> None:
    """Each breach of the protocol has its own name, at the byte that proves it."""
    assert why_broken(content) == why


def test_an_endless_head_is_bounded() -> None:
    """A head beyond the bound is refused instead of kept."""
    filler = b"X: " + b"x" * 1000 + b"\r\n"
    assert why_broken(OK + filler * (HEAD_BYTES_MAX // 1000 + 1)) == "head-too-long"


def test_endless_trailers_are_bounded() -> None:
    """Trailers beyond the bound are refused."""
    content = OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: yyyyyyyyyyyy\r\n" * 8000
    assert why_broken(content) == "trailers-too-long"


def test_interim_answers_are_skipped() -> None:
    """A 103 before the answer is counted and is not the answer."""
    reader = ResponseReader()
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
    (head, end) = reader.feed(interim + OK + b"Content-Length: 0\r\n\r\n")
    assert isinstance(head, Head)
    assert (head.status, end, reader.interim_answers) == (200, End(), 1)


@pytest.mark.parametrize("blank", [b"\r\n", b"\n", b"\r\r\n", b"\r\n\r\n"])
def test_empty_lines_before_an_answer_are_skipped(blank: bytes) -> None:
    """However many and wherever they are cut, they take nothing of the answer with them."""
    for read in (read_whole, read_bytewise):
        head, end = read(blank + OK + b"Content-Length: 0\r\n\r\n")
        assert isinstance(head, Head)
        assert end == End()
    assert why_broken(b"\rXTTP/1.1 200 OK\r\n\r\n") == "not-http"
    assert why_broken(b"\rXHTTP/1.1 200 OK\r\n\r\n") == "not-http"


def test_nothing_is_counted_after_a_breach() -> None:
    """What follows a breach is not read, so that it is no excess either."""
    reader = ResponseReader()
    assert reader.feed(b"garbage") == [Broken("not-http")]
    assert reader.feed(b"more") == []


def test_a_hop_of_http2_is_told_from_garbage() -> None:
    """It begins with its settings, which are for nobody who asked in HTTP/1.1."""
    assert why_broken(b"\0\0\x12\x04\0\0\0\0\0" + bytes(18)) == "speaks-http2"
    assert why_broken(b"\0\0\x12\x04\0\0\0\0\x01") == "not-http"


def test_trailers_and_extensions_are_tolerated() -> None:
    """Chunk extensions and trailers belong to the framing, not to the body."""
    content = OK + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"
    for parts in (read_whole(content), read_bytewise(content)):
        assert body_of(parts) == b"abc"
        assert parts[-1] == End()


def test_chunked_wins_over_a_length() -> None:
    """Where both are given the length is ignored (RFC 9112, 6.3)."""
    content = OK + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert read_whole(content)[-1] == End()


def test_fin_ends_a_body_without_framing() -> None:
    """Without length and chunks the body goes to the FIN, and only that ends it."""
    parts = read_whole(b"HTTP/1.0 200 OK\r\n\r\nabc", eof=True)
    assert body_of(parts) == b"abc"
    assert parts[-1] == End()


def test_fin_does_not_end_a_chunked_body() -> None:
    """FIN before the last chunk is no end."""
    parts = read_whole(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab", eof=True)
    assert not any(isinstance(part, End) for part in parts)


def test_a_status_without_body_ends_at_once() -> None:
    """204 has no body, whatever its headers say."""
    assert read_whole(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")[-1] == End()


def test_excess_bytes_are_counted() -> None:
    """Bytes after the end are counted, in the same read and in a later one."""
    reader = ResponseReader()
    assert reader.feed(OK + b"Content-Length: 1\r\n\r\naxx")[-1] == End(excess=2)
    assert reader.feed(b"y") == [End(excess=1)]


def test_bare_line_feeds_and_folding_are_read() -> None:
    """Heads with bare LF or folded lines are read as RFC 9112 allows."""
    (head, *_) = read_whole(b"HTTP/1.1 200 OK\nX: a\n  b\nContent-Length: 0\n\n")
    assert isinstance(head, Head)
    assert head.header("x") == "a b"
