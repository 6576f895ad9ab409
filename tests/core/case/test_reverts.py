"""What a revert can show: consistent at best, until the knob comes back or chance decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from exonerate.core.case.model import Case
from exonerate.core.case.records import RecordKind

Line = tuple[RecordKind, dict[str, Any]]
RunLine = tuple[RecordKind, dict[str, Any], str]
Fold = Callable[..., Case]

KNOB = "TARGET_CTAS"

SUSPECT: Line = (
    "suspect_added",
    {
        "id": "knob",
        "claim": "512 CTAs hang the decode kernel",
        "mechanism": "split-K combine",
        "predicts": ["hangs stop at 256"],
        "predicted_if_false": ["hangs go on at 256"],
        "knob": KNOB,
    },
)


def change(
    name: str, was: str, to: str, *, kind: str = "revert", knob: str = KNOB, **more: object
) -> list[Line]:
    """A committed change of a knob."""
    planned = {"id": name, "type": kind, "knob": knob, "service": "decode", "from": was, "to": to}
    return [
        ("intervention_planned", {**planned, "confounds": ["restart"], **more}),
        ("intervention_done", {"id": name, "outcome": "committed", "live": to}),
    ]


def seen(name: str, symptom: str) -> Line:
    """What was observed after the change."""
    return ("intervention_observed", {"id": name, "symptom": symptom})


def convicted(
    fault_class: str = "drops-requests", hop: str = "edge", symptom: str = "hang", **fault: object
) -> list[RunLine]:
    """A run of `locate` that convicts."""
    faults = [{"class": fault_class, "hops": [hop], **fault}]
    return [
        ("run_started", {"job": "locate", "rules": "1", "options": {"symptom": symptom}}, "r1"),
        (
            "verdict",
            {"id": "v1", "job": "locate", "answer": {"outcome": "fault", "faults": faults}},
            "r1",
        ),
    ]


def compared(verdict: str, *, metric: str, blocks: int = 5, knob: str = KNOB) -> list[RunLine]:
    """A run of `ab` with arms 256 (baseline) and 512."""
    answer = {
        "arms": ["256", "512"],
        "blocks": blocks,
        "metric": metric,
        "primary": {"verdict": verdict},
    }
    return [
        ("run_started", {"job": "ab", "rules": "1", "options": {"knob": knob}}, "ab1"),
        ("verdict", {"id": "v2", "job": "ab", "answer": answer}, "ab1"),
    ]


REVERT = change("r", "512", "256")


def state(case: Case, name: str = "r") -> str:
    """The state of one intervention."""
    return next(one.state for one in case.interventions if one.id == name)


def test_revert_that_nobody_looked_at_is_active(folded: Fold) -> None:
    """Without an observation the test is still running."""
    assert state(folded(*REVERT)) == "active"


def test_symptom_gone_after_a_revert_is_only_consistent(folded: Fold) -> None:
    """The restart alone can explain that the symptom went away, so nothing is supported."""
    case = folded(SUSPECT, *REVERT, seen("r", "gone"))
    assert state(case) == "consistent"
    assert case.suspects[0].state == "open"


def test_another_change_in_between_confounds(folded: Fold) -> None:
    """Two changes and one observation: nobody knows which of them did it."""
    other = change("o", "on", "off", knob="OVERLAP")
    case = folded(*other, *REVERT, seen("r", "gone"))
    assert state(case) == "confounded"
    assert "OVERLAP" in case.interventions[1].why


def test_change_whose_symptom_persisted_does_not_confound(folded: Fold) -> None:
    """A change before the symptom was last seen cannot be what cured it."""
    other = [*change("o", "on", "off", knob="OVERLAP"), seen("o", "persists")]
    assert state(folded(*other, *REVERT, seen("r", "gone"))) == "consistent"


def test_change_that_was_rolled_back_does_not_confound(folded: Fold) -> None:
    """A change that was not made cannot have cured anything."""
    planned, _ = change("o", "on", "off", knob="OVERLAP")
    rolled_back: Line = ("intervention_done", {"id": "o", "outcome": "rolled-back", "live": "on"})
    case = folded(planned, rolled_back, *REVERT, seen("r", "gone"))
    assert (state(case), state(case, "o")) == ("consistent", "inconclusive")


def test_stated_confound_confounds(folded: Fold) -> None:
    """An edit that somebody declared counts as much as one that was recorded."""
    revert = change("r", "512", "256", confounds=["restart", "driver update"])
    assert state(folded(*revert, seen("r", "gone"))) == "confounded"


def test_symptom_that_returns_with_the_knob_supports(folded: Fold) -> None:
    """A-B-A: gone with the revert, back with the knob: the suspect is supported."""
    again = change("a", "256", "512", kind="apply")
    case = folded(SUSPECT, *REVERT, seen("r", "gone"), *again, seen("a", "persists"))
    assert (state(case), state(case, "a")) == ("supported", "supported")
    assert case.suspects[0].state == "supported"


def test_aba_beside_a_proved_fault_supports_nothing(folded: Fold) -> None:
    """Where a proxy was proved guilty, its own coming and going could look like the knob's."""
    again = change("a", "256", "512", kind="restore")
    case = folded(SUSPECT, *convicted(), *REVERT, seen("r", "gone"), *again, seen("a", "persists"))
    assert (state(case), state(case, "a")) == ("confounded", "confounded")
    assert case.suspects[0].state == "open"


