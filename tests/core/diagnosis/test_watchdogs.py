"""What watchdogs of engines say about a wait, and when their silence says something."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.world import NS, PATH

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.beside import Beside, EngineSaid, LogState, PageSample
from exonerate.core.diagnosis.facts import Facts, Outcome, Round, Session, read_facts
from exonerate.core.diagnosis.logs.engine import EngineLine, EngineWord
from exonerate.core.diagnosis.watchdogs import engine_said, unheard_watchdogs, watchdog
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

PLAIN = parse_deployment(PATH, path="test", folder="/")
WORKS = EngineSaid("engine", EngineLine("works"), 1)
READ = LogState(lines=3)
Facing = tuple[str | None, float | None]
"""Log and set time of the watchdog, as the deployment file gives them."""


def engine(facing: Facing = ("engine.log", None)) -> tuple[Deployment, Hop]:
    """The path, and the engine at its end with this log and watchdog."""
    hop = replace(PLAIN.hops[-1], log=facing[0], watchdog_s=facing[1])
    return replace(PLAIN, hops=(*PLAIN.hops[:-1], hop)), hop


def waited(begun_s: float, ended_s: float, outcome: Outcome = "hang") -> Session:
    """A session of the victim's shape at the edge whose only round waited so long."""
    request = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
    )
    plan = ProbeSession(
        name="victim@edge", hop="edge", url="http://e", request=request, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=8.0,
    )  # fmt: skip
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=1)
    exchange = Exchange(
        session="p", hop="edge", round=1, connection=connection, request_bytes=1,
        begun_ns=int(begun_s * NS), ended_ns=int(ended_s * NS), given_up="deadline",
    )  # fmt: skip
    return Session("s", plan, (Round(exchange, outcome),), None)


def said(word: EngineWord, at_s: float, lasted_s: float | None = None) -> EngineSaid:
    """A line of the engine's log."""
    return EngineSaid("engine", EngineLine(word, lasted_s), int(at_s * NS))


def facts(
    lines: Sequence[EngineSaid],
    *,
    waits: Sequence[Session],
    state: LogState = READ,
    settings: tuple[PageSample, ...] = (),
) -> Facts:
    """A run with these waits, in which the engine's log had these lines."""
    beside = Beside(logs=(("engine", state),), engines_said=tuple(lines), settings=settings)
    return replace(read_facts(()), sessions=tuple(waits), beside=beside)


def test_a_line_speaks_for_every_wait_that_it_covers() -> None:
    """What it says is that nothing was done in all of its time."""
    _, hop = engine()
    waits = [waited(1, 7), waited(8, 14), waited(30, 36)]
    seen = facts([said("stood-still", 20, 15)], waits=waits)
    observed = watchdog(hop, seen, waits)
    assert observed is not None
    assert (observed.value, observed.times, observed.tries) == ("spoke", 2, 3)


def test_a_line_of_before_the_wait_says_nothing_of_it() -> None:
    """It may be about a hang that is over."""
    _, hop = engine()
    waits = [waited(50, 56)]
    assert watchdog(hop, facts([said("stood-still", 20, 15)], waits=waits), waits) is None


def test_silence_speaks_for_an_engine_whose_watchdog_had_the_time() -> None:
    """Once, however many waited: no rival is ruled out by silence alone."""
    _, hop = engine(("engine.log", 2.0))
    waits = [waited(1, 7), waited(8, 14)]
    observed = watchdog(hop, facts([WORKS], waits=waits), waits)
    assert observed is not None
    assert (observed.value, observed.times, observed.tries) == ("silent", 1, 1)


def test_the_engine_can_tell_itself_when_its_watchdog_speaks() -> None:
    """By its page of settings; the shorter of two watchdogs counts."""
    _, hop = engine()
    page = PageSample("engine", 1, "engine-settings", {"watchdog_s": 300, "soft_watchdog_s": 2})
    waits = [waited(1, 7)]
    observed = watchdog(hop, facts([WORKS], waits=waits, settings=(page,)), waits)
    assert observed is not None
    assert observed.value == "silent"


@pytest.mark.parametrize(
    ("facing", "lines", "state", "why"),
    [
        (("engine.log", 300.0), [WORKS], READ, "601 s to speak"),
        (("engine.log", None), [WORKS], READ, "is not known"),
        ((None, 2.0), [], READ, "no `log` is given"),
        (("engine.log", 2.0), [], READ, "none of the engine's own lines"),
        (("engine.log", 2.0), [WORKS], LogState(lines=9, skipped_bytes=7), "some were lost"),
        (("engine.log", 2.0), [], LogState(error="No such file"), "none of the engine's own"),
    ],
)
def test_silence_that_nobody_could_have_broken_says_nothing(
    facing: Facing, lines: list[EngineSaid], state: LogState, why: str
) -> None:
    """And the verdict says so."""
    deployment, hop = engine(facing)
    waits = [waited(1, 7)]
    seen = facts(lines, waits=waits, state=state)
    assert watchdog(hop, seen, waits) is None
    (line,) = unheard_watchdogs(seen, deployment)
    assert why in line


def test_where_nobody_waited_nothing_is_said_of_watchdogs() -> None:
    """Neither that they were silent, nor that it says nothing."""
    deployment, hop = engine(("engine.log", 0.1))
    seen = facts([WORKS], waits=[waited(1, 7, "refused")])
    assert watchdog(hop, seen, seen.sessions) is None
    assert not list(unheard_watchdogs(seen, deployment))


def test_the_gravest_of_what_an_engine_wrote_is_told() -> None:
    """With how often; that it works is no news."""
    _, hop = engine()
    lines = [WORKS, said("no-token", 3), said("gpu-error", 4), said("gpu-error", 5)]
    observed = engine_said(hop, facts(lines, waits=[]))
    assert observed is not None
    assert (observed.value, observed.times) == ("gpu-error", 2)
    assert engine_said(hop, facts([WORKS], waits=[])) is None
