"""The bulk look at a load answer against the careful reading of the same bytes."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from itertools import accumulate, pairwise

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from exonerate.core.wire.answer import AnswerReader
from exonerate.core.wire.kept_answer import AnswerFacts, LoadAnswer, RunMemory
from exonerate.core.wire.kept_reads import NO_STAMP, KeptReads, wake_at
from exonerate.core.wire.stream_digest import EVENT_END

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WAKE = wake_at(0, 1)


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    """One event of a chat stream, in a chunk of its own."""
    value = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return chunk(b"data: " + orjson.dumps(value) + b"\n\n")


def spaced(text: str) -> bytes:
    """The same with a space after each colon, as some servers write it."""
    body = b'{"choices": [{"delta": {"content": %s}}]}' % orjson.dumps(text)
    return chunk(b"data: " + body + b"\n\n")


USAGE = chunk(b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":40}}\n\n')
TAIL = event({}, "length") + USAGE + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"

deltas = st.one_of(
    st.text(max_size=8).map(lambda text: {"content": text}),
    st.text(min_size=1, max_size=8).map(lambda text: {"content": text}),
    st.just({"role": "assistant", "content": ""}),
    st.just({"content": None}),
    st.just({"content": 'a "content":" trap\n\n\r\n'}),
    st.just({"reasoning_content": "think"}),
    st.just({"tool_calls": [{"function": {"arguments": "{"}}]}),
)
odd_chunks = st.sampled_from(
    [
        chunk(b": ping\n\n"),
        chunk(b"event: x\ndata: {}\n\n"),
        chunk(b"data: {}\r\n\r\n"),
        chunk(b"data: {}\n\ndata: {}\n\n"),
        spaced("hi"),
    ]
)


def load_facts(
    contents: list[bytes], *, answers_before: int = 0, proven: Sequence[list[bytes]] = ()
) -> AnswerFacts:
    """What the load side makes of these reads, the way the loop calls it."""
    memory = RunMemory()
    for _ in range(answers_before):
        memory.next_turn()
    for earlier in proven:
        read_answer(earlier, memory)
    return read_answer(contents, memory)


def read_answer(contents: list[bytes], memory: RunMemory) -> AnswerFacts:
    """One answer of a run."""
    answer, reads = LoadAnswer("chat", memory), KeptReads()
    for content in contents:
        if answer.careful:
            answer.feed(content)
            continue
        reads.keep(content, NO_STAMP, WAKE)
        if not answer.quick or not content.endswith(EVENT_END):
            answer.look(reads)
    if answer.finished:
        answer.settle(reads)
    elif not answer.careful:
        answer.look_closer(reads)
    return answer.facts()


def careful_facts(contents: list[bytes]) -> tuple[AnswerReader, list[int]]:
    """The careful reading, and the read of each meaningful event."""
    reader = AnswerReader("chat")
    read_of_event = [
        index for index, content in enumerate(contents) for _ in range(reader.feed(content))
    ]
    return reader, read_of_event


def assert_same(
    contents: list[bytes], *, answers_before: int = 0, proven: Sequence[list[bytes]] = ()
) -> None:
    """Both ways agree on everything that a load run records."""
    facts = load_facts(contents, answers_before=answers_before, proven=proven)
    reader, read_of_event = careful_facts(contents)
    careful = reader.facts()
    assert list(facts.read_of_event) == read_of_event
    assert facts.body_complete == reader.body_complete
    assert facts.broken == reader.broken
    assert facts.status == (reader.head.status if reader.head else None)
    for name in ("meaningful_events", "done_seen", "finish_reason", "completion_tokens"):
        assert getattr(facts.content, name) == getattr(careful, name), name


@given(st.lists(deltas, min_size=1, max_size=30), st.integers(0, 40))
def test_one_event_a_read_is_counted_as_the_careful_reader_counts(
    stream: list[dict[str, object]], before: int
) -> None:
    """A paced stream gives the same events, tokens and reads whichever way is taken."""
    contents = [HEAD, *map(event, stream), TAIL]
    assert_same(contents, answers_before=before)


@given(
    st.lists(deltas.map(event) | odd_chunks, max_size=20),
    st.lists(st.integers(1, 3000), max_size=12),
    st.integers(0, 40),
)
def test_any_cut_gives_the_same(pieces: list[bytes], cuts: list[int], before: int) -> None:
    """Wherever the reads are cut and whatever stands in the chunks, the truth is the same."""
    blob = HEAD + b"".join(pieces) + TAIL
    places = sorted({0, len(blob), *(cut % len(blob) for cut in cuts)})
    assert_same([blob[begin:end] for begin, end in pairwise(places)], answers_before=before)


@given(st.integers(0, 200), st.integers(0, 40))
def test_a_cut_off_stream_gives_the_same(length: int, before: int) -> None:
    """A stream that stops anywhere is as incomplete one way as the other."""
    contents = [HEAD, *[event({"content": " x"})] * 10, TAIL]
    blob = b"".join(contents)
    assert_same([blob[:400], blob[400 : 400 + length]], answers_before=before)


@given(
    st.lists(
        st.just({"content": " word"})
        | st.just({"role": "assistant", "content": ""})
        | st.just({"content": "\n"}),
        min_size=8,
        max_size=40,
    ),
    st.lists(st.tuples(st.integers(0, 99), st.just(chunk(b": ping\n\n"))), max_size=2),
    st.integers(-2, 0),
)
def test_a_trusted_run_is_still_told_the_truth(
    stream: list[dict[str, object]], comments: list[tuple[int, bytes]], off: int
) -> None:
    """After proven answers, heartbeats and miscounting servers do not go unnoticed."""
    words = [event(delta) for delta in stream]
    tokens = sum(bool(delta["content"]) for delta in stream) + off
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": tokens}}
    tail = event({}, "length") + chunk(b"data: " + orjson.dumps(usage) + b"\n\n")
    for place, comment in comments:
        words.insert(place % len(words), comment)
    proven = [HEAD, *[event({"content": " x"})] * 40, TAIL]
    contents = [HEAD, *words, tail + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"]
    assert_same(contents, proven=[proven] * 20)


def test_a_miscounted_chunk_is_found_in_the_first_answers() -> None:
    """A chunk whose size is wrong breaks the answer, as it does for a probe."""
    right = event({"content": " x"})
    size, _, rest = right.partition(b"\r\n")
    wrong = b"%x\r\n%s" % (int(size, 16) - 1, rest)
    contents = [HEAD, *[right] * 5, wrong, *[right] * 5, TAIL]
    assert load_facts(contents).broken == careful_facts(contents)[0].broken is not None


def test_ordinary_streams_take_the_quick_way() -> None:
    """A paced stream of one event a read is never read piece by piece."""
    memory = RunMemory()
    answer, reads = LoadAnswer("chat", memory), KeptReads()
    for content in [HEAD, *[event({"content": " x"})] * 20, TAIL]:
        reads.keep(content, NO_STAMP, WAKE)
        if not content.endswith(EVENT_END):
            answer.look(reads)
    assert answer.finished
    answer.settle(reads)
    assert not answer.careful
    assert answer.facts().content.meaningful_events == 20


def test_no_answer_leaves_garbage_behind() -> None:
    """The load worker runs without a collector, so nothing may hold itself."""
    gc.collect()
    gc.disable()
    try:
        for contents in ([HEAD, TAIL], [HEAD[:20], HEAD[20:], TAIL], [b"garbage"]):
            load_facts(contents)
            careful_facts(contents)
        assert gc.collect() == 0
    finally:
        gc.enable()


@given(
    st.lists(st.integers(1, 4), min_size=8, max_size=40),
    st.lists(st.text(max_size=12), min_size=1, max_size=9),
    st.integers(-1, 1),
)
@example(shares=[1, 1, 1, 1, 1, 1, 2, 1], texts=["0"], off=-1)
@example(shares=[1, 1, 1, 1, 1, 1, 2, 1], texts=["0" * 40] * 6 + [""] * 2, off=-1)
def test_a_trusted_run_tells_which_reads_brought_several(
    shares: list[int], texts: list[str], off: int
) -> None:
    """Late reads that bring several events are named, also where the server miscounts."""
    words = [event({"content": texts[at % len(texts)]}) for at in range(sum(shares))]
    places = [0, *accumulate(shares)]
    lumps = [b"".join(words[begin:end]) for begin, end in pairwise(places)]
    tokens = sum(bool(texts[at % len(texts)]) for at in range(sum(shares))) + off
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": tokens}}
    tail = event({}, "length") + chunk(b"data: " + orjson.dumps(usage) + b"\n\n")
    proven = [HEAD, *[event({"content": " x"})] * 40, TAIL]
    contents = [HEAD, *lumps, tail + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"]
    assert_same(contents, proven=[proven] * 20)
