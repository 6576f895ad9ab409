"""Request bodies: seeded and salted, so that they can be made again, byte for byte.

Every draw comes from `random.Random` seeded by the recipe's seed and salt and by the round, so two
recipes with equal seed and salt share their prefix, and any other two part at the first word. A
conversation grows as an agent's does: each round adds an assistant's answer and a question, both
seeded filler, so that a body never depends on what the engine said.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.wire.code_words import code_word
from exonerate.core.wire.dialects import Dialect, dialect_of_path
from exonerate.core.workload.words import WORDS

WORDS_PER_TOKEN = 1.0
"""Measured with SmolLM2's tokenizer: these words are one token each."""
CODE_WORD_TOKENS = 16
"""About what the sentence with a code word takes."""


def chat_body(
    recipe: RequestRecipe, round_number: int, *, template: bytes | None = None, opening: str = ""
) -> bytes:
    """The body of one round, numbered from 1.

    `template` is the victim's own body (what `body_ref` names): the first round sends it as it
    is, later rounds grow its history. `opening` is put before the first question.
    """
    assert round_number >= 1
    if template is not None:
        return _grown_template(recipe, round_number, template)
    dialect = dialect_of_path(recipe.path)
    (role, question), *later = conversation(recipe.prompt, round_number)
    turns = [(role, opening + question), *later]
    body: dict[str, Json] = {"model": recipe.model, **_prompt_fields(dialect, turns)}
    body[_LIMIT_NAMES[dialect]] = recipe.max_tokens
    body["temperature"] = 0
    body["stream"] = recipe.stream
    if recipe.stream and dialect in ("chat", "completions"):
        body["stream_options"] = {"include_usage": True}
    if recipe.ignore_eos:
        body["ignore_eos"] = True
    return orjson.dumps(body)


def conversation(prompt: PromptRecipe, round_number: int) -> list[tuple[str, str]]:
    """The turns (role, text) of a round: a question, then an answer and a question per round."""
    turns = [("user", _opening(prompt))]
    for earlier in range(2, round_number + 1):
        answer_tokens = prompt.growth_tokens // 2
        turns.append(("assistant", _filler(prompt, earlier, "answer", answer_tokens)))
        question_tokens = prompt.growth_tokens - answer_tokens
        turns.append(("user", _filler(prompt, earlier, "question", question_tokens)))
    return turns


def filler_words(count: int, seed: str) -> str:
    """That many seeded words."""
    return " ".join(random.Random(seed).choices(WORDS, k=max(1, count)))


_LIMIT_NAMES: dict[Dialect, str] = {
    "chat": "max_tokens",
    "completions": "max_tokens",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
}


def _opening(prompt: PromptRecipe) -> str:
    if not prompt.code_word:
        return _filler(prompt, 1, "question", prompt.prompt_tokens)
    asked = f"Your code word is {own_code_word(prompt)}. Begin your answer with it."
    rest = max(1, prompt.prompt_tokens - CODE_WORD_TOKENS)
    return f"{asked} {_filler(prompt, 1, 'question', rest)}"


def own_code_word(prompt: PromptRecipe) -> str:
    """The code word of prompts made by this recipe."""
    return code_word(f"{prompt.seed}/{prompt.salt}")


def _filler(prompt: PromptRecipe, round_number: int, role: str, tokens: int) -> str:
    words = round(tokens * WORDS_PER_TOKEN)
    return filler_words(words, f"{prompt.seed}/{prompt.salt}/{round_number}/{role}")


def _prompt_fields(dialect: Dialect, turns: Sequence[tuple[str, str]]) -> dict[str, Json]:
    messages: list[Json] = [{"role": role, "content": text} for role, text in turns]
    match dialect:
        case "completions":
            return {"prompt": "\n".join(text for _, text in turns)}
        case "responses":
            return {"input": messages}
        case "chat" | "messages":
            return {"messages": messages}


def _grown_template(recipe: RequestRecipe, round_number: int, template: bytes) -> bytes:
    if round_number == 1 or recipe.prompt.growth_tokens == 0:
        return template
    try:
        body = cast("Json", orjson.loads(template))
    except orjson.JSONDecodeError:
        return template
    if not isinstance(body, Mapping):
        return template
    later = conversation(recipe.prompt, round_number)[1:]
    return orjson.dumps(_with_turns(body, later))


def _with_turns(body: JsonObject, turns: Sequence[tuple[str, str]]) -> dict[str, Json]:
    grown = dict(body)
    for name in ("messages", "input"):
        history = body.get(name)
        if isinstance(history, Sequence) and not isinstance(history, str):
            grown[name] = [*history, *({"role": role, "content": text} for role, text in turns)]
            return grown
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        grown["prompt"] = "\n".join([prompt, *(text for _, text in turns)])
    return grown
