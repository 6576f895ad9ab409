"""What an answer says, in each dialect."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.code_words import code_word
from exonerate.core.wire.content import ContentReader
from exonerate.core.wire.dialects import Dialect, dialect_of_path
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.sse import SseEvent


def read(dialect: Dialect, *events: Any) -> tuple[list[bool], ContentFacts]:
    """Which events are meaningful, and the facts in the end."""
    reader = ContentReader(dialect)
    raw = [event if isinstance(event, bytes) else orjson.dumps(event) for event in events]
    return [reader.event(SseEvent(data)) for data in raw], reader.facts()


def delta(**fields: Any) -> dict[str, Any]:
    """A chat event."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def test_role_only_deltas_are_not_meaningful() -> None:
    """The first token is the first text, not the announcement of a role."""
    meaningful, facts = read("chat", delta(role="assistant", content=""), delta(content="hi"))
    assert meaningful == [False, True]
    assert facts.meaningful_events == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "so"},
        {"reasoning": "so"},
        {"refusal": "no"},
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
    ],
)
def test_reasoning_and_tool_calls_are_meaningful(fields: dict[str, Any]) -> None:
    """Every delta that carries output counts, not only plain text."""
    assert read("chat", delta(**fields))[0] == [True]


def test_usage_and_finish_are_kept() -> None:
    """The server's own counts and reason stand in the facts."""
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    _, facts = read("chat", delta(content="hi"), FINISH, usage, b"[DONE]")
    assert (facts.prompt_tokens, facts.completion_tokens) == (5, 1)
    assert (facts.finish_reason, facts.done_seen, facts.defects) == ("stop", True, ())


def test_the_hash_does_not_depend_on_how_the_text_was_cut() -> None:
    """Direct and proxied answers compare by their text, however it was chunked."""
    once = read("chat", delta(content="hello world"))[1]
    twice = read("chat", delta(content="hello"), delta(content=" world"))[1]
    assert once.text_sha256 == twice.text_sha256
    assert once.text_characters == 11


@pytest.mark.parametrize(
    ("events", "defect"),
    [
        ([b"{broken"], "invalid-json"),
        ([b'{"a":"\xff"}'], "invalid-utf8"),
        ([{"error": {"message": "no"}}], "error-event"),
        ([b"[DONE]", b"[DONE]"], "duplicated-event"),
        ([FINISH, FINISH], "duplicated-event"),
        ([delta(content="x"), FINISH, delta(content="y")], "text-after-finish"),
        ([delta(content="ok<|im_"), delta(content="end|>")], "special-token"),
        (
            [delta(content="x")] * 3
            + [{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}],
            "more-events-than-tokens",
        ),
    ],
)
def test_a_defect_is_named(events: list[Any], defect: str) -> None:
    """Each defect has its name."""
    assert read("chat", *events)[1].defects == (defect,)


def test_equal_tokens_in_a_row_are_no_defect() -> None:
    """A model may say the same token twice."""
    assert read("chat", delta(content=" la"), delta(content=" la"))[1].defects == ()


def test_completions_are_read() -> None:
    """The older endpoint carries its text beside the index."""
    meaningful, facts = read("completions", {"choices": [{"text": "a", "finish_reason": "stop"}]})
    assert meaningful == [True]
    assert facts.finish_reason == "stop"


def test_responses_are_read() -> None:
    """A responses stream has typed deltas and ends by its own event."""
    done = {
        "type": "response.completed",
        "response": {"status": "completed", "usage": {"input_tokens": 4, "output_tokens": 2}},
    }
    meaningful, facts = read(
        "responses",
        {"type": "response.created", "response": {}},
        {"type": "response.reasoning_text.delta", "delta": "hm"},
        {"type": "response.output_text.delta", "delta": "hi"},
        {"type": "response.function_call_arguments.delta", "delta": "{"},
        done,
    )
    assert meaningful == [False, True, True, True, False]
    assert (facts.prompt_tokens, facts.completion_tokens, facts.done_seen) == (4, 2, True)


def test_messages_are_read() -> None:
    """A messages stream has block deltas and ends by `message_stop`."""
    meaningful, facts = read(
        "messages",
        {"type": "message_start", "message": {"usage": {"input_tokens": 4}}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "ping"},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    )
    assert meaningful == [False, True, True, False, False, False]
    assert (facts.prompt_tokens, facts.completion_tokens) == (4, 9)
    assert (facts.finish_reason, facts.done_seen) == ("end_turn", True)


WHOLE: list[tuple[Dialect, Any]] = [
    ("chat", {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}),
    ("completions", {"choices": [{"text": "hi", "finish_reason": "stop"}]}),
    (
        "responses",
        {"output": [{"content": [{"type": "output_text", "text": "hi"}]}], "status": "completed"},
    ),
    ("messages", {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}),
]


@pytest.mark.parametrize(("dialect", "value"), WHOLE, ids=[dialect for dialect, _ in WHOLE])
def test_whole_answers_are_read(dialect: Dialect, value: Any) -> None:
    """An unstreamed answer is one meaningful thing, and it is over."""
    reader = ContentReader(dialect)
    assert reader.whole(orjson.dumps(value))
    facts = reader.facts()
    assert facts.done_seen
    assert facts.text_characters == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "content", "usage", "type", "response", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["chat", "completions", "responses", "messages"]), json_values)
def test_json_of_any_shape_never_raises(dialect: Dialect, value: Any) -> None:
    """A hop may send any JSON; it is read as far as it makes sense."""
    read(dialect, value)
    ContentReader(dialect).whole(orjson.dumps(value))


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/chat/completions", "chat"),
        ("/v1/completions?x=1", "completions"),
        ("/v1/responses", "responses"),
        ("/anthropic/v1/messages/", "messages"),
        ("/generate", "chat"),
    ],
)
def test_the_path_names_the_dialect(path: str, dialect: str) -> None:
    """Each known endpoint has its dialect; an unknown one is read as chat."""
    assert dialect_of_path(path) == dialect


def test_a_text_is_known_by_its_beginnings_and_counts_alone() -> None:
    """However its words were cut into events, and without a word of it."""
    word = code_word("a")
    _, whole = read("chat", delta(content=f"{word} rain falls zqx on the hill"))
    _, cut = read("chat", delta(content=f"{word} ra"), delta(content="in falls zqx on the hill"))
    assert (whole.words, whole.odd_words, whole.code_words) == (7, 1, (word,))
    assert whole.text_prefixes == cut.text_prefixes != ()
    _, other = read("chat", delta(content=f"{word} rain falls zqx on a hill"))
    assert (other.text_prefixes[0], other.words) == (whole.text_prefixes[0], whole.words)
    assert other.text_prefixes[1] != whole.text_prefixes[1]
