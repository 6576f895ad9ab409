"""A restart is told from a cut by the process, the counters, or a closed port."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.support.world import PATH, Answer, World, locate_in

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.engine_process import engine_process
from exonerate.core.diagnosis.facts import CounterSample, Facts, SocketSample

ENGINE = parse_deployment(PATH, path="test", folder="/").hops[-1]


def observed(
    processes: Sequence[tuple[str, ...]] = (), counters: Sequence[Mapping[str, float]] = ()
) -> str | None:
    """What is said of an engine that listened as these processes and counted so."""
    samples = tuple(
        SocketSample("s", "engine", at, (), True, names) for at, names in enumerate(processes)
    )
    facts = Facts(
        scenes=(), sessions=(),
        counters=tuple(
            CounterSample("s", "c", "engine", at, values) for at, values in enumerate(counters)
        ),
        sockets={("s", "engine"): samples}, own_ports=frozenset(), began_ns=0, ended_ns=9,
    )  # fmt: skip
    seen = engine_process(ENGINE, facts)
    return None if seen is None else seen.value


@pytest.mark.parametrize(
    ("processes", "value"),
    [
        ([("10:500",), ("10:500",)], "same"),
        ([("10:500",), ("11:900",)], "restarted"),
        ([("10:500",), (), ("10:900",)], "restarted"),
        ([("10:500", "11:501"), ("10:500", "12:777")], "same"),
        ([()], None),
    ],
)
def test_a_process_is_known_by_its_pid_and_its_start(
    processes: list[tuple[str, ...]], value: str | None
) -> None:
    """One worker of several that was replaced is no restart of the engine."""
    assert observed(processes) == value


def test_counters_that_begin_anew_show_a_restart_on_another_machine() -> None:
    """They only ever rise while a process lives; gauges fall all the time."""
    assert observed(counters=[{"steps": 90.0}, {"steps": 3.0}]) == "restarted"
    assert observed(counters=[{"steps": 90.0, "running": 4.0}, {"steps": 95.0}]) is None


@pytest.mark.parametrize(
    ("started", "value"),
    [([100.0, 100.2, 900.0], "restarted"), ([100.0, 100.2], None), ([900.0, 100.0, 900.0], None)],
)
def test_a_process_that_was_started_later_shows_a_restart(
    started: list[float], value: str | None
) -> None:
    """Its page names the time of its start; two processes that answer in turn are no restart."""
    counters = [{"started_at": at, "steps": 9.0 - n} for n, at in enumerate(started)]
    steady = [{**row, "steps": 9.0} for row in counters]
    assert observed(counters=steady) == value


def test_an_engine_that_cuts_its_answers_without_a_restart_is_not_called_restarted() -> None:
    """Something ends the answers, and the process stays what it is."""
    answer: Any = locate_in(World(lambda _: Answer(cut=True)))
    assert all(fault["class"] != "engine-restart" for fault in answer["faults"])
