"""Knobs and changes as people read them."""

from __future__ import annotations

import pytest

from exonerate.core.json_types import Json, JsonObject
from exonerate.report.knobs import change_text, knob_diff_text, knobs_text

ROW: dict[str, Json] = {
    "name": "KNOB",
    "service": "engine",
    "values": ["256", "512"],
    "default": "256",
    "written": None,
    "live": "256",
    "error": None,
    "running": {"processes": [{"pid": 7, "value": None}], "why": None},
    "agrees": True,
    "standing": {
        "type": "adopt",
        "since": "2026-11-30T10:00:00+00:00",
        "was": "512",
        "state": "active",
        "why": "nothing was observed since",
    },
}
DIFF: dict[str, Json] = {
    "knob": "KNOB",
    "live": "256",
    "unproved": None,
    "against": "the file before the revert r1",
    "differs": True,
    "recorded": "512",
    "edited_since": False,
    "diff": "+export KNOB=512\n",
    "proof": {"one_setting": True, "reasons": []},
}
CHANGE: dict[str, Json] = {
    "type": "restore",
    "knob": "KNOB",
    "file": "/srv/serve.sh",
    "outcome": "committed",
    "from": "256",
    "to": "512",
    "live": "512",
    "why": "every step passed its gate",
    "steps": [{"step": "swap", "passed": True, "why": "file exchanged"}],
    "in_effect": {"state": "unknown", "why": "only the engine knows"},
    "diff": "+export KNOB=512\n",
}


def shown(row: JsonObject) -> str:
    """The list of one knob."""
    return knobs_text({"knobs": [row]}, width=100, colour=False)


def test_a_knob_that_is_not_set_shows_what_that_means() -> None:
    """The default, the processes, and the revert that stands."""
    text = shown(ROW)
    assert "not set: means 256" in text
    assert "not set (1 processes)" in text
    assert "an adopted revert stands since 2026-11-30 10:00:00 (512 → 256)" in text
    assert "exonerate knob restore KNOB" in text


def test_a_knob_that_cannot_be_read_shows_why() -> None:
    """The error stands where the value would."""
    row: JsonObject = {**ROW, "error": "line 3 sets KNOB where it may not run", "standing": None}
    assert "line 3 sets KNOB" in shown(row)
    assert "no knob" in knobs_text({"knobs": []}, width=80, colour=False)


def test_a_difference_says_whether_it_is_one_setting() -> None:
    """With the proof, or with the reasons against it."""
    assert "exactly one effective setting differs" in knob_diff_text(DIFF, width=80, colour=False)
    refused: JsonObject = {"one_setting": False, "reasons": ["other settings differ too: A"]}
    text = knob_diff_text({**DIFF, "proof": refused, "edited_since": True}, width=80, colour=False)
    assert "not one setting: other settings differ too: A" in text
    assert "edited since" in text
    same = knob_diff_text({**DIFF, "differs": False}, width=80, colour=False)
    assert "the live file is the file before the revert r1" in same
    none = knob_diff_text({**DIFF, "against": None}, width=80, colour=False)
    assert "nothing is on record" in none


@pytest.mark.parametrize(
    ("outcome", "live", "said"),
    [
        ("committed", "512", "only the engine knows"),
        ("rolled-back", "256", "live is 256: smoke: no answer"),
        ("refused", "256", "live is 256"),
        ("rollback-failed", None, "WHAT IS LIVE IS NOT KNOWN"),
    ],
)
def test_the_end_of_a_change_cannot_be_mistaken(outcome: str, live: str | None, said: str) -> None:
    """A failed way back is loud; nothing else is called restored."""
    change: JsonObject = {**CHANGE, "outcome": outcome, "live": live, "why": "smoke: no answer"}
    text = change_text(change, width=80, colour=False)
    assert f"restore of KNOB: {outcome}" in text
    assert said in text
