"""The views that `exonerate knob` gives, on real files and a real ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.case.fold import fold_cases
from exonerate.core.deployment.model import Deployment, Knob, KnobForm, Service
from exonerate.core.json_types import JsonObject
from exonerate.errors import ExonerateError
from exonerate.jobs.knob import hypothesis_of, knob_diff, knob_list


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """An empty ledger."""
    return open_ledger(tmp_path / "ledger" / "ledger.db", clock=SystemClock())


def site(folder: Path, *, form: KnobForm = "export", file: str = "serve.sh") -> Deployment:
    """A deployment with one knob."""
    (folder / "serve.sh").write_text("#!/bin/sh\nexport KNOB=5\nexec srv\n")
    knob = Knob(name="KNOB", service="s", file=file, form=form, default="4")
    service = Service(name="s", start=("./serve.sh",))
    return Deployment(name="d", model="m", folder=str(folder), services=(service,), knobs=(knob,))


def view(deployment: Deployment, ledger: SqlLedger, *rows: JsonObject) -> dict[str, Any]:
    """The one knob of `knob list`, where the processes have those rows."""

    async def settings(service: str, setting: str, form: str) -> Sequence[JsonObject]:
        return rows

    answer: Any = asyncio.run(knob_list(deployment, ledger, settings))
    row: dict[str, Any] = answer["knobs"][0]
    return row


def test_the_file_and_the_processes_are_compared(tmp_path: Path, ledger: SqlLedger) -> None:
    """A process from before the last edit is seen; the launcher does not count."""
    launcher: JsonObject = {"pid": 1, "value": None, "launcher": True}
    same: JsonObject = {"pid": 2, "value": "5", "launcher": False}
    old: JsonObject = {"pid": 3, "value": "4", "launcher": False}
    assert view(site(tmp_path), ledger, launcher, same)["agrees"] is True
    assert view(site(tmp_path), ledger, launcher, same, old)["agrees"] is False
    assert view(site(tmp_path), ledger, launcher)["agrees"] is None


def test_what_cannot_be_read_is_part_of_the_answer(tmp_path: Path, ledger: SqlLedger) -> None:
    """A missing file, and a service that cannot be looked at."""
    missing = view(site(tmp_path, file="none.sh"), ledger)
    assert "cannot be read" in missing["error"]
    assert missing["live"] is None

    async def refused(service: str, setting: str, form: str) -> Sequence[JsonObject]:
        raise ExonerateError("port 1 is held by process 2", "stop it")

    answer: Any = asyncio.run(knob_list(site(tmp_path), ledger, refused))
    assert answer["knobs"][0]["running"] == {
        "processes": None,
        "why": "port 1 is held by process 2",
    }


def test_a_file_that_the_service_reads_itself_is_not_looked_for_in_processes(
    tmp_path: Path, ledger: SqlLedger
) -> None:
    """The view says why there is no value."""
    (tmp_path / "c.toml").write_text("KNOB = 5\n")
    row = view(site(tmp_path, form="toml", file="c.toml"), ledger)
    assert (row["written"], row["agrees"]) == ("5", None)
    assert "reads the file itself" in row["running"]["why"]


def test_without_a_record_nothing_differs(tmp_path: Path, ledger: SqlLedger) -> None:
    """`knob diff` says that nothing is on record."""
    answer = knob_diff(site(tmp_path), "KNOB", ledger)
    assert (answer["differs"], answer["recorded"], answer["live"]) == (False, None, "5")


def test_a_live_value_that_cannot_be_proved_is_said_to_be_so(
    tmp_path: Path, ledger: SqlLedger
) -> None:
    """`knob diff` still shows what is on record, and why the file does not decide."""
    deployment = site(tmp_path)
    (tmp_path / "serve.sh").write_text("export KNOB=$(cat value)\nexec srv\n")
    answer = knob_diff(deployment, "KNOB", ledger)
    assert answer["live"] is None
    assert "known only when the script runs" in str(answer["unproved"])


def test_a_hypothesis_names_a_suspect_of_the_case_or_a_new_one(
    tmp_path: Path, ledger: SqlLedger
) -> None:
    """By its id, by what it claims, or by new words."""
    body: JsonObject = {
        "id": "KNOB",
        "claim": "it hangs",
        "mechanism": "m",
        "predicts": ["a"],
        "predicted_if_false": ["b"],
    }
    ledger.append(case="c", kind="suspect_added", body=body)
    [case] = fold_cases(ledger.records())
    knob = site(tmp_path).knobs[0]

    def suspect(tests: str) -> tuple[str, str]:
        found = hypothesis_of(case, knob, tests=tests, predict="p", reason="r")
        return found.suspect, found.tests

    assert suspect("KNOB") == ("KNOB", "it hangs")
    assert suspect("it hangs") == ("KNOB", "it hangs")
    assert suspect("KNOB = 5 stalls!") == ("knob-5-stalls", "KNOB = 5 stalls!")
    assert hypothesis_of(None, knob, tests="?", predict="p", reason="r").suspect == "KNOB"
