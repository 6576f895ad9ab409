"""Events of logs as facts."""

from exonerate.core.diagnosis.beside import LogState, read_beside
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event

NS = 1_000_000_000


def test_wall_times_become_stamps() -> None:
    """The reading says which wall time it was."""
    data: JsonObject = {
        "hop": "edge", "wall_s": 1000.0, "lines": 3, "unknown_lines": 1,
        "entries": [{"program": "nginx", "begun_s": 998.5}, {"program": "litellm"}],
    }  # fmt: skip
    beside = read_beside([Event("log@edge", 50 * NS, "log", data)])
    assert [line.begun_ns for line in beside.log_lines] == [48.5 * NS, 50.0 * NS]
    assert beside.logs == (("edge", LogState(lines=3, unknown_lines=1)),)


def test_a_log_that_cannot_be_read_says_why() -> None:
    """One event, no lines."""
    event = Event("log@edge", NS, "log", {"hop": "edge", "error": "Permission denied"})
    beside = read_beside([event])
    assert beside.log_lines == ()
    assert beside.logs == (("edge", LogState(error="Permission denied")),)


def test_readings_of_one_log_add_up_and_two_logs_stay_two() -> None:
    """An access log and an error log of one hop."""
    first = Event("log@edge", NS, "log", {"hop": "edge", "lines": 2, "unknown_lines": 0})
    other = Event("error-log@edge", NS, "log", {"hop": "edge", "lines": 1, "unknown_lines": 1})
    beside = read_beside([first, first, other])
    assert [state.lines for _, state in beside.logs] == [4, 1]


def test_an_error_log_may_speak_of_other_things() -> None:
    """Notices that are about no request do not make its format an unknown one."""
    data: JsonObject = {"hop": "edge", "lines": 5, "unknown_lines": 5}
    beside = read_beside([Event("error-log@edge", NS, "log", data)])
    assert [(s.lines, s.unknown_lines) for _, s in beside.logs] == [(5, 0)]


def test_what_an_engine_wrote_of_itself_keeps_the_moment_of_its_reading() -> None:
    """And its settings are no reading of its counters."""
    said: JsonObject = {"hop": "engine", "lines": 1, "engine": [{"word": "works", "times": 3}]}
    page: JsonObject = {"hop": "engine", "engine": "engine-settings", "values": {"watchdog_s": 9.0}}
    beside = read_beside(
        [Event("log@engine", NS, "log", said), Event("settings@engine", NS, "metrics", page)]
    )
    assert [(one.hop, one.line.word, one.at_ns) for one in beside.engines_said] == [
        ("engine", "works", NS)
    ]
    assert [one.values for one in beside.settings] == [{"watchdog_s": 9.0}]
    assert beside.pages == beside.health == ()
