"""Fits a prompt to an exact number of tokens by an engine's own count.

The words of a prompt are one token each in the usual vocabularies but not in every one. So the
prompt is counted, and its number of words corrected by what it was off, a few times.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from exonerate.core.scene import RequestRecipe
from exonerate.core.workload.prompts import FIRST_WORD, conversation

ROUNDS_MAX = 6


async def fitted(
    recipe: RequestRecipe, count: Callable[[str], Awaitable[int | None]]
) -> tuple[RequestRecipe, int | None]:
    """The recipe whose first question has the asked number of tokens, and the number it has.

    Without a tokenizer the recipe comes back as it was, and the number is None. Where no number of
    words gives the asked one exactly, the nearest that was found is taken.
    """
    wanted = recipe.prompt.prompt_tokens
    best: tuple[int, RequestRecipe, int] | None = None
    words = wanted
    for _ in range(ROUNDS_MAX):
        tried = replace(recipe, prompt=replace(recipe.prompt, prompt_tokens=words))
        counted = await count(_as_sent(tried))
        if counted is None:
            return recipe, None
        off = abs(counted - wanted)
        if best is None or off < best[0]:
            best = (off, tried, counted)
        if off == 0:
            break
        # A vocabulary with two tokens a word needs half of the correction at a time.
        words = max(
            1, round(words * wanted / max(1, counted)) if off > 2 else words + wanted - counted
        )
    assert best is not None
    return best[1], best[2]


def _as_sent(recipe: RequestRecipe) -> str:
    """A text of the tokens that each first question of the load will have."""
    text = conversation(recipe.prompt, 1)[0][1]
    if recipe.prompt.salt:
        return text
    _, space, rest = text.partition(" ")
    return f"{FIRST_WORD}{space}{rest}"
