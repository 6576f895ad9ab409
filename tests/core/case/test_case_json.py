"""A folded case as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from exonerate.core.case.case_json import case_json, cases_json
from exonerate.core.case.model import Case
from exonerate.core.case.records import canonical_json

Fold = Callable[..., Case]


def test_case_is_json_with_everything_in_it(folded: Fold) -> None:
    """What `case show --json` prints holds suspects, evidence and interventions by their names."""
    case = folded(
        ("evidence_added", {"id": "e", "type": "document", "reading": {"sources": []}}),
        ("intervention_planned", {"id": "r", "type": "revert", "confounds": ["restart"]}),
        ("intervention_step", {"id": "r", "step": "swapped", "n": 1}),
    )
    answer = json.loads(canonical_json(case_json(case)))
    assert (answer["schema"], answer["open"], answer["unfinished"]) == (
        "exonerate.case/1",
        True,
        True,
    )
    assert answer["evidence"][0]["content"]["reading"] == {"sources": []}
    assert answer["interventions"][0]["steps"][0]["detail"] == {"n": 1}


def test_list_of_cases_names_what_is_unfinished(folded: Fold) -> None:
    """A reader of `case list --json` sees open intents and unplayed scenes without folding."""
    case = folded(
        ("intervention_planned", {"id": "r", "type": "revert"}),
        ("scene_planned", {"scene": {"id": "s1"}}, "run-1"),
    )
    (listed,) = json.loads(canonical_json(cases_json((case,))))["cases"]
    assert (listed["open_intents"], listed["unplayed_scenes"]) == (["r"], ["s1"])
