"""Scenarios that nobody has seen: a random chain of healthy hops with no or one fault in it.

They tell whether the localiser knows faults, or only the list it was made with. The same seed and
number give the same scenario; how it is written is the same format as everywhere (docs/lab.md).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from exonerate.lab import recipes, recipes_beyond
from exonerate.lab.recipes import Recipe, Tables

NAMES = ("edge", "gateway", "ingress", "sidecar", "balancer", "waf", "cache", "egress", "front")
HOPS_MAX = 4
RECIPES: Sequence[tuple[int, Callable[[random.Random], Recipe]]] = (
    (6, recipes_beyond.healthy),
    (5, recipes.swallow),
    (1, recipes.stall),
    (2, recipes.refuse),
    (1, recipes.reset),
    (2, recipes.total_timer),
    (2, recipes.idle_timer),
    (1, recipes.periodic),
    (2, recipes.buffering),
    (3, recipes.corruption),
    (1, recipes.multiplication),
    (1, recipes.cancel_kept),
    (1, recipes.stale_pool),
    (1, recipes_beyond.descriptors),
    (4, recipes_beyond.engine_fault),
    (1, recipes_beyond.slot_leak),
    (3, recipes_beyond.client_fault),
)
"""How often each is drawn; nobody is to blame often, for there an accusation costs most."""
PLAIN_VICTIM: Tables = {
    "rounds": 6,
    "think_s": 0.3,
    "prompt_tokens": 60,
    "growth_tokens": 30,
    "max_tokens": 20,
    "deadline_s": 6,
}


@dataclass(frozen=True, slots=True)
class Unseen:
    """A generated scenario and its file's text."""

    id: str
    title: str
    text: str


def unseen(seed: int, count: int) -> list[Unseen]:
    """So many scenarios of a seed."""
    return [_one(seed, number) for number in range(1, count + 1)]


def _one(seed: int, number: int) -> Unseen:
    name = f"U{seed}-{number}"
    rng = random.Random(f"unseen {seed} {number}")
    kinds = [make for _, make in RECIPES]
    recipe = rng.choices(kinds, [weight for weight, _ in RECIPES])[0](rng)
    chain = _chain(rng, recipe)
    guilty = chain[rng.randrange(len(chain))] if chain else "engine"
    tables = _tables(rng, recipe, chain, guilty)
    head = {"id": name, "title": recipe.title, "symptom": recipe.symptom}
    plain: dict[str, object] = {key: value for key, value in head.items() if value}
    if recipe.timers_s:
        plain["timers_s"] = recipe.timers_s
    return Unseen(name, recipe.title, _text(plain) + tables)


def _chain(rng: random.Random, recipe: Recipe) -> list[str]:
    """Names of hops from the client inwards; at least one where a hop has to do something."""
    fewest = 1 if recipe.hop or recipe.place != "engine" or recipe.background else 0
    return rng.sample(NAMES, rng.randint(fewest, HOPS_MAX))


def _tables(rng: random.Random, recipe: Recipe, chain: list[str], guilty: str) -> str:
    parts = [_part(rng, recipe, name, guilty) for name in chain]
    text = "".join(f"\n[[part]]\n{_text(part)}" for part in parts)
    text += f"\n[[part]]\n{_text(_engine(rng, recipe))}"
    if recipe.background is not None:
        names = {"HOP": guilty, "ENGINE": "engine"}
        background = {**recipe.background, "at": names[str(recipe.background["at"])]}
        text += f"\n[[background]]\n{_text(background)}"
    text += f"\n[victim]\n{_text({**PLAIN_VICTIM, **recipe.victim})}"
    if recipe.client is not None:
        text += f"\n[client]\n{_text(recipe.client)}"
    return text + _expected(recipe, chain, guilty)


def _part(rng: random.Random, recipe: Recipe, name: str, guilty: str) -> Tables:
    """A hop; the innocent ones have odd but harmless habits now and then."""
    part: dict[str, object] = {"name": name, "kind": "faulty-proxy"}
    if name != guilty:
        habits = rng.choices(HARMLESS, WEIGHTS)[0]
        return {**part, **({"settings": habits} if habits else {})}
    if recipe.hop:
        part["settings"] = recipe.hop
    if recipe.open_files == "hop":
        part["open_files"] = 40
    return part


HARMLESS: tuple[Tables, ...] = (
    {},
    {"rule": [{"do": {"action": "delay", "seconds": 0.01}}]},
    {"rule": [{"do": "swallow", "when": {"request_bytes": "> 50000000"}}]},
    {"rule": [{"do": "close", "at": {"total_s": 600}}]},
    {"downstream": {"requests_per_connection": 50}},
    {"downstream": {"idle_close_s": 75}},
)
WEIGHTS = (8, 1, 2, 2, 1, 1)


def _engine(rng: random.Random, recipe: Recipe) -> Tables:
    settings: dict[str, object] = {
        "names": rng.choices(["vllm", "sglang"])[0],
        "first_byte_s": round(rng.uniform(0.02, 0.15), 3),
        "token_s": round(rng.uniform(0.01, 0.04), 3),
        "answer_tokens": rng.randint(20, 48),
        "seed": rng.randint(1, 10_000),
        **recipe.engine,
    }
    engine: dict[str, object] = {"name": "engine", "kind": "scripted", "settings": settings}
    return {**engine, **({"open_files": 40} if recipe.open_files == "engine" else {})}


def _expected(recipe: Recipe, chain: list[str], guilty: str) -> str:
    if recipe.place == "nobody":
        explained = {"explanation": recipe.explanation} if recipe.explanation else {}
        return f"\n[expected]\n{_text({'outcome': 'no_fault', **explained})}"
    behind = [*chain, "engine"][chain.index(guilty) + 1] if chain else "engine"
    hops = {
        "hop": [guilty],
        "engine": ["engine"],
        "hop and engine": [guilty, behind],
        "client": ["client"],
        "client and hop": ["client", chain[0] if chain else "engine"],
    }[recipe.place]
    best, *others = recipe.classes
    fault: dict[str, object] = {"layer": recipe.layer, "class": best, "hops": hops}
    if others:
        fault["also"] = [{"layer": recipe.layer, "class": one, "hops": hops} for one in others]
    return f'\n[expected]\noutcome = "fault"\n\n[[expected.fault]]\n{_text(fault)}'


def _text(table: Tables) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    """A value as TOML writes it, tables inline."""
    if isinstance(value, Mapping):
        items = ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {items} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return json.dumps(value)
