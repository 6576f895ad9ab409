"""What can be wrong with a random path, and what then is to be found: one function a kind.

Each draws its numbers from the generator it is given. `generate` puts the result into a random
chain; nothing here knows which hop it will be or what stands around it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Tables: TypeAlias = Mapping[str, object]
Place: TypeAlias = Literal["nobody", "hop", "engine", "hop and engine", "client", "client and hop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One kind of trouble, or none, with its numbers drawn.

    `classes` are the right answers, the best first; several where a fault lies between classes.
    `hop` are settings of the faulty proxy, `engine` of the scripted engine, `victim` overrides its
    shape. `place` says which part `hops` of the verdict has to name.
    """

    title: str
    place: Place
    classes: Sequence[str] = ()
    layer: str = ""
    explanation: str | None = None
    symptom: str = ""
    hop: Tables = field(default_factory=dict)
    engine: Tables = field(default_factory=dict)
    victim: Tables = field(default_factory=dict)
    open_files: Literal["", "hop", "engine"] = ""
    background: Tables | None = None
    client: Tables | None = None
    timers_s: float = 0.0


def _rule(do: object, *, when: object = None, at: object = None) -> Tables:
    rule: dict[str, object] = {"do": do}
    rule |= {} if when is None else {"when": when}
    rule |= {} if at is None else {"at": at}
    return {"rule": [rule]}


def _proxy(title: str, classes: Sequence[str], symptom: str, **more: object) -> Recipe:
    made: dict[str, object] = {"layer": "proxy", "place": "hop", **more}
    return Recipe(title=title, classes=classes, symptom=symptom, **made)  # type: ignore[arg-type]  # checked by the class


def _swallowing_when(rng: random.Random) -> tuple[str, Tables]:
    n = rng.randint(3, 6)
    conditions: list[tuple[str, Tables]] = [
        (f"request {n} of a connection", {"request_on_connection": n}),
        ("requests of a connection from the third on", {"request_on_connection": ">= 3"}),
        (f"every request from the {n}th of its process", {"request_in_process": f">= {n}"}),
        ("requests on connections over an age", {"connection_age_s": f"> {rng.uniform(1, 2):.2f}"}),
        ("requests over a size", {"request_bytes": f"> {rng.randint(900, 1600)}"}),
        ("requests after a pause", {"idle_s": f"> {rng.uniform(0.15, 0.25):.2f}"}),
        ("requests now and then", {"chance": round(rng.uniform(0.2, 0.35), 2)}),
        ("requests that ask for a stream", {"stream": True}),
    ]
    return rng.choices(conditions)[0]


def swallow(rng: random.Random) -> Recipe:
    """The founding story, with one of many conditions."""
    what, when = _swallowing_when(rng)
    forward = rng.choices([False, True])[0]
    verb = "swallows the answers to" if forward else "swallows"
    when = {**when, "path": "/v1/"}
    rule = _rule({"action": "swallow", "forward": forward}, when=when)
    return _proxy(f"a proxy {verb} {what}", ["drops-requests"], "hang", hop=rule)


def stall(rng: random.Random) -> Recipe:
    """The answer stops in the middle, everything stays open."""
    events = rng.randint(4, 9)
    rule = _rule(
        "stall", when={"request_on_connection": f">= {rng.randint(1, 3)}"}, at={"events": events}
    )
    return _proxy(
        f"a proxy stalls answers after {events} events", ["drops-requests"], "hang", hop=rule
    )


def refuse(rng: random.Random) -> Recipe:
    """Refused by size, as 413, 400, 403 or 500."""
    limit, status = rng.randint(1000, 2200), rng.choices([413, 400, 403, 500])[0]
    rule = _rule({"action": "refuse", "status": status}, when={"request_bytes": f"> {limit}"})
    title = f"a proxy answers {status} to requests over {limit} bytes"
    return _proxy(title, ["request-refused"], "errors", hop=rule, victim={"growth_tokens": 60})


def reset(rng: random.Random) -> Recipe:
    """Reset by size, without a word."""
    limit = rng.randint(1000, 2200)
    rule = _rule("reset", when={"request_bytes": f"> {limit}"})
    title = f"a proxy resets the connections of requests over {limit} bytes"
    return _proxy(title, ["request-refused"], "errors", hop=rule, victim={"growth_tokens": 60})


def total_timer(rng: random.Random) -> Recipe:
    """Any answer ends after a total time."""
    seconds = round(rng.uniform(1.0, 2.2), 2)
    rule = _rule(rng.choices(["close", "reset"])[0], at={"total_s": seconds})
    return _proxy(
        f"a proxy ends answers after {seconds:g} s in all",
        ["total-timer"],
        "truncated",
        hop=rule,
        engine={"token_s": 0.05, "answer_tokens": 70},
        victim={"max_tokens": 70, "rounds": 4, "deadline_s": 12},
        timers_s=3,
    )


