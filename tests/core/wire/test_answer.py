"""One answer, from raw reads to facts."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import partial

import brotli
import pytest
from backports import zstd

from exonerate.core.wire.answer import AnswerReader
from exonerate.core.wire.coding import PLAIN_BYTES_MAX

CHUNKED = b"HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n"
STREAM = CHUNKED % b"Content-Type: text/event-stream\r\n"
WORD = b'data: {"choices":[{"delta":{"content":" a"}}]}\n\n'
DONE = b"data: [DONE]\n\n"

CODINGS: list[tuple[bytes, Callable[[bytes], bytes]]] = [
    (b"gzip", gzip.compress),
    (b"br", partial(brotli.compress, quality=1)),
    (b"zstd", zstd.compress),
]


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


def read(*contents: bytes) -> tuple[AnswerReader, list[int]]:
    """The reader after these reads, and the meaningful events of each."""
    reader = AnswerReader("chat")
    return reader, [reader.feed(content) for content in contents]


def test_each_read_says_how_many_events_it_completed() -> None:
    """An event counts for the read that brought its last byte."""
    body = chunk(WORD)
    reader, counts = read(STREAM, body[:20], body[20:], chunk(WORD) * 2)
    assert counts == [0, 0, 1, 2]
    assert not reader.finished


def test_events_under_another_content_type_are_read() -> None:
    """A hop that mislabels a stream does not hide it."""
    reader, counts = read(CHUNKED % b"Content-Type: text/plain\r\n" + chunk(WORD), chunk(DONE))
    assert counts == [1, 0]
    assert reader.done_said


def test_a_page_instead_of_an_answer_is_named() -> None:
    """An HTML page under status 200 is a defect of the answer."""
    reader, _ = read(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
    assert "html-body" in reader.facts().defects


def coded(name: bytes) -> bytes:
    """The head of a stream in that coding."""
    return STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: %s\r\n\r\n" % name)


def test_an_unknown_coding_is_said_to_be_unreadable() -> None:
    """What cannot be undone is not judged, and it is said."""
    reader, _ = read(coded(b"compress"), chunk(b"x"))
    assert reader.facts().defects == ("undecodable-coding",)
    assert reader.unread is not None
    assert "`compress`" in reader.unread


@pytest.mark.parametrize(("name", "compress"), CODINGS)
def test_a_coding_inside_chunks_is_undone(name: bytes, compress: Callable[[bytes], bytes]) -> None:
    """Coding and framing are undone in their order, before the answer is judged."""
    body = compress(WORD * 3 + DONE)
    reader, counts = read(coded(name), chunk(body[:20]), chunk(body[20:]), b"0\r\n\r\n")
    assert sum(counts) == 3
    assert reader.body_complete
    assert reader.facts().done_seen
    assert reader.facts().defects == ()


@pytest.mark.parametrize(("name", "compress"), CODINGS)
def test_a_coding_that_its_framing_cut_short_is_named(
    name: bytes, compress: Callable[[bytes], bytes]
) -> None:
    """A regular last chunk after half a compressed body: somebody on the way lost the rest."""
    body = compress(WORD * 3 + DONE)
    reader, _ = read(coded(name), chunk(body[: len(body) // 2]), b"0\r\n\r\n")
    assert reader.body_complete
    assert "cut-coding" in reader.facts().defects


def test_a_garbled_coding_is_told_from_one_that_is_not_known() -> None:
    """Bytes that are not in the coding their head names were damaged on the way."""
    reader, _ = read(coded(b"gzip"), chunk(b"this is no gzip at all"), b"0\r\n\r\n")
    assert reader.facts().defects == ("invalid-coding",)
    assert reader.unread is None


@pytest.mark.parametrize(("name", "compress"), CODINGS)
def test_a_bomb_is_not_read_to_its_end(name: bytes, compress: Callable[[bytes], bytes]) -> None:
    """A few kilobytes that inflate to gigabytes cost a bounded time and are named."""
    reader, _ = read(coded(name), chunk(compress(bytes(2 * PLAIN_BYTES_MAX))), b"0\r\n\r\n")
    assert reader.body_complete
    assert "oversized-body" in reader.facts().defects


@pytest.mark.parametrize(
    ("head", "reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}x", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", False),
    ],
)
def test_a_connection_is_reused_only_where_it_may_be(head: bytes, reusable: bool) -> None:
    """Version, `Connection` and what is left on the wire decide."""
    assert read(head)[0].reusable == reusable


def test_leaked_framing_is_named() -> None:
    """Chunk sizes inside the body betray a hop that frames twice."""
    reader, _ = read(STREAM, chunk(chunk(WORD)))
    assert "framing-in-body" in reader.facts().defects
