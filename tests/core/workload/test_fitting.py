"""Prompts are fitted to an engine's own tokenizer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.fitting import fitted
from exonerate.core.workload.prompts import FIRST_WORD, conversation

RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=200),
    max_tokens=8,
)


def counting(tokens_of: Callable[[int], int]) -> Callable[[str], Awaitable[int | None]]:
    """A tokenizer that makes that many tokens of so many words."""

    async def count(text: str) -> int:
        return tokens_of(len(text.split()))

    return count


@pytest.mark.parametrize(
    "tokens_of",
    [
        lambda words: words,
        lambda words: words + 3,
        lambda words: round(words * 1.3),
        lambda words: words * 2,
    ],
    ids=["one each", "with an offset", "1.3 each", "two each"],
)
def test_the_prompt_gets_the_asked_tokens(tokens_of: Callable[[int], int]) -> None:
    """Whatever the vocabulary makes of the words, the prompt has the asked number of tokens."""
    recipe, counted = asyncio.run(fitted(RECIPE, counting(tokens_of)))
    assert counted == 200
    assert tokens_of(len(conversation(recipe.prompt, 1)[0][1].split())) == 200


def test_without_a_tokenizer_the_words_count() -> None:
    """An engine that does not count leaves the recipe as it was."""

    async def silent(text: str) -> None:
        return None

    assert asyncio.run(fitted(RECIPE, silent)) == (RECIPE, None)


def test_the_word_that_begins_every_prompt_is_counted() -> None:
    """Where the first word is two tokens, all prompts of the load are fitted with that word."""

    async def count(text: str) -> int:
        return len(text.split()) + text.startswith(FIRST_WORD)

    recipe, counted = asyncio.run(fitted(RECIPE, count))
    assert (counted, recipe.prompt.prompt_tokens) == (200, 199)