def idle_timer(rng: random.Random) -> Recipe:
    """Silence in the stream, or before it, is cut."""
    seconds = round(rng.uniform(0.8, 1.6), 2)
    do = rng.choices(["close", {"action": "refuse", "status": 504}])[0]
    if rng.choices([True, False])[0]:
        engine: Tables = {"fault": [{"do": {"action": "silence", "after_tokens": 5, "seconds": 3}}]}
        when, symptom = "in the stream", "truncated"
    else:
        engine, when, symptom = {"first_byte_s": 3.0}, "before the first byte", "errors"
    return _proxy(
        f"a proxy cuts after {seconds:g} s of silence {when}",
        ["idle-timer"],
        symptom,
        hop=_rule(do, at={"silence_s": seconds}),
        engine=engine,
        victim={"rounds": 3, "deadline_s": 12},
        timers_s=3,
    )


def periodic(rng: random.Random) -> Recipe:
    """Everything in flight ends on the proxy's own clock."""
    period = round(rng.uniform(3.5, 6.0), 1)
    return _proxy(
        f"a proxy closes what is in flight every {period:g} s",
        ["periodic-kill"],
        "truncated",
        hop=_rule("close", at={"every_s": period}),
        engine={"token_s": 0.05, "answer_tokens": 50},
        victim={"max_tokens": 50, "rounds": 6, "deadline_s": 12},
        timers_s=15,
    )


def buffering(rng: random.Random) -> Recipe:
    """Held until the end, or merged."""
    engine = {"token_s": 0.04, "answer_tokens": 48}
    victim = {"max_tokens": 48, "rounds": 4, "deadline_s": 10}
    if rng.choices([True, False])[0]:
        return _proxy(
            "a proxy holds streams back until they are whole",
            ["buffering"],
            "slow",
            hop=_rule("buffer"),
            engine=engine,
            victim=victim,
        )
    window = round(rng.uniform(0.18, 0.3), 2)
    return _proxy(
        f"a proxy merges what comes within {window:g} s",
        ["coalescing"],
        "slow",
        hop=_rule({"action": "buffer", "window_s": window}),
        engine=engine,
        victim=victim,
    )


def corruption(rng: random.Random) -> Recipe:
    """What arrives is not what the engine said."""
    every = rng.randint(2, 5)
    kinds: list[tuple[str, object, object]] = [
        ("loses the ending", "lose-ending", None),
        ("breaks letters", {"action": "corrupt-text", "how": "utf8", "every": every}, None),
        ("exchanges letters", {"action": "corrupt-text", "how": "flip", "every": every}, None),
        ("leaks framing", "leak-framing", None),
        ("repeats events", {"action": "repeat-events", "every": every}, None),
        ("drops events", {"action": "drop-events", "every": every}, None),
        ("makes up an ending", "invent-ending", {"events": rng.randint(4, 9)}),
    ]
    what, do, at = rng.choices(kinds)[0]
    symptom = "truncated" if "ending" in what else "corrupted"
    return _proxy(
        f"a proxy {what}", ["corruption"], symptom, hop=_rule(do, at=at), victim={"rounds": 4}
    )


def multiplication(rng: random.Random) -> Recipe:
    """Copies of slow requests eat the engine."""
    after, copies = round(rng.uniform(0.3, 0.6), 2), rng.randint(3, 5)
    do = {"action": "duplicate", "copies": copies, "after_s": after}
    return _proxy(
        f"a proxy sends requests again after {after:g} s, up to {copies} copies",
        ["retry-multiplication"],
        "slow",
        hop=_rule(do, when={"path": "/v1/"}),
        engine={"first_byte_s": 1.2, "max_running": 2},
        victim={"rounds": 3, "deadline_s": 25},
    )


def cancel_kept(rng: random.Random) -> Recipe:
    """Clients leave, and the engine works on for nobody."""
    return _proxy(
        "a proxy does not tell the engine that clients left",
        ["cancel-not-propagated"],
        "slow",
        hop=_rule("keep-upstream"),
        engine={"max_running": 4, "token_s": 0.05, "answer_tokens": 200},
        background={
            "program": "aborter",
            "at": "HOP",
            "lead_s": 4.0,
            "options": [
                "--count",
                "1000",
                "--after",
                "0.3",
                "--pause",
                f"{rng.uniform(0.3, 0.6):.2f}",
            ],
        },
        victim={"rounds": 3, "max_tokens": 12, "deadline_s": 20},
        timers_s=4,
    )


def stale_pool(rng: random.Random) -> Recipe:
    """The engine closes idle connections, and the hop's pool does not look."""
    idle = round(rng.uniform(0.6, 1.0), 2)
    stale = rng.choices(["hang", "fail"])[0]
    return Recipe(
        title=f"a proxy's pool keeps connections that what is behind it closed ({stale})",
        place="hop and engine",
        layer="boundary",
        classes=["stale-upstream-pool"],
        symptom="hang" if stale == "hang" else "errors",
        hop={"upstream": {"stale": stale}},
        engine={"idle_close_s": idle},
        victim={"rounds": 4, "think_s": round(idle + 0.6, 2)},
        timers_s=4,
    )
