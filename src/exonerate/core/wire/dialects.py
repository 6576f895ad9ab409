"""What one event of an answer says, in each dialect of the completion APIs.

A dialect reads one JSON value and returns a `Said`: the pieces of output, why the answer finished
and what the server counted. An event with at least one piece is *meaningful*, and the first of
these is the first token:

- chat: text, reasoning, refusal, the name or the arguments of a tool call (or of the older
  `function_call`), the input of a custom tool. Not the role.
- completions: text.
- responses: every `*.delta` that carries text: output, reasoning and its summary, refusal,
  arguments of a tool call. Not `*.added` and `*.done`, which announce and repeat.
- messages: text, thinking, the partial JSON of a tool call. Not the signature of a thought, not
  `ping`.

An unstreamed answer is one event; the name of a tool that it calls counts too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from exonerate.core.json_types import Json

Dialect: TypeAlias = Literal["chat", "completions", "responses", "messages"]


class Said(NamedTuple):
    """One event's meaning; `done` is the regular end of the dialects without `[DONE]`.

    A tuple, since one is made for each event, and a frozen dataclass takes three times as long.
    """

    pieces: tuple[str, ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    done: bool = False
    error: bool = False


def dialect_of_path(path: str) -> Dialect:
    """The dialect that an endpoint speaks."""
    bare = path.partition("?")[0].rstrip("/")
    if bare.endswith("/messages"):
        return "messages"
    if bare.endswith("/responses"):
        return "responses"
    if bare.endswith("/completions") and not bare.endswith("/chat/completions"):
        return "completions"
    return "chat"


def read_event(dialect: Dialect, value: Json) -> Said:
    """What one event of a stream says."""
    return _READERS[dialect](_object(value))


def read_whole(dialect: Dialect, value: Json) -> Said:
    """What a whole, unstreamed answer says; a well-formed one is done."""
    body = _object(value)
    said = _WHOLE_READERS[dialect](body)
    return Said(
        pieces=said.pieces,
        finish_reason=said.finish_reason,
        prompt_tokens=said.prompt_tokens,
        completion_tokens=said.completion_tokens,
        done=bool(body) and not said.error,
        error=said.error,
    )


# Chat completions and completions.


def _chat_event(body: Mapping[str, Json]) -> Said:
    return _from_choices(body, ("delta", "message"))


def _completion_event(body: Mapping[str, Json]) -> Said:
    return _from_choices(body, ())


def _from_choices(body: Mapping[str, Json], carriers: Sequence[str]) -> Said:
    pieces: list[str] = []
    finish_reason = None
    for choice in _objects(body.get("choices")):
        said = choice
        for carrier in carriers:
            said = _object(choice.get(carrier)) or said
        pieces += _texts(said, _CHAT_TEXTS if carriers else ("text",))
        if carriers and (not pieces or "tool_calls" in said):
            pieces += _rarer_chat_texts(said)
        finish_reason = _text(choice.get("finish_reason")) or finish_reason
    usage = _object(body.get("usage"))
    return Said(
        pieces=tuple(pieces),
        finish_reason=finish_reason,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        error=bool(body.get("error")) or body.get("object") == "error",
    )


_CHAT_TEXTS = ("reasoning_content", "reasoning", "content", "refusal")


def _rarer_chat_texts(said: Mapping[str, Json]) -> list[str]:
    """Tool calls of each kind, and content in parts."""
    pieces: list[str] = []
    for call in _objects(said.get("tool_calls")):
        pieces += _texts(_object(call.get("function")), ("name", "arguments"))
        pieces += _texts(_object(call.get("custom")), ("name", "input"))
    if "function_call" in said:
        pieces += _texts(_object(said["function_call"]), ("name", "arguments"))
    for part in _objects(said.get("content")):
        pieces += _texts(part, ("text", "refusal"))
        for thought in _objects(part.get("thinking")):
            pieces += _texts(thought, ("text",))
    return pieces


# Responses.


def _responses_event(body: Mapping[str, Json]) -> Said:
    kind = _text(body.get("type")) or ""
    if kind.endswith(".delta"):
        return Said(pieces=tuple(_texts(body, ("delta",))))
    if kind in ("response.completed", "response.incomplete", "response.failed"):
        said = _responses_whole(_object(body.get("response")))
        return Said(
            finish_reason=said.finish_reason,
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
            done=kind != "response.failed",
            error=kind == "response.failed",
        )
    return Said(error=kind == "error" or (not kind and bool(body.get("error"))))


def _responses_whole(body: Mapping[str, Json]) -> Said:
    pieces = [
        text
        for item in _objects(body.get("output"))
        for part in [*_objects(item.get("summary")), *_objects(item.get("content")), item]
        for text in _texts(part, ("text", "refusal", "arguments", "input"))
    ]
    why = _text(_object(body.get("incomplete_details")).get("reason"))
    usage = _object(body.get("usage"))
    return Said(
        pieces=tuple(pieces),
        finish_reason=why or _text(body.get("status")),
        prompt_tokens=_count(usage.get("input_tokens")),
        completion_tokens=_count(usage.get("output_tokens")),
        error=bool(body.get("error")),
    )


# Messages.


def _messages_event(body: Mapping[str, Json]) -> Said:
    match body.get("type"):
        case "message_start":
            usage = _object(_object(body.get("message")).get("usage"))
            return Said(prompt_tokens=_messages_prompt(usage))
        case "content_block_start":
            return Said(pieces=tuple(_texts(_object(body.get("content_block")), _MESSAGES_TEXTS)))
        case "content_block_delta":
            delta = _object(body.get("delta"))
            return Said(pieces=tuple(_texts(delta, ("text", "thinking", "partial_json"))))
        case "message_delta":
            usage = _object(body.get("usage"))
            return Said(
                finish_reason=_text(_object(body.get("delta")).get("stop_reason")),
                prompt_tokens=_messages_prompt(usage),
                completion_tokens=_count(usage.get("output_tokens")),
            )
        case "message_stop":
            return Said(done=True)
        case kind:
            return Said(error=kind == "error" or bool(body.get("error")))


def _messages_whole(body: Mapping[str, Json]) -> Said:
    usage = _object(body.get("usage"))
    blocks = _objects(body.get("content"))
    return Said(
        pieces=tuple(
            text for block in blocks for text in _texts(block, (*_MESSAGES_TEXTS, "name"))
        ),
        finish_reason=_text(body.get("stop_reason")),
        prompt_tokens=_messages_prompt(usage),
        completion_tokens=_count(usage.get("output_tokens")),
        error=body.get("type") == "error",
    )


_MESSAGES_TEXTS = ("text", "thinking")


def _messages_prompt(usage: Mapping[str, Json]) -> int | None:
    """What was read anew, and what came from the prompt cache: they are counted apart here."""
    counts = [_count(usage.get(name)) for name in _MESSAGES_PROMPTS]
    return None if counts[0] is None else sum(count or 0 for count in counts)


_MESSAGES_PROMPTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


_READERS: dict[Dialect, Callable[[Mapping[str, Json]], Said]] = {
    "chat": _chat_event,
    "completions": _completion_event,
    "responses": _responses_event,
    "messages": _messages_event,
}
_WHOLE_READERS: dict[Dialect, Callable[[Mapping[str, Json]], Said]] = {
    "chat": _chat_event,
    "completions": _completion_event,
    "responses": _responses_whole,
    "messages": _messages_whole,
}


# JSON of unknown shape.


def _object(value: Json) -> Mapping[str, Json]:
    # A parser makes nothing but dict and list, and asking for these is five times as fast.
    return value if isinstance(value, dict) else _EMPTY


def _objects(value: Json) -> list[Mapping[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_EMPTY: Mapping[str, Json] = {}


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Mapping[str, Json], names: Sequence[str]) -> list[str]:
    found = [value.get(name) for name in names]
    return [text for text in found if text and isinstance(text, str)]


def _count(value: Json) -> int | None:
    sound = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return int(value) if sound and isinstance(value, int) else None
