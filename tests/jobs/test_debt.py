"""The debt of a ledger, with live values from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.instant import Instant
from exonerate.jobs.debt import owed


class StoppedClock:
    """A clock that always shows the same time."""

    def now(self) -> Instant:
        """Always zero."""
        return Instant(0)

    def wall(self) -> str:
        """Always the same."""
        return "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """A ledger with one revert in each of two deployments."""
    ledger = open_ledger(tmp_path / "ledger.db", clock=StoppedClock())
    for case, deployment in (("c1", "here"), ("c2", "elsewhere")):
        ledger.append(case=case, kind="case_opened", body={"title": "t", "deployment": deployment})
        change = {"id": f"r-{case}", "type": "revert", "knob": case, "from": "2", "to": "1"}
        ledger.append(case=case, kind="intervention_planned", body=change)
        done = {"id": f"r-{case}", "outcome": "committed", "live": "1"}
        ledger.append(case=case, kind="intervention_done", body=done)
    return ledger


def knobs(answer: Any) -> list[str]:
    return [item["knob"] for item in answer["items"]]


def test_every_standing_revert_is_owed(ledger: SqlLedger) -> None:
    """The debt covers every case of the ledger, whatever the case."""
    answer = owed(ledger, {"c1": "1", "c2": "1"}.get, clock=StoppedClock())
    assert answer["schema"] == "exonerate.debt/1"
    assert knobs(answer) == ["c1", "c2"]


def test_live_value_ends_a_debt(ledger: SqlLedger) -> None:
    """A knob that has its old value again is not listed."""
    assert knobs(owed(ledger, {"c1": "2", "c2": "1"}.get, clock=StoppedClock())) == ["c2"]


def test_other_deployment_is_left_out(ledger: SqlLedger) -> None:
    """With a deployment at hand, the knobs of another one are not judged by its files."""
    answer = owed(ledger, {"c1": "1"}.get, clock=StoppedClock(), deployment="here")
    assert knobs(answer) == ["c1"]
