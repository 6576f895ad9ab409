"""A host that has no processor time to give is told from anybody who is slow on a good one."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import Answer, Asked, Load, World, locate_in

from exonerate.core.diagnosis.control import processor_wait
from exonerate.core.diagnosis.facts import ControlSample, read_facts

SLOW = Answer(wait_s=3.0)


def slow_everywhere(starved: float) -> Any:
    """The answer where every entry is slow while the engine works for others."""
    load = Load(running=1, waiting=12, tokens_per_s=100)
    return locate_in(World(lambda _: SLOW, load=load, starved=starved), symptom="slow")


def test_where_the_control_is_slow_as_well_the_host_explains_it() -> None:
    """No engine is called saturated by what a starved host does to it."""
    answer = slow_everywhere(15.0)
    assert answer["outcome"] == "no_fault"
    assert answer["explanation"]["class"] == "host-starved"
    assert "times its processor time" in answer["paragraph"]


def test_where_the_control_is_quick_the_engine_s_load_explains_it() -> None:
    """The host had time to give."""
    assert slow_everywhere(1.2)["explanation"]["class"] == "saturated"


def test_no_box_is_accused_of_its_timing_on_a_starved_host() -> None:
    """Bursts at one entry are no proof while the control is slow."""

    def rule(asked: Asked) -> Answer:
        return Answer(wait_s=0.5, spread_s=0.001 if asked.hop == "edge" else 0.4)

    calm: Any = locate_in(World(rule, sockets_visible=False))
    starved: Any = locate_in(World(rule, sockets_visible=False, starved=15.0))
    assert [fault["class"] for fault in calm["faults"]] == ["buffering"]
    assert starved["faults"] == []


def test_a_fault_that_is_no_matter_of_time_is_named_on_a_starved_host_too() -> None:
    """What the bytes show does not depend on the host."""
    broken = Answer(lost_ending=True)
    answer: Any = locate_in(World(lambda a: broken if a.hop == "edge" else Answer(), starved=15.0))
    assert [fault["class"] for fault in answer["faults"]] == ["corruption"]


@pytest.mark.parametrize(("symptom", "told"), [("slow", True), ("hang", False)])
def test_a_victim_that_finds_equally_slow_answers_slow_is_told_of_the_starved_host(
    symptom: str, told: bool
) -> None:
    """Past every hop the same is as slow, so that only the processors tell; and only if asked."""
    world = World(lambda _: Answer(wait_s=0.9, spread_s=1.2), engine_waits=7.0)
    answer: Any = locate_in(world, symptom=symptom)
    assert answer["outcome"] == "no_fault"
    explained = answer["explanation"]
    assert (explained is not None and explained["class"] == "host-starved") is told


def test_a_processor_that_is_shared_fairly_explains_nothing() -> None:
    """Half of a processor is not starvation."""
    world = World(lambda _: Answer(wait_s=0.9, spread_s=1.2), engine_waits=1.0)
    answer: Any = locate_in(world, symptom="slow")
    assert (answer["outcome"], answer["explanation"]) == ("no_fault", None)


def waits(per_try: list[tuple[float, float]]) -> str | None:
    """What is said of an engine whose processes ran and waited so long from try to try."""
    run_s = wait_s = 0.0
    tries = [ControlSample(0.4, 15.0, 15.0, 3.0, 2, 0.0, "s", {8000: (0.0, 0.0)})]
    for ran, waited in per_try:
        run_s, wait_s = run_s + ran, wait_s + waited
        tries.append(replace(tries[0], served={8000: (run_s, wait_s)}))
    facts = replace(read_facts(()), controls=tuple(tries))
    seen = processor_wait(World(lambda _: SLOW).deployment.hops[-1], facts)
    return None if seen is None else seen.value


def test_a_hop_that_stands_ready_and_gets_no_processor_is_starved() -> None:
    """One that runs beside a busy neighbour, or sleeps, is not."""
    assert waits([(0.1, 0.9)] * 4) == "starved"
    assert waits([(0.5, 0.5)] * 4) is None
    assert waits([(0.01, 0.05)] * 4) is None
    assert waits([(0.1, 0.9), (0.9, 0.1), (0.9, 0.1), (0.8, 0.2)]) is None
