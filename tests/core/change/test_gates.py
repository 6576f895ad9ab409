"""What the events of a step must show."""

from __future__ import annotations

import pytest

from exonerate.core.change.gates import restart_gate, setting_gate, smoke_gate, swap_gate
from exonerate.core.deployment.model import KnobForm
from exonerate.core.json_types import Json
from exonerate.core.scene import Event


def setting(*values: Json) -> list[Event]:
    """A reading of as many processes as there are values."""
    processes: list[Json] = [{"pid": 10 + i, "value": value} for i, value in enumerate(values)]
    return [Event("setting", 1, "setting", {"processes": processes})]


@pytest.mark.parametrize(
    ("form", "expected", "values", "passes"),
    [
        ("export", "512", ("512", "512"), True),
        ("export", "512", ("512", None), False),
        ("export", "512", ("512", "256"), False),
        ("export", "512", (), False),
        ("export", None, (None, None), True),
        ("export", None, (None, "512"), False),
        ("environment-file", "512", ("512",), True),
        ("unit-environment", "512", (None,), False),
        ("flag", "4", ("4", None), True),
        ("flag", "4", ("4", "8"), False),
        ("flag", "4", (None, None), False),
        ("flag", None, (None,), True),
        ("flag", None, ("4",), False),
    ],
)
def test_every_process_must_have_got_the_value(
    form: KnobForm, expected: str | None, values: tuple[Json, ...], passes: bool
) -> None:
    """One worker without it makes the change fail, even if the parent has it."""
    assert setting_gate(setting(*values), form, expected).passed == passes


def test_the_shell_that_runs_the_script_does_not_count() -> None:
    """Its own environment is from before the script set anything."""
    launcher: Json = {"pid": 1, "value": None, "launcher": True}
    event = Event("setting", 1, "setting", {"processes": [launcher, {"pid": 2, "value": "5"}]})
    result = setting_gate([event], "export", "5")
    assert result.passed
    assert result.detail["processes"] == 1


def test_a_file_that_the_service_reads_itself_is_not_claimed_to_have_arrived() -> None:
    """No process shows it, so the result says that it was not checked."""
    result = setting_gate([], "toml", "5")
    assert result.passed
    assert result.detail["arrived"] == "not-checked"


def test_silence_fails_closed() -> None:
    """No event is a failure at every gate, and so is a time-out of the scene."""
    late = [Event("scene", 1, "failed", {"why": "the scene did not end within 30 s"})]
    for events in ([], late):
        for result in (
            swap_gate(events, "a" * 64),
            restart_gate(events),
            setting_gate(events, "export", "5"),
            smoke_gate(events),
        ):
            assert not result.passed
            assert result.why


def test_other_bytes_than_the_target_are_a_failure() -> None:
    """An exchange that ended with something else is not the change that was planned."""
    event = Event("swap", 1, "swapped", {"to_sha256": "c" * 64, "method": "exchange"})
    assert not swap_gate([event], "a" * 64).passed
