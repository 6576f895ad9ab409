"""What a run remembers of how its answers end, and what it must not take for the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.content import ContentReader
from exonerate.core.wire.kept_reads import NO_STAMP, KeptReads, wake_at
from exonerate.core.wire.sse import SseEvent
from exonerate.core.wire.trusted_stream import KnownEdges, trust_stream

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(content: bytes) -> bytes:
    """One event in a chunk of its own."""
    data = b"data: %s\n\n" % content
    return b"%x\r\n%s\r\n" % (len(data), data)


names = st.one_of(
    st.sampled_from([b"a-1", b"a-2", b"1", b"2", b"10", b"", b'x\\"', b"\0", b"\xff", b"a b"]),
    st.text("ab12-_", min_size=1, max_size=4).map(str.encode),
)
moments = st.sampled_from([b"1", b"2", b"17", b"170", b"0", b"01", b"1.5", b"null", b'"x"'])


def edge(name: bytes, moment: bytes, tokens: int, finish: bytes) -> list[bytes]:
    """The last events of an answer, with its name and its time in each."""
    begin = b'{"id":"%s","created":%s,' % (name, moment)
    usage = b'"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":%d}}' % tokens
    end = b'"choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}' % finish
    return [chunk(begin + end), chunk(begin + usage), chunk(b"[DONE]")]


@given(
    st.lists(
        st.tuples(names, moments, st.integers(0, 12), st.sampled_from([b"stop", b"length", b"1"])),
        min_size=1,
        max_size=30,
    )
)
def test_what_is_remembered_is_what_would_be_read(
    answers: list[tuple[bytes, bytes, int, bytes]],
) -> None:
    """However alike two ends are, each is said to be what a careful reading finds in it."""
    known = KnownEdges("chat")
    for name, moment, tokens, finish in answers:
        others = [event.removesuffix(b"\n\n\r\n") for event in edge(name, moment, tokens, finish)]
        reader = ContentReader("chat")
        for event in others:
            reader.event(SseEvent(event.partition(b"\r\ndata: ")[2]))
        counted = reader.facts().completion_tokens
        expected = None if counted is None else reader.facts(unread_events=counted)
        assert known.content(others) == expected


def test_an_answer_of_another_length_is_not_taken_for_the_one_before() -> None:
    """Two answers that end with the same bytes may have another number of events."""
    known = KnownEdges("chat")
    word = chunk(b'{"choices":[{"index":0,"delta":{"content":" x"}}]}')
    end = b"".join(edge(b"a", b"1", 20, b"stop")) + b"0\r\n\r\n"

    def found(words: int) -> int | None:
        reads = KeptReads()
        for content in [HEAD, *[word] * words, end]:
            reads.keep(content, NO_STAMP, wake_at(0, 1))
        digest = trust_stream(reads, len(HEAD), known)
        return None if digest is None else len(digest.read_of_event)

    assert [found(20), found(19), found(20), found(21)] == [20, None, 20, None]
