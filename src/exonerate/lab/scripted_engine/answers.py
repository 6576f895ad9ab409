"""The text of the scripted engine: the same prompt always gets the same words."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exonerate.core.wire.code_words import code_words_in

# fmt: off
WORDS = (
    "the", "river", "keeps", "its", "course", "and", "every", "stone", "remembers", "rain", "over",
    "hills", "where", "morning", "light", "comes", "late", "café", "naïve", "über", "日本", "so",
    "people", "wait", "near", "old", "bridges", "for", "letters", "that", "never", "arrive",
)
# fmt: on
CODE_WORD_FIRST, CODE_WORD_EVERY = 1, 6
GARBAGE = ("zqx", "##", "vvv", "0x0", "lkj", "@@", "qqq", "wrp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a request asks for."""

    chat: bool
    prompt: str
    stream: bool
    max_tokens: int
    include_usage: bool
    tools: bool
    model: str | None

    @property
    def prompt_tokens(self) -> int:
        """Words count as tokens."""
        return len(self.prompt.split())


class WrongRequest(Exception):
    """The body is not a completion request."""


def read_ask(body: bytes, *, chat: bool) -> Ask:
    """The request in a body.

    Raises:
        WrongRequest: it is none.
    """
    try:
        loaded = json.loads(body)
    except ValueError as error:
        raise WrongRequest(f"the body is not JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise WrongRequest("the body is not an object")
    limit = loaded.get("max_tokens", loaded.get("max_completion_tokens", 1 << 30))
    options = loaded.get("stream_options") or {}
    return Ask(
        chat=chat,
        prompt=_prompt(loaded, chat=chat),
        stream=loaded.get("stream") is True,
        max_tokens=limit if isinstance(limit, int) and limit > 0 else 1,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        tools=bool(loaded.get("tools")),
        model=loaded.get("model") if isinstance(loaded.get("model"), str) else None,
    )


def _prompt(loaded: Mapping[str, object], *, chat: bool) -> str:
    if not chat:
        prompt = loaded.get("prompt", "")
        return " ".join(map(str, prompt)) if isinstance(prompt, list) else str(prompt)
    messages = loaded.get("messages")
    if not isinstance(messages, list):
        raise WrongRequest("`messages` must be a list")
    return "\n".join(str(item.get("content")) for item in messages if isinstance(item, dict))


def reworded(word: str) -> str:
    """Another word that makes as much sense in its place; one that was asked for stays."""
    if word not in WORDS:
        return word
    return WORDS[(WORDS.index(word) + len(WORDS) // 2) % len(WORDS)]


def words_for(ask: Ask, *, seed: int, limit: int) -> Iterator[str]:
    """The words of the answer, at most as many as asked for.

    A code word of the prompt comes back in it again and again, as an obedient model would do it.
    """
    codes = code_words_in(ask.prompt)
    digest = hashlib.sha256(f"{seed}\n{ask.prompt}".encode()).digest()
    rng = random.Random(digest)
    for number in range(min(ask.max_tokens, limit)):
        word = rng.choice(WORDS)
        yield codes[0] if codes and number % CODE_WORD_EVERY == CODE_WORD_FIRST else word


def echoed(ask: Ask, *, limit: int) -> Iterator[str]:
    """The last words of the prompt itself."""
    yield from ask.prompt.split()[-min(ask.max_tokens, limit) :]


def event(ask: Ask, model: str, *, text: str | None, finish: str | None) -> bytes:
    """One event of a stream."""
    if ask.chat:
        delta = {"content": text} if text is not None else {}
        choice: dict[str, object] = {"index": 0, "delta": delta, "finish_reason": finish}
    else:
        choice = {"index": 0, "text": text or "", "finish_reason": finish}
    kind = "chat.completion.chunk" if ask.chat else "text_completion"
    return sse({"id": "scripted", "object": kind, "model": model, "choices": [choice]})


def usage_event(ask: Ask, model: str, tokens: int) -> bytes:
    """The event with the counts, which ends a stream where it was asked for."""
    kind = "chat.completion.chunk" if ask.chat else "text_completion"
    row = {"id": "scripted", "object": kind, "model": model, "choices": []}
    return sse({**row, "usage": usage(ask, tokens)})


def whole(ask: Ask, model: str, words: list[str]) -> bytes:
    """The body of an answer that is not a stream."""
    text = joined(words)
    finish = finish_reason(ask, len(words))
    choice: dict[str, object] = {"index": 0, "finish_reason": finish}
    choice |= {"message": {"role": "assistant", "content": text}} if ask.chat else {"text": text}
    kind = "chat.completion" if ask.chat else "text_completion"
    row = {"id": "scripted", "object": kind, "model": model, "choices": [choice]}
    return json.dumps({**row, "usage": usage(ask, len(words))}, ensure_ascii=False).encode()


def finish_reason(ask: Ask, tokens: int) -> str:
    """`length` when the limit ended the answer, else `stop`."""
    return "length" if tokens >= ask.max_tokens else "stop"


def usage(ask: Ask, tokens: int) -> dict[str, int]:
    """Counts in words."""
    prompt = ask.prompt_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": tokens,
        "total_tokens": prompt + tokens,
    }


def joined(words: list[str]) -> str:
    """The text of some tokens."""
    return "".join(f" {word}" for word in words)


def sse(row: Mapping[str, object]) -> bytes:
    """One server-sent event."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()
