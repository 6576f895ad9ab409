"""Classes from elsewhere stand beside the built-in ones."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, Answer, World, record, start_records

from exonerate.core.case.verdict import Verdict
from exonerate.core.diagnosis.catalogue.plugged import NOTHING_PLUGGED, PluggedClasses, problems_of
from exonerate.core.diagnosis.localiser import RULES, decide
from exonerate.core.diagnosis.suspect import SuspectClass
from exonerate.core.scene_json import event_to_json, scene_to_json

LIMIT = SuspectClass(
    slug="third-is-refused",
    layer="proxy",
    roles=("proxy",),
    prior=0.2,
    mechanism="refuses the third request of a connection",
    predicts={
        "through": frozenset({"refused"}),
        "beyond": frozenset({"ok"}),
        "fails-at": frozenset({"same-request"}),
        "fresh-session": frozenset({"ok"}),
        "fresh-flip": frozenset({"flips"}),
        "size-dependence": frozenset({"unrelated"}),
    },
)


def verdict(plugged: PluggedClasses) -> Verdict:
    """What is decided of a proxy that refuses the third request of a connection."""
    world = World(lambda a: Answer(status=429) if a.hop == "edge" and a.on_connection == 3 else OK)
    records = start_records(world)
    while not isinstance(decided := decide(records, plugged), Verdict):
        records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
        events = [event_to_json(event) for event in world.play(decided)]
        records.append(record(records, "scene_played", {"scene": decided.id, "events": events}))
    return decided


def test_a_foreign_class_is_rated_like_any_other_and_its_verdict_says_by_which_rules() -> None:
    """The rules of a verdict are named after every class that took part."""
    plugged = PluggedClasses((LIMIT,), ("acme-1",))
    found: Any = verdict(plugged)
    assert found.rules == f"{RULES}+acme-1"
    assert "third-is-refused" in {row["class"] for row in found.answer["suspects"]}
    assert verdict(NOTHING_PLUGGED).rules == RULES


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"slug": "drops-requests"}, "there already"),
        ({"slug": ""}, "no `slug`"),
        ({"layer": "moon"}, "`layer`"),
        ({"roles": ("client",)}, "`roles`"),
        ({"prior": 0.9}, "`prior`"),
        ({"total": True}, "`total`"),
        ({"predicts": {}}, "`through`"),
        ({"predicts": {**LIMIT.predicts, "mood": frozenset({"bad"})}}, "`mood`"),
        ({"predicts": {"through": frozenset()}}, "`through` can be"),
        ({"needs": ("mood",)}, "mood"),
    ],
)
def test_what_cannot_stand_beside_the_built_in_classes_is_said(
    changes: dict[str, Any], said: str | None
) -> None:
    """One sentence for each thing that is wrong; a sound class has none."""
    problems = problems_of(replace(LIMIT, **changes))
    assert problems == [] if said is None else said in "; ".join(problems)
