"""What the ledger knows of changed files."""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.case.records import GENESIS_HASH, Record, RecordKind
from exonerate.core.change.history import (
    every_sha256,
    open_changes,
    recorded_changes,
    recorded_sha256,
)
from exonerate.core.change.plan import ChangePlan, plan_to_body
from exonerate.core.json_types import JsonObject

PLAN = ChangePlan(
    id="one",
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
    purpose="tests it",
    prediction="it stops",
    confounds=("restart",),
    reason="incident",
)


def records(*bodies: tuple[RecordKind, JsonObject]) -> list[Record]:
    """Records of one case."""
    return [
        Record(seq=n, case="c", kind=kind, at=f"t{n}", body=body, prev=GENESIS_HASH, hash="")
        for n, (kind, body) in enumerate(bodies, start=1)
    ]


def done(identity: str, outcome: str) -> tuple[RecordKind, JsonObject]:
    """The end of a change."""
    return "intervention_done", {"id": identity, "outcome": outcome, "live": None}


def planned(plan: ChangePlan) -> tuple[RecordKind, JsonObject]:
    """The beginning of a change."""
    return "intervention_planned", plan_to_body(plan)


def test_a_change_without_an_end_is_open() -> None:
    """A kill leaves a plan; its end closes it."""
    changes = recorded_changes(records(planned(PLAN)))
    assert [change.plan for change in open_changes(changes)] == [PLAN]
    ended = recorded_changes(records(planned(PLAN), done("one", "committed")))
    assert open_changes(ended) == []
    assert (ended[0].planned_at, ended[0].done_at) == ("t1", "t2")


def test_the_last_known_bytes_of_a_file_are_those_its_changes_left() -> None:
    """Refused changes left nothing; a failed way back is not known, so the one before counts."""
    second = replace(PLAN, id="two", base_sha256="b", target_sha256="c")
    third = replace(PLAN, id="three", base_sha256="c", target_sha256="d")
    other = replace(PLAN, id="other", file="/srv/other.sh", target_sha256="x")
    for outcome, left in (
        ("committed", "d"),
        ("rolled-back", "c"),
        ("refused", "c"),
        ("rollback-failed", "c"),
    ):
        changes = recorded_changes(
            records(
                planned(PLAN),
                done("one", "committed"),
                planned(second),
                done("two", "committed"),
                planned(third),
                done("three", outcome),
                planned(other),
                done("other", "committed"),
            )
        )
        assert recorded_sha256(changes, "/srv/serve.sh") == left
        assert every_sha256(changes, "/srv/serve.sh") == ["d", "c", "b", "a"]
    assert recorded_sha256([], "/srv/serve.sh") is None


def test_interventions_that_change_no_file_are_passed_over() -> None:
    """A recorded restart has no bytes."""
    restart: JsonObject = {"id": "r", "type": "restart", "service": "engine"}
    assert (
        recorded_changes(records(("intervention_planned", restart), done("r", "committed"))) == []
    )
