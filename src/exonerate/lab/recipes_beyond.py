"""What can be wrong behind or before the hops of a random path, and what only looks wrong."""

from __future__ import annotations

import random
from typing import Literal

from exonerate.lab.recipes import Recipe, Tables


def descriptors(rng: random.Random) -> Recipe:
    """A process that can open nothing any more."""
    where: Literal["hop", "engine"] = "hop" if rng.choices([True, False])[0] else "engine"
    return Recipe(
        title=f"the {where} has no file descriptors left",
        place=where,
        layer="host",
        classes=["fd-exhausted"],
        symptom="hang",
        open_files=where,
        background={
            "program": "idler",
            "at": where.upper(),
            "options": ["--count", "60"],
            "lead_s": 1.5,
        },
        victim={"rounds": 4},
    )


def engine_fault(rng: random.Random) -> Recipe:
    """One of what the scripted engine can do wrong."""
    n, limit = rng.randint(2, 5), rng.randint(200, 300)
    kinds: list[tuple[str, str, str, Tables, Tables]] = [
        (
            "the scheduler sticks",
            "scheduler-stuck",
            "hang",
            {
                "when": {"request_in_process": n},
                "do": {"action": "stuck", "after_tokens": rng.randint(0, 5)},
            },
            {},
        ),
        (
            "the front end loses requests",
            "frontend-lost",
            "hang",
            {"when": {"request_in_process": f"every {n + 1}"}, "do": "lost"},
            {},
        ),
        (
            f"answers to prompts over {limit} tokens are wrong",
            "long-context-corruption",
            "corrupted",
            {"when": {"prompt_tokens": f"> {limit}"}, "do": {"action": "corrupt", "how": "loop"}},
            {"prompt_tokens": 100, "growth_tokens": 70},
        ),
        (
            "answers are wrong while three run",
            "kernel-corruption",
            "corrupted",
            {"do": {"action": "corrupt", "while_running": 3}},
            {"rounds": 3, "concurrency": 3},
        ),
        (
            "a token of the template shows",
            "template-leak",
            "corrupted",
            {"when": {"stream": True}, "do": {"action": "special-token", "text": "<|eot_id|>"}},
            {},
        ),
    ]
    what, kind, symptom, fault, victim = rng.choices(kinds)[0]
    return Recipe(
        title=f"in the engine {what}",
        place="engine",
        layer="engine",
        classes=[kind],
        symptom=symptom,
        engine={"fault": [fault], "answer_tokens": 24},
        victim=victim,
    )


def slot_leak(rng: random.Random) -> Recipe:
    """The mirror of a cancel that is not passed on."""
    return Recipe(
        title="the engine loses a slot with every client that leaves",
        place="engine",
        layer="engine",
        classes=["slot-leak"],
        symptom="slow",
        engine={
            "max_running": 8,
            "leak_slot_on_abort": True,
            "token_s": 0.03,
            "answer_tokens": 200,
        },
        background={
            "program": "aborter",
            "at": "HOP",
            "lead_s": 5.0,
            "options": ["--count", str(rng.randint(10, 16)), "--after", "0.25"],
        },
        victim={"rounds": 4, "max_tokens": 16, "deadline_s": 6},
        timers_s=5,
    )


def client_fault(rng: random.Random) -> Recipe:
    """The victim's own program is to blame."""
    kinds: list[tuple[str, str, str, list[str]]] = [
        (
            "never gives connections back",
            "pool-exhausted",
            "hang",
            ["--fault", "pool-exhausted", "--pool-size", str(rng.randint(2, 4))],
        ),
        (
            "waits for itself",
            "client-deadlock",
            "hang",
            ["--fault", "client-deadlock", "--at-round", str(rng.randint(2, 4))],
        ),
        (
            "has no patience",
            "client-timer",
            "errors",
            ["--fault", "client-timer", "--first-byte-limit", f"{rng.uniform(0.8, 1.4):.1f}"],
        ),
    ]
    what, kind, symptom, options = rng.choices(kinds)[0]
    engine: Tables = {"first_byte_s": 2.0} if kind == "client-timer" else {}
    return Recipe(
        title=f"the client {what}",
        place="client",
        layer="client",
        classes=[kind],
        symptom=symptom,
        engine=engine,
        victim={"rounds": 6},
        client={"program": "faulty_client", "options": options},
    )


def healthy(rng: random.Random) -> Recipe:
    """Nobody is to blame, though something may look odd."""
    odd = rng.choices([_odd_engines(), _odd_hops(rng), _busy_engines()])[0]
    return rng.choices(odd)[0]


def _odd_engines() -> list[Recipe]:
    pause = {"do": {"action": "silence", "after_tokens": 4, "seconds": 1.2}}
    return [
        Recipe(
            title="the engine is slow from the start",
            place="nobody",
            symptom="slow",
            engine={"first_byte_s": 0.8, "token_s": 0.06},
            victim={"rounds": 4},
        ),
        Recipe(
            title="the engine pauses and sends heartbeats",
            place="nobody",
            symptom="slow",
            engine={"heartbeat_s": 0.4, "fault": [pause]},
            victim={"rounds": 3, "deadline_s": 12},
        ),
        Recipe(
            title="the engine closes after each stream, as it may",
            place="nobody",
            engine={"close_after_stream": True},
        ),
    ]


def _odd_hops(rng: random.Random) -> list[Recipe]:
    return [
        Recipe(title="everything is well", place="nobody", victim={"rounds": 8}),
        Recipe(
            title="a proxy ends connections after some requests and says so",
            place="nobody",
            hop={"downstream": {"requests_per_connection": rng.randint(2, 4)}},
        ),
    ]


def _busy_engines() -> list[Recipe]:
    long = ["--rounds", "1000", "--think", "0", "--max-tokens", "60", "--deadline", "600"]
    others = [*long, "--prompt-words", "20", "--growth-words", "1"]
    return [
        Recipe(
            title="prompts are long and cost time",
            place="nobody",
            symptom="slow",
            explanation="long-prefill",
            engine={"prefill_tokens_per_s": 250},
            victim={"rounds": 3, "prompt_tokens": 500, "deadline_s": 20},
        ),
        Recipe(
            title="more clients than slots",
            place="nobody",
            symptom="slow",
            explanation="saturated",
            engine={"max_running": 1, "token_s": 0.04, "answer_tokens": 60},
            background={
                "program": "harness",
                "at": "HOP",
                "count": 3,
                "lead_s": 1.0,
                "options": others,
            },
            victim={"rounds": 3, "deadline_s": 30},
        ),
    ]
