"""One answer, from raw reads to facts."""

from __future__ import annotations

import gzip

import pytest

from exonerate.core.wire.answer import AnswerReader

CHUNKED = b"HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n"
STREAM = CHUNKED % b"Content-Type: text/event-stream\r\n"
WORD = b'data: {"choices":[{"delta":{"content":" a"}}]}\n\n'
DONE = b"data: [DONE]\n\n"


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


def test_an_unknown_coding_is_said_to_be_unreadable() -> None:
    """What cannot be undone is not judged, and it is said."""
    reader, _ = read(STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n"), chunk(b"x"))
    assert reader.facts().defects == ("undecodable-coding",)


def test_gzip_inside_chunks_is_undone() -> None:
    """Coding and framing are undone in their order."""
    head = STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    reader, counts = read(head, chunk(gzip.compress(WORD * 3)), b"0\r\n\r\n")
    assert sum(counts) == 3
    assert reader.body_complete


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