def test_aba_with_another_change_between_supports_nothing(folded: Fold) -> None:
    """A symptom that returns together with another change accuses nobody."""
    other = change("o", "on", "off", knob="OVERLAP")
    again = change("a", "256", "512", kind="apply")
    case = folded(SUSPECT, *REVERT, seen("r", "gone"), *other, *again, seen("a", "persists"))
    assert state(case) == "consistent"
    assert case.suspects[0].state == "open"


def test_symptom_that_does_not_return_with_the_knob_decides_nothing(folded: Fold) -> None:
    """The knob is back and the symptom is not: the revert had not cured it."""
    again = change("a", "256", "512", kind="apply")
    case = folded(SUSPECT, *REVERT, seen("r", "gone"), *again, seen("a", "gone"))
    assert state(case) == "inconclusive"


def test_symptom_that_persists_alone_refutes_nothing(folded: Fold) -> None:
    """Without a culprit, a symptom that stays may have two causes."""
    case = folded(SUSPECT, *REVERT, seen("r", "persists"))
    assert state(case) == "inconclusive"
    assert case.suspects[0].state == "open"


def test_conviction_elsewhere_with_the_symptom_persisting_refutes(folded: Fold) -> None:
    """The symptom stayed and the proxy was proved guilty: the knob is refuted."""
    case = folded(SUSPECT, *REVERT, seen("r", "persists"), *convicted())
    assert state(case) == "refuted"
    assert case.suspects[0].state == "refuted"
    assert "drops-requests" in case.suspects[0].why


def test_conviction_alone_refutes_nothing(folded: Fold) -> None:
    """A proved fault elsewhere does not say that the reverted knob is innocent too."""
    assert state(folded(SUSPECT, *REVERT, seen("r", "gone"), *convicted("slow", symptom=""))) == (
        "consistent"
    )


def test_locate_that_reproduces_the_symptom_sees_that_it_persists(folded: Fold) -> None:
    """A conviction for the case's symptom, made while the revert stood, shows both at once."""
    assert state(folded(SUSPECT, *REVERT, *convicted())) == "refuted"
    assert state(folded(SUSPECT, *REVERT, *convicted(symptom="slow"))) == "active"
    assert state(folded(SUSPECT, *convicted(), *REVERT)) == "active"


def test_conviction_of_the_knob_itself_refutes_nothing(folded: Fold) -> None:
    """A fault that names the suspected setting is not a conviction elsewhere."""
    own = convicted("kernel-hang", "engine", details={"setting": KNOB})
    assert state(folded(SUSPECT, *REVERT, seen("r", "persists"), *own)) == "inconclusive"


def test_adopted_revert_is_judged_like_any_other(folded: Fold) -> None:
    """A revert that was made before the case was opened can be refuted too."""
    adopted = change("r", "512", "256", kind="adopt")
    assert state(folded(*adopted, seen("r", "persists"), *convicted())) == "refuted"


