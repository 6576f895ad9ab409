"""What the restore brief says of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from exonerate.core.case.fold import fold_cases
from exonerate.core.case.records import GENESIS_HASH, Record, RecordKind
from exonerate.core.change.brief import RestoreBrief, brief_json, gain_of, restore_brief
from exonerate.core.change.one_setting import OneSettingProof
from exonerate.core.change.plan import ChangePlan, plan_to_body
from exonerate.core.json_types import Json, JsonObject

REVERT = ChangePlan(
    id="revert-1",
    type="revert",
    knob="KNOB",
    service="engine",
    form="export",
    file="/srv/serve.sh",
    was="512",
    to="256",
    file_was="512",
    file_to=None,
    base_sha256="a",
    target_sha256="b",
    restart=True,
    ready_timeout_s=60.0,
    smoke=None,
    purpose="tests the knob",
    prediction="it stops",
    confounds=("restart",),
    reason="incident",
    suspect="s1",
)
RESTORE = replace(REVERT, id="restore-1", type="restore", was="256", to="512", undoes="revert-1")
PROOF = OneSettingProof(
    knob="KNOB",
    live=None,
    target="512",
    lines_removed=(),
    lines_added=("export KNOB=512\n",),
    diff="+export KNOB=512\n",
)
SUSPECT: JsonObject = {
    "id": "s1",
    "claim": "512 hangs it",
    "mechanism": "m",
    "predicts": ["it stops"],
    "predicted_if_false": ["it goes on"],
    "knob": "KNOB",
}
FAULT: JsonObject = {
    "outcome": "fault",
    "faults": [{"class": "drops-requests", "hops": ["edge"], "details": {}}],
    "cleared": [{"knob": "KNOB", "why": "the engine was idle and answered directly"}],
}


def brief(*more: tuple[RecordKind, JsonObject], plan: ChangePlan = RESTORE) -> RestoreBrief:
    """The brief of a case with one committed revert and more records."""
    bodies: list[tuple[RecordKind, JsonObject]] = [
        ("case_opened", {"title": "hang", "symptom": "hang", "deployment": "d"}),
        ("suspect_added", SUSPECT),
        ("intervention_planned", plan_to_body(REVERT)),
        ("intervention_done", {"id": "revert-1", "outcome": "committed", "live": "256"}),
        *more,
    ]
    return restore_brief(plan, PROOF, fold_cases(records(bodies)))


def records(bodies: Sequence[tuple[RecordKind, JsonObject]]) -> list[Record]:
    """Records of one case; those of a run are marked so."""
    return [
        Record(
            seq=n,
            case="c",
            kind=kind,
            at=f"2026-11-30T10:00:{n:02d}",
            body=body,
            prev=GENESIS_HASH,
            hash="",
            run="run-1" if kind in ("run_started", "verdict") else None,
        )
        for n, (kind, body) in enumerate(bodies, start=1)
    ]


def document(grade: str, claims: Sequence[JsonObject] = ()) -> tuple[RecordKind, JsonObject]:
    """A document with one cell, as `read` records it."""
    comparison: JsonObject = {
        "line": 9,
        "metric": "output_tokens_per_s",
        "arms": ["256", "512"],
        "knob": "KNOB",
        "cells": [{"cell": 64, "values": {"256": 719.5, "512": 811.7}}],
        "grade": grade,
    }
    source: JsonObject = {"comparisons": [comparison], "claims": list(claims)}
    body: dict[str, Json] = {
        "id": "document-1",
        "type": "document",
        "source": "plan.md",
        "grade": grade,
        "knob": "KNOB",
        "reading": {"sources": [source]},
    }
    return "evidence_added", body


def locate(symptom: str) -> list[tuple[RecordKind, JsonObject]]:
    """A conviction of the proxy that clears the knob."""
    started: JsonObject = {"job": "locate", "rules": "1", "options": {"symptom": symptom}}
    verdict: JsonObject = {"id": "verdict-1", "job": "locate", "rules": "1", "answer": FAULT}
    return [("run_started", started), ("verdict", verdict)]


def test_the_price_is_what_comes_back() -> None:
    """A loss at the live value is shown as the gain at the restored one, with its grade."""
    found = brief(document("D"))
    assert [round(gain_of(price.loss), 3) for price in found.prices] == [0.128]
    assert found.price_class == "priced"
    assert any("one run per cell" in text for text in found.assumptions)


def test_an_unknown_price_is_said_to_be_unknown() -> None:
    """It is not zero."""
    found = brief()
    assert (found.prices, found.price_class) == ((), "unpriced")
    assert any("what the value gives back is not known" in text for text in found.assumptions)


def test_claims_are_measured_claimed_or_unknown() -> None:
    """A document only claims, and says so when it does not define how."""
    claim: JsonObject = {"text": "0% leak", "line": 15, "defined": False}
    measured: JsonObject = {
        "id": "m1",
        "type": "measurement",
        "source": "check",
        "grade": "A",
        "claim": "the output at temperature 0 is the same at both values",
    }
    found = brief(document("D", [claim]), ("evidence_added", measured))
    statuses = {one.text: one.status for one in found.claims}
    assert statuses == {
        "the output at temperature 0 is the same at both values": "measured",
        "0% leak (the document does not say how it was measured)": "claimed",
        "inputs with NaN, infinity or denormal numbers behave the same at both values": "unknown",
    }


def test_a_statement_is_shown_and_decides_nothing() -> None:
    """What a person remembers is listed with the name."""
    said: JsonObject = {
        "id": "s",
        "type": "statement",
        "source": "ann",
        "by": "ann",
        "statement": "the proxy acted up",
        "grade": "E",
    }
    found = brief(("evidence_added", said))
    assert found.statements == ("ann: the proxy acted up",)
    assert found.recommendation == "restore-as-test"


@pytest.mark.parametrize(("symptom", "state"), [("hang", "refuted"), ("slow", "active")])
def test_a_cleared_knob_is_recommended_to_be_restored(symptom: str, state: str) -> None:
    """The verdict that cleared it is named with its reason."""
    found = brief(*locate(symptom))
    assert found.clearance is not None
    assert found.clearance.verdict == "verdict-1"
    assert "idle" in found.clearance.why
    assert (found.recommendation, found.state) == ("restore", state)


def test_a_supported_suspicion_is_kept() -> None:
    """The symptom went with the revert and came back with the value: the revert stays."""
    again = replace(RESTORE, id="again", undoes="revert-1")
    off = replace(REVERT, id="revert-2")
    aba: list[tuple[RecordKind, JsonObject]] = [
        ("intervention_observed", {"id": "revert-1", "symptom": "gone"}),
        ("intervention_planned", plan_to_body(again)),
        ("intervention_done", {"id": "again", "outcome": "committed", "live": "512"}),
        ("intervention_observed", {"id": "again", "symptom": "persists"}),
        ("intervention_planned", plan_to_body(off)),
        ("intervention_done", {"id": "revert-2", "outcome": "committed", "live": "256"}),
    ]
    found = brief(*aba)
    assert (found.state, found.recommendation) == ("supported", "keep")


def test_the_json_holds_everything_a_reader_decides_by() -> None:
    """Price, claims, difference, clearance, assumptions and recommendation."""
    answer = brief_json(brief(document("D"), *locate("hang")))
    assert answer["schema"] == "exonerate.restore-brief/1"
    assert answer["cleared_by"] == {
        "verdict": "verdict-1",
        "why": "the engine was idle and answered directly",
    }
    assert answer["lines_added"] == ["export KNOB=512\n"]
    assert answer["price"] == [
        {
            "cell": 64,
            "cell_kind": "concurrency",
            "metric": "output_tokens_per_s",
            "gain": 0.128145,
            "ci": None,
            "grade": "D",
            "source": "plan.md:9",
        }
    ]
