"""What requests ask of the scripted engine, and the text they get."""

from __future__ import annotations

import json

import pytest

from exonerate.core.wire.code_words import code_word
from exonerate.lab.scripted_engine.answers import (
    WORDS,
    WrongRequest,
    echoed,
    finish_reason,
    read_ask,
    reworded,
    words_for,
)


def test_chat_and_plain_requests() -> None:
    """Messages and prompts are read, with limit, stream flag, usage and tools."""
    chat = read_ask(
        json.dumps(
            {
                "model": "m",
                "messages": [{"content": "one two"}, {"content": "three"}],
                "stream": True,
                "max_completion_tokens": 5,
                "stream_options": {"include_usage": True},
                "tools": [{}],
            }
        ).encode(),
        chat=True,
    )
    assert (chat.prompt_tokens, chat.max_tokens, chat.stream) == (3, 5, True)
    assert (chat.include_usage, chat.tools, chat.model) == (True, True, "m")
    plain = read_ask(b'{"prompt": ["a b", "c"]}', chat=False)
    assert (plain.prompt, plain.stream, plain.model) == ("a b c", False, None)


@pytest.mark.parametrize("body", [b"", b"{", b"3", b'{"messages": {}}'])
def test_wrong_bodies(body: bytes) -> None:
    """A body that is no chat request is refused."""
    with pytest.raises(WrongRequest):
        read_ask(body, chat=True)


def test_words() -> None:
    """Text depends on prompt and seed, keeps to both limits, and an echo repeats the prompt."""
    ask = read_ask(b'{"prompt": "one two three", "max_tokens": 9}', chat=False)
    words = list(words_for(ask, seed=1, limit=20))
    assert len(words) == 9
    assert words == list(words_for(ask, seed=1, limit=20))
    assert words != list(words_for(ask, seed=2, limit=20))
    assert len(list(words_for(ask, seed=1, limit=4))) == 4
    assert list(echoed(ask, limit=2)) == ["two", "three"]
    assert (finish_reason(ask, 9), finish_reason(ask, 4)) == ("length", "stop")


@pytest.mark.parametrize("word", WORDS)
def test_a_reworded_word_is_another_of_the_same_kind(word: str) -> None:
    """No garbage: the words are exchanged among themselves."""
    assert reworded(word) in WORDS
    assert reworded(word) != word


def test_a_code_word_comes_back_early_and_again() -> None:
    """As an obedient model would say it."""
    word = code_word("x")
    prompt = json.dumps({"prompt": f"Your code word is {word}. Say it. one two"}).encode()
    said = list(words_for(read_ask(prompt, chat=False), seed=1, limit=20))
    assert said.count(word) >= 3
    assert word in said[:3]
