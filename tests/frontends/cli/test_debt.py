"""`exonerate debt` as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exonerate.compose import ledger_at
from exonerate.frontends.cli.case import case
from exonerate.frontends.cli.debt import debt

DOCUMENT = Path(__file__).parents[2] / "data" / "documents" / "DSV4_DECODE_PERF_PLAN.md"
KNOB = "SGLANG_SM120_MMA_TARGET_CTAS"
DEPLOYMENT = f"""
[deployment]
name = "dsv4"
model = "dsv4"

[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:1"

[[service]]
name = "decode"
hop = "engine"
start = ["./serve.sh"]

[[knob]]
name = "{KNOB}"
service = "decode"
file = "serve.sh"
form = "export"
values = [256, 512]
default = 256
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A deployment whose knob was reverted: its line is no longer in the script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXONERATE_LEDGER", raising=False)
    (tmp_path / "exonerate.toml").write_text(DEPLOYMENT)
    (tmp_path / "serve.sh").write_text("#!/bin/sh\nexec serve\n")
    CliRunner().invoke(case, ["open", "Agent hangs"], standalone_mode=False)
    ledger = ledger_at(None, None)
    (opening,) = ledger.records()
    planned = {
        "id": "r",
        "type": "revert",
        "knob": KNOB,
        "service": "decode",
        "from": "512",
        "to": "256",
        "purpose": "stop the hang",
        "prediction": "p",
        "confounds": ["restart"],
    }
    ledger.append(case=opening.case, kind="intervention_planned", body=planned)
    done = {"id": "r", "outcome": "committed", "live": "256"}
    ledger.append(case=opening.case, kind="intervention_done", body=done)
    return tmp_path


def run(*arguments: str) -> Result:
    """`exonerate debt` with those arguments."""
    return CliRunner().invoke(debt, arguments, standalone_mode=False, catch_exceptions=False)


def test_unpriced_debt_is_a_finding_without_a_number() -> None:
    """A standing revert without evidence is listed, exit status 1, and not called free."""
    result = run()
    assert result.return_value == 1
    assert "unpriced" in result.stdout
    assert "%" not in result.stdout


def test_price_comes_from_the_document_that_was_read() -> None:
    """After reading the benchmark document the price per concurrency stands, with its grade."""
    CliRunner().invoke(case, ["evidence", "--file", str(DOCUMENT)], standalone_mode=False)
    assert "11.4 %" in run().stdout
    (item,) = json.loads(run("--json").stdout)["items"]
    assert (item["live"], item["was"], item["live_known"]) == ("256", "512", True)
    prices = {price["cell"]: (price["loss"], price["grade"]) for price in item["price"]}
    assert prices[64] == (0.113589, "D")


def test_hand_edit_that_restores_the_knob_ends_the_debt(folder: Path) -> None:
    """The file decides: with the line back in the script nothing is owed."""
    (folder / "serve.sh").write_text(f"#!/bin/sh\nexport {KNOB}=512\nexec serve\n")
    result = run()
    assert result.return_value == 0
    assert "no revert stands" in result.stdout


def test_script_that_cannot_be_read_keeps_the_debt_and_says_so(folder: Path) -> None:
    """Without the file the recorded value counts, and the item says that it was not read."""
    (folder / "serve.sh").unlink()
    result = run()
    assert result.return_value == 1
    assert "could not be read" in " ".join(result.stdout.split())