@pytest.mark.parametrize(
    ("verdict", "symptom", "metric", "expected"),
    [
        ("worse", "slow", "output_tokens_per_s", "supported"),
        ("flat", "slow", "output_tokens_per_s", "refuted"),
        ("better", "slow", "itl_ms_p50", "refuted"),
        ("undecided", "slow", "output_tokens_per_s", "active"),
        ("invalid", "slow", "output_tokens_per_s", "active"),
        ("worse", "hang", "output_tokens_per_s", "active"),
        ("worse", "hang", "hang_share", "supported"),
    ],
)
def test_randomised_comparison_decides_in_the_metric_of_the_symptom(
    folded: Fold, verdict: str, symptom: str, metric: str, expected: str
) -> None:
    """An A/B of throughput says nothing about a hang; one of the symptom itself decides."""
    case = folded(SUSPECT, *REVERT, *compared(verdict, metric=metric), symptom=symptom)
    assert state(case) == expected


def test_comparison_of_too_few_blocks_decides_nothing(folded: Fold) -> None:
    """Below three restarts an arm, no verdict moves a suspect."""
    few = compared("worse", metric="output_tokens_per_s", blocks=2)
    assert state(folded(SUSPECT, *REVERT, *few, symptom="slow")) == "active"


def test_undecided_test_expires_and_a_decided_one_does_not(folded: Fold) -> None:
    """A test that nobody finished lapses with its date; what was decided stays decided."""
    dated = change("r", "512", "256", expires_at="2026-02-01")
    assert state(folded(*dated, as_of="2026-01-31T00:00:00Z")) == "active"
    assert state(folded(*dated, as_of="2026-02-01T00:00:00Z")) == "expired"
    decided = [*dated, seen("r", "persists"), *convicted()]
    assert state(folded(*decided, as_of="2026-03-01T00:00:00Z")) == "refuted"


def test_changed_environment_lets_a_test_expire(folded: Fold) -> None:
    """When what it was reverted for no longer runs, the test has lost its reason."""
    dated = change("r", "512", "256", fingerprint="driver 1")
    later: RunLine = ("run_started", {"job": "locate", "fingerprint": "driver 2"}, "r9")
    case = folded(*dated, seen("r", "gone"), later)
    assert state(case) == "expired"


def test_intent_without_an_end_is_unfinished(folded: Fold) -> None:
    """What a crash left behind is an open intent, not a change that was made."""
    case = folded(REVERT[0])
    assert [one.id for one in case.open_intents] == ["r"]
    assert case.is_unfinished


@pytest.mark.parametrize(
    ("service", "expected"), [("router", "confounded"), ("decode", "consistent")]
)
def test_restart_of_another_service_confounds(folded: Fold, service: str, expected: str) -> None:
    """A router that was restarted meanwhile could be the cure; the knob's own service always is."""
    restart: list[Line] = [
        ("intervention_planned", {"id": "x", "type": "restart", "service": service}),
        ("intervention_done", {"id": "x", "outcome": "committed"}),
    ]
    assert state(folded(*REVERT, *restart, seen("r", "gone"))) == expected


def test_symptom_that_could_not_be_observed_decides_nothing(folded: Fold) -> None:
    """`unknown` is an observation of nothing, and does not take back one that was made."""
    assert state(folded(*REVERT, seen("r", "unknown"))) == "inconclusive"
    assert state(folded(*REVERT, seen("r", "gone"), seen("r", "unknown"))) == "consistent"


def test_revert_tests_the_suspect_that_it_names(folded: Fold) -> None:
    """A named suspect is tested even where another one blames the same knob."""
    _, body = SUSPECT
    named: Line = ("suspect_added", {**body, "id": "named", "claim": "512 slows it", "knob": None})
    revert = change("r", "512", "256", suspect="named")
    case = folded(SUSPECT, named, *revert, seen("r", "persists"), *convicted())
    states = {suspect.id: suspect.state for suspect in case.suspects}
    assert (states["named"], states["knob"]) == ("refuted", "open")


def test_symptom_that_came_back_while_reverted_has_not_gone(folded: Fold) -> None:
    """A symptom that `locate` reproduces later, with the knob as it was, was not cured."""
    assert state(folded(SUSPECT, *REVERT, seen("r", "gone"), *convicted())) == "refuted"
