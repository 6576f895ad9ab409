"""The verdict on each property and the sentence that may be quoted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.exactness import (
    PROMISED_BY_DEFAULT,
    ErrorPoint,
    Finding,
    Proof,
    Property,
    proof_document,
    sentence,
)

POINT = ErrorPoint(
    dtype="fp32",
    splits=8,
    error_max=1e-7,
    error_rms=1e-8,
    of_bound=0.1,
    changed_share=0.25,
    ulp_max=2.0,
)
PROOF = Proof(
    target="engine:attend",
    level="default",
    seed=0,
    promised=PROMISED_BY_DEFAULT,
    trials={Property.DETERMINISTIC: 4, Property.SAME_CLASS: 9, Property.BATCH_INVARIANT: 2},
    violated={Property.BATCH_INVARIANT: 1},
    findings=(),
    error_by_splits=(replace(POINT, splits=1, changed_share=0.0, ulp_max=0.0), POINT),
    conventions={"lse_of_no_tokens": ["+inf"]},
    not_examined=("pages: takes no `page_table`",),
    dtypes=("fp32",),
    partial_dtype="fp32",
    calls=17,
    elapsed_s=0.5,
)
FINDING = Finding(
    property=Property.SAME_CLASS,
    condition="masked-split",
    broken=True,
    dtype="fp32",
    splits=2,
    what="finite at one split, NaN here",
    shape={"batch": 1},
)


def test_a_property_that_no_trial_reached_is_not_examined() -> None:
    """Silence is never taken for `holds`."""
    assert PROOF.verdict(Property.DETERMINISTIC) == "holds"
    assert PROOF.verdict(Property.BATCH_INVARIANT) == "broken"
    assert PROOF.verdict(Property.ACCURATE) == "not_examined"


def test_only_a_broken_promise_breaks_the_outcome() -> None:
    """What nobody promised is told and leaves the outcome alone."""
    assert proof_document(PROOF)["outcome"] == "holds"
    told = replace(PROOF, findings=(replace(FINDING, broken=False),))
    assert proof_document(told)["outcome"] == "holds"
    assert proof_document(replace(PROOF, findings=(FINDING,)))["outcome"] == "broken"


def test_the_sentence_says_what_moves_and_what_does_not() -> None:
    """It names determinism, the share that changes with the split count, mates, error and class."""
    said = sentence(PROOF)
    assert "mathematically" not in said
    for part in (
        "same bits every time for a fixed number of splits",
        "25.0% (fp32, 2 ulp)",
        "changes them with the batch mates",
        "within 10% of the error bound",
        "NaN and infinity in the same places",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"violated": {Property.DETERMINISTIC: 1}}, "did not give the same bits"),
        ({"violated": {Property.SAME_CLASS: 1}}, "changes finite answers to NaN"),
        ({"trials": {}}, "was not examined for determinism"),
        ({"error_by_splits": ()}, "has no measured error"),
        ({"violated": {Property.ACCURATE: 1}}, "leaves the error bound"),
    ],
)
def test_the_sentence_admits_what_is_wrong_or_unknown(change: dict[str, object], part: str) -> None:
    """Each failure, and each thing not examined, has its own words."""
    assert part in sentence(replace(PROOF, **change))  # type: ignore[arg-type]  # fields by name


def test_the_sentence_names_the_conditions_that_failed() -> None:
    """A reviewer reads where it fails without the report beside it."""
    proof = replace(PROOF, violated={Property.SAME_CLASS: 1}, findings=(FINDING, FINDING))
    assert "(conditions: masked-split)" in sentence(proof)


def test_a_nan_error_is_null_in_json() -> None:
    """JSON has no infinity."""
    proof = replace(PROOF, error_by_splits=(replace(POINT, error_max=float("inf")),))
    points = proof_document(proof)["error_by_splits"]
    assert isinstance(points, list)
    assert points[0]["error_max"] is None
