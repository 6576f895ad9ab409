"""End codes say who, what and in which phase."""

from __future__ import annotations

from typing import Any

import pytest

from exonerate.core.wire.end_codes import Circumstances, end_code

COMPLETE: dict[str, Any] = {
    "ending": "framed",
    "connected": True,
    "request_written": True,
    "head_seen": True,
    "done_said": True,
    "body_complete": True,
    "status": 200,
    "silent_s": 0.0,
    "lasted_s": 5.0,
}
CUT = {"body_complete": False, "done_said": False}
NO_HEAD = {**CUT, "head_seen": False, "status": None}
NO_CONNECTION = {**NO_HEAD, "connected": False, "request_written": False}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "---"),
        ({"fin_seen": True}, "hFE"),
        ({"ending": "fin"}, "hFE"),
        ({"status": 503}, "hXH"),
        ({"status": 413, "request_written": False}, "hXB"),
        ({**CUT, "ending": "fin"}, "hFD"),
        ({"body_complete": False, "ending": "fin"}, "hFE"),
        ({**CUT, "ending": "reset"}, "hRD"),
        ({**CUT, "ending": "timed-out"}, "nZD"),
        ({**CUT, "ending": "broken"}, "hXD"),
        ({**NO_HEAD, "ending": "fin"}, "hFH"),
        ({**NO_HEAD, "ending": "reset", "request_written": False}, "hRB"),
        ({**NO_CONNECTION, "ending": "refused"}, "hXK"),
        ({**NO_CONNECTION, "ending": "unreachable"}, "nXK"),
        ({**NO_CONNECTION, "ending": "given-up", "silent_s": 5.0}, "cZK"),
        ({**NO_HEAD, "ending": "given-up", "silent_s": 5.0}, "cZH"),
        ({**CUT, "ending": "given-up", "silent_s": 5.0}, "cZD"),
        ({**CUT, "ending": "given-up", "silent_s": 0.01}, "cFD"),
        ({"body_complete": False, "ending": "given-up", "silent_s": 5.0}, "cZE"),
    ],
)
def test_the_code_follows_from_what_was_seen(changes: dict[str, Any], code: str) -> None:
    """One code for each way in which an exchange can end."""
    assert end_code(Circumstances(**{**COMPLETE, **changes})) == code
