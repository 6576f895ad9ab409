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
from exonerate.core.wire.sse import EventReader, SseEvent


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
        {"tool_calls": [{"index": 0, "custom": {"input": "x"}}]},
        {"function_call": {"name": "f", "arguments": ""}},
        {"content": [{"type": "text", "text": "so"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}]},
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


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "assistant"},
        {"content": None, "reasoning_content": None, "refusal": None, "tool_calls": None},
        {"content": "", "tool_calls": []},
        {"content": []},
        {"function_call": None},
        {"tool_calls": [{"index": 0, "function": {"arguments": ""}}]},
    ],
)
def test_announcements_are_no_token(fields: dict[str, Any]) -> None:
    """A role, or a field that is there and empty, is not the first token."""
    assert read("chat", delta(**fields))[0] == [False]


def test_signs_of_life_that_look_alike_are_no_defect() -> None:
    """Pings, and empty deltas of tokens that are no whole character yet, may come in a row."""
    ping = {"type": "ping"}
    assert read("messages", ping, ping, ping)[1].defects == ()
    assert read("chat", delta(content=""), delta(content=""))[1].defects == ()


def test_a_done_after_the_end_of_another_dialect_is_no_defect() -> None:
    """Some gateways send `[DONE]` everywhere; twice is once too often."""
    assert read("messages", {"type": "message_stop"}, b"[DONE]")[1].defects == ()
    twice = read("messages", {"type": "message_stop"}, b"[DONE]", b"[DONE]")[1]
    assert twice.defects == ("duplicated-event",)


@pytest.mark.parametrize(
    "text",
    ["\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "\u00e9", "\U0001f600", "\\r\\n", "\x00"],
)
def test_characters_that_some_programs_take_for_line_ends_do_not_cut_an_event(text: str) -> None:
    """Only CR and LF end a line of a stream; whatever else stands in a text belongs to it."""
    raw = orjson.dumps(delta(content=f"a{text}b"))
    for name in (b"", b"event: message\r\n"):
        body = name + b"data: " + raw + b"\r\n\r\n"
        for step in (1, len(body)):
            events = EventReader()
            found = [
                event
                for at in range(0, len(body), step)
                for event in events.feed(body[at : at + step])
            ]
            assert [event.data for event in found] == [raw]
    facts = read("chat", raw)[1]
    assert (facts.meaningful_events, facts.defects) == (1, ())


def test_text_in_another_charset_is_damage() -> None:
    """A stream is UTF-8 whatever its head says; a hop that recoded it has changed it."""
    latin = orjson.dumps(delta(content="caf\u00e9")).decode().encode("latin-1")
    assert read("chat", latin)[1].defects == ("invalid-utf8",)


def test_a_byte_order_mark_before_a_whole_answer_is_borne() -> None:
    """It is not allowed there, and every client skips it."""
    reader = ContentReader("chat")
    assert reader.whole(
        b"\xef\xbb\xbf" + orjson.dumps({"choices": [{"message": {"content": "a"}}]})
    )
    assert reader.facts().defects == ()


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
        {"type": "response.output_item.added", "item": {"type": "function_call", "name": "f"}},
        {"type": "response.reasoning_text.delta", "delta": "hm"},
        {"type": "response.reasoning_summary_text.delta", "delta": "hm"},
        {"type": "response.output_text.delta", "delta": "hi"},
        {"type": "response.refusal.delta", "delta": "no"},
        {"type": "response.function_call_arguments.delta", "delta": "{"},
        {"type": "response.custom_tool_call_input.delta", "delta": "x"},
        {"type": "response.output_text.done", "text": "hi"},
        done,
    )
    assert meaningful == [False, False, True, True, True, True, True, True, False, False]
    assert (facts.prompt_tokens, facts.completion_tokens, facts.done_seen) == (4, 2, True)
    assert facts.finish_reason == "completed"


def test_a_responses_stream_that_was_cut_by_its_limit_says_so() -> None:
    """The reason stands beside the status, and is the better one."""
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    _, facts = read("responses", {"type": "response.incomplete", "response": response})
    assert (facts.finish_reason, facts.done_seen) == ("max_output_tokens", True)


def test_a_responses_stream_that_failed_is_an_error() -> None:
    """It is over, and not done."""
    response = {"status": "failed", "error": {"code": "server_error"}}
    _, facts = read("responses", {"type": "response.failed", "response": response})
    assert (facts.defects, facts.done_seen) == (("error-event",), False)


def test_messages_are_read() -> None:
    """A messages stream has block deltas and ends by `message_stop`."""
    meaningful, facts = read(
        "messages",
        {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 3}},
        },
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_stop"},
        {"type": "content_block_start", "content_block": {"type": "text", "text": "h"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "i"}},
        {"type": "ping"},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "f"}},
        {
            "type": "content_block_delta",
            "delta": {"type": "input_json_delta", "partial_json": "{"},
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    )
    assert meaningful == [i in (2, 5, 6, 9) for i in range(12)]
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
    ("chat", {"choices": [{"message": {"tool_calls": [{"function": {"name": "hi"}}]}}]}),
    ("chat", {"choices": [{"message": {"content": None, "reasoning_content": "hi"}}]}),
    ("responses", {"output": [{"type": "reasoning", "summary": [{"text": "hi"}]}]}),
    ("responses", {"output": [{"content": [{"type": "refusal", "refusal": "hi"}]}]}),
    ("responses", {"output": [{"type": "function_call", "name": "f", "arguments": "{}"}]}),
    ("messages", {"content": [{"type": "tool_use", "name": "hi", "input": {}}]}),
]


@pytest.mark.parametrize(("dialect", "value"), WHOLE)
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
