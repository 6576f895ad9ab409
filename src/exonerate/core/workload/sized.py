"""Bodies of an exact size, so that one session can walk several sizes.

Theory of operation
-------------------
- Too short: spaces go before the closing brace of the JSON. White space between tokens of JSON
  means nothing (RFC 8259, section 2), so they cost the engine no prompt tokens; a hop that writes
  the JSON anew drops them.
- Too long: the history goes first, so that one question is left, and then words at the end of that
  question. A body cannot become shorter than its frame with one character of text, and one of the
  victim's own that holds no long text is not cut at all.
- Sizes are those of the JSON, before any framing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import orjson

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import RequestRecipe
from exonerate.core.workload.prompts import chat_body

TEXT_CHARACTERS_MIN = 32
"""A shorter text may be a role or a name, and is not worth cutting."""


def round_body(recipe: RequestRecipe, round_number: int, *, template: bytes | None = None) -> bytes:
    """The body of one round, of exactly the size that the recipe asks for, if it asks for one."""
    body = chat_body(recipe, round_number, template=template)
    if not recipe.body_bytes:
        return body
    size = recipe.body_bytes[min(round_number, len(recipe.body_bytes)) - 1]
    return _sized(body, _only_question(recipe, template), size)


def _sized(body: bytes, shorter: bytes, size: int) -> bytes:
    if len(body) > size:
        body = shorter if len(shorter) <= size else _cut(shorter, size)
    if not body.endswith(b"}"):
        # Not JSON as we know it: the victim's own body goes as it is.
        return body
    return body[:-1] + b" " * max(0, size - len(body)) + body[-1:]


def _only_question(recipe: RequestRecipe, template: bytes | None) -> bytes:
    """The body without any history of ours."""
    alone = replace(recipe, prompt=replace(recipe.prompt, growth_tokens=0))
    return chat_body(alone, 1, template=template)


def _cut(body: bytes, size: int) -> bytes:
    """The body with its longest text cut until it fits, or down to one character."""
    try:
        value = cast("Json", orjson.loads(body))
    except orjson.JSONDecodeError:
        return body
    text = max(_texts(value), key=lambda one: len(orjson.dumps(one)), default="")
    if len(text) < TEXT_CHARACTERS_MIN:
        return body
    kept = text
    while len(kept) > 1:
        cut = orjson.dumps(_exchanged(value, text, kept))
        if len(cut) <= size:
            return cut
        # A character takes several bytes at the most: this many have to go at the least.
        widest = max(len(orjson.dumps(letter)) - 2 for letter in set(kept))
        kept = kept[: max(1, len(kept) - max(1, (len(cut) - size) // widest))]
    return orjson.dumps(_exchanged(value, text, kept))


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, Sequence):
        return [text for inner in value for text in _texts(inner)]
    return []


def _exchanged(value: Json, old: str, new: str) -> Json:
    if isinstance(value, str):
        return new if value == old else value
    if isinstance(value, Mapping):
        return cast("JsonObject", {k: _exchanged(inner, old, new) for k, inner in value.items()})
    if isinstance(value, Sequence):
        return [_exchanged(inner, old, new) for inner in value]
    return value
