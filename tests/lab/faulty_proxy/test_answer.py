"""The answer on its way through: unchanged bytes, seen ends, new framing."""

from __future__ import annotations

import pytest

from exonerate.lab.faulty_proxy.answer import Answer
from exonerate.lab.faulty_proxy.rules import DropEvents
from exonerate.lab.faulty_proxy.transforms import Transform, transform_for
from exonerate.lab.http1 import MalformedMessage

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n"
)


def drop() -> list[Transform]:
    """A transformer that leaves out every second event."""
    transform = transform_for(DropEvents(every=2))
    assert transform is not None
    return [transform]


@pytest.mark.parametrize(
    "message",
    [
        CHUNKED,
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    ],
)
def test_bytes_pass_unchanged_and_the_end_is_seen(message: bytes) -> None:
    """Fed one byte at a time, the same bytes leave and the end is seen exactly at the end."""
    answer = Answer(to_method="POST")
    left = b""
    for index in range(len(message)):
        assert not answer.done
        left += answer.feed(message[index : index + 1])
    assert answer.done
    assert left == message


def test_bytes_behind_the_end_do_not_pass() -> None:
    """What an engine sends behind its answer is not the client's."""
    answer = Answer(to_method="POST")
    assert answer.feed(CHUNKED + b"HTTP/1.1 408") == CHUNKED


def test_the_engines_close_is_not_the_clients() -> None:
    """`Connection: close` of the engine is replaced, unless the close ends the body."""
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    assert b"Connection: keep-alive" in Answer(to_method="POST").feed(closing)
    endless = Answer(to_method="POST")
    assert b"Connection: close" in endless.feed(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")
    assert endless.ends_with_connection
    assert not endless.done
    endless.engine_closed()
    assert endless.done


def test_changed_answers_get_new_framing() -> None:
    """With a transformer, length and chunks are made anew around the changed body."""
    answer = Answer(to_method="POST", transforms=drop())
    left = answer.feed(CHUNKED)
    assert left.endswith(b"\r\n\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n")
    sized = Answer(to_method="POST", transforms=drop())
    left = sized.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\ndata: a\n\ndata: b\n\n")
    assert b"Content-Length" not in left
    assert left.endswith(b"9\r\ndata: a\n\n\r\n0\r\n\r\n")


def test_events_are_counted_across_cuts() -> None:
    """An event whose end comes in two pieces counts once."""
    answer = Answer(to_method="POST")
    answer.feed(b"HTTP/1.1 200 OK\r\n\r\ndata: a\n")
    assert answer.events == 0
    answer.feed(b"\ndata: b\n\n")
    assert (answer.events, answer.body_bytes) == (2, 18)


def test_not_http() -> None:
    """An engine that speaks something else is noticed."""
    with pytest.raises(MalformedMessage):
        Answer(to_method="POST").feed(b"SSH-2.0-x\r\n\r\n")
