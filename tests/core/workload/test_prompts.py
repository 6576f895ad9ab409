"""Request bodies are seeded, salted and grow as an agent's do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.wire.code_words import code_words_in
from exonerate.core.workload.prompts import chat_body, own_code_word

RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=50, growth_tokens=20),
    max_tokens=8,
)


def body(recipe: RequestRecipe = RECIPE, number: int = 1, template: bytes | None = None) -> Any:
    """The body of a round, as JSON."""
    return orjson.loads(chat_body(recipe, number, template=template))


def words(value: Any) -> int:
    """How many words all messages have."""
    return sum(len(message["content"].split()) for message in value["messages"])


@given(st.integers(0, 9), st.integers(1, 400), st.integers(0, 60), st.integers(1, 6))
def test_a_body_can_be_made_again(seed: int, tokens: int, growth: int, number: int) -> None:
    """Equal recipes give equal bytes, of the length that was asked for."""
    prompt = PromptRecipe(seed=seed, prompt_tokens=tokens, growth_tokens=growth)
    recipe = replace(RECIPE, prompt=prompt)
    assert chat_body(recipe, number) == chat_body(recipe, number)
    if growth > 1:
        assert words(body(recipe, number)) == tokens + growth * (number - 1)


def test_history_grows_by_an_answer_and_a_question() -> None:
    """Each round keeps what was said before and adds two turns."""
    first, third = body(number=1)["messages"], body(number=3)["messages"]
    assert third[: len(first)] == first
    assert [message["role"] for message in third] == ["user", "assistant"] * 2 + ["user"]


def test_salts_part_the_prefixes() -> None:
    """Another salt or seed begins with other words; the same salt shares its prefix."""
    openings = {
        body(replace(RECIPE, prompt=prompt))["messages"][0]["content"][:20]
        for prompt in (
            PromptRecipe(seed=1, prompt_tokens=50, salt="a"),
            PromptRecipe(seed=1, prompt_tokens=50, salt="b"),
            PromptRecipe(seed=2, prompt_tokens=50, salt="a"),
            PromptRecipe(seed=1, prompt_tokens=80, salt="a"),
        )
    }
    assert len(openings) == 3


def test_usage_is_asked_for_only_in_a_stream() -> None:
    """`stream_options` goes with a stream and never without one."""
    assert body()["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(replace(RECIPE, stream=False))


@pytest.mark.parametrize(
    ("path", "field", "limit"),
    [
        ("/v1/chat/completions", "messages", "max_tokens"),
        ("/v1/completions", "prompt", "max_tokens"),
        ("/v1/responses", "input", "max_output_tokens"),
        ("/v1/messages", "messages", "max_tokens"),
    ],
)
def test_the_path_decides_the_dialect(path: str, field: str, limit: str) -> None:
    """Each endpoint gets the fields that it knows."""
    value = body(replace(RECIPE, path=path))
    assert value[field]
    assert value[limit] == 8


def test_the_victims_own_body_is_sent_as_it_is() -> None:
    """The first round is the victim's bytes; later rounds add history to them."""
    template = b'{"messages": [{"role":"user","content":"hi"}],  "tools": [1]}'
    assert chat_body(RECIPE, 1, template=template) == template
    grown = body(number=2, template=template)
    assert grown["tools"] == [1]
    assert len(grown["messages"]) == 3


def test_a_body_that_is_no_json_is_sent_as_it_is() -> None:
    """A victim may send anything; it is not repaired."""
    assert chat_body(RECIPE, 3, template=b"{broken") == b"{broken"


def test_a_prompt_with_a_code_word_opens_with_it_and_is_as_long_as_asked() -> None:
    """Each salt has its own word, in every round of the conversation."""
    first = replace(RECIPE, prompt=replace(RECIPE.prompt, salt="a", code_word=True))
    other = replace(RECIPE, prompt=replace(RECIPE.prompt, salt="b", code_word=True))
    for number in (1, 3):
        text = body(first, number)["messages"][0]["content"]
        assert code_words_in(text) == (own_code_word(first.prompt),)
    assert own_code_word(first.prompt) != own_code_word(other.prompt)
    assert abs(words(body(first)) - words(body())) <= 8
