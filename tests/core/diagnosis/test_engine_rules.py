"""Engines whose text goes wrong: in a crowd, beyond a length, or never by any fault of theirs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.world import (
    OK,
    PATH,
    Answer,
    Asked,
    Rule,
    World,
    judgement_after,
    locate_in,
)

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.catalogue.registry import suspects_of
from exonerate.core.diagnosis.engine_rules import copies_prove, stranger_behind
from exonerate.core.diagnosis.facts import read_facts
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.posterior import rate
from exonerate.core.diagnosis.suspect import Observation

GARBAGE = "zqx ## vvv 0x0 lkj @@ qqq wrp"


def said(asked: Asked, text: str = "rain falls on the old bridge at night") -> Answer:
    """An obedient answer to a probe."""
    return Answer(text=f"{asked.code_word} {text}")


def world(rule: Rule, *, concurrency: int = 1) -> World:
    """The usual path, with so many sessions of the victim at once."""
    made = World(rule)
    victim = replace(made.deployment.victim, concurrency=concurrency, rounds=3, growth_tokens=50)
    made.deployment = replace(made.deployment, victim=victim)
    return made


def located(world: World, symptom: str = "corrupted") -> Any:
    """The answer for a victim with that complaint."""
    return locate_in(world, symptom=symptom)


def only_fault(answer: Any) -> Mapping[str, Any]:
    """The one fault of an answer."""
    (fault,) = answer["faults"]
    return dict(fault)


@pytest.mark.parametrize("concurrency", [4, 6])
def test_text_that_makes_no_sense_in_a_crowd_is_the_engine_s_kernel(concurrency: int) -> None:
    """The batch is named on both sides of where it begins."""
    answer = located(
        world(
            lambda a: Answer(text=GARBAGE) if a.together >= 4 else said(a), concurrency=concurrency
        )
    )
    fault = only_fault(answer)
    assert (fault["class"], fault["hops"]) == ("kernel-corruption", ["engine"])
    assert fault["details"]["batch"] == {"clean_up_to": 3, "corrupt_from": 4}


def test_text_that_makes_no_sense_beyond_a_length_names_the_length() -> None:
    """A crowd changes nothing, fewer tokens in as many bytes do; the cliff lies in the details."""
    answer = located(
        world(lambda a: Answer(text="the " * 20) if a.prompt_tokens > 260 else said(a))
    )
    fault = only_fault(answer)
    assert (fault["class"], fault["hops"]) == ("long-context-corruption", ["engine"])
    edge = fault["details"]["prompt_tokens"]
    assert edge["clean_up_to"] <= 260 < edge["corrupt_from"] <= edge["clean_up_to"] + 10


def test_words_of_another_request_are_a_mix_up_and_not_a_wrong_kernel() -> None:
    """The code word of another probe stands in the answer, when several run."""

    def rule(asked: Asked) -> Answer:
        if asked.together < 2:
            return said(asked)
        prompt = replace(asked.session.request.prompt, salt="somebody else")
        request = replace(asked.session.request, prompt=prompt)
        other = replace(asked, session=replace(asked.session, request=request))
        return said(asked, f"rain falls {other.code_word} on the bridge")

    fault = only_fault(located(world(rule, concurrency=3)))
    assert (fault["class"], fault["hops"]) == ("kv-mixup", ["engine"])


def test_wording_that_changes_with_the_batch_is_nobody_s_fault() -> None:
    """The texts begin alike and part later, both sensible."""
    answer = located(
        world(
            lambda a: (
                said(a, "rain falls on the hill and the river grows wide")
                if a.together > 1
                else said(a, "rain falls on the old bridge and the people wait")
            ),
            concurrency=4,
        )
    )
    assert answer["outcome"] == "no_fault"
    assert answer["explanation"]["class"] == "benign-nondeterminism"


def test_texts_with_nothing_in_common_are_not_excused() -> None:
    """A crowd that gets other words from the first on is not rounding; nobody is named either."""
    answer = located(
        world(
            lambda a: Answer(text="one thing " * 6 if a.together > 1 else "two sides " * 6),
            concurrency=4,
        )
    )
    assert answer["outcome"] == "insufficient_evidence"


def test_a_model_that_repeats_itself_without_being_asked_is_not_called_corrupt() -> None:
    """A loop is a fault only where every other answer was obedient."""
    answer = located(
        world(lambda a: Answer(text="the " * 20 if a.round == 3 else "a quiet road " * 4))
    )
    assert answer["faults"] == []


def test_a_victim_without_doubts_about_its_text_is_not_tried_in_a_crowd() -> None:
    """No load is made that nobody asked for."""
    lanes = {
        symptom: {
            bar["lane"].partition("@")[0]
            for bar in located(world(said, concurrency=4), symptom)["timeline"]
        }
        for symptom in ("hang", "corrupted")
    }
    assert "load varied" in lanes["corrupted"]
    assert "load varied" not in lanes["hang"]


@pytest.mark.parametrize("symptom", ["corrupted", "hang", "slow"])
def test_a_victim_that_is_alone_is_never_tried_in_a_crowd(symptom: str) -> None:
    """The batch may be wrong from two on: that is not ours to try, and the answer says so."""
    names: set[str] = set()

    def rule(asked: Asked) -> Answer:
        names.add(asked.session.name)
        return said(asked, "one thing" if asked.hop == "edge" else "two sides of it")

    answer = located(world(rule), symptom)
    assert not [name for name in names if name.startswith("crowd@") or "load" in name]
    assert any("`concurrency`" in line for line in answer["not_examined"])


SENSIBLE = st.sampled_from(
    [
        "rain falls on the old bridge at night",
        "rain falls on the hill and the river grows",
        "one day the people of the town woke up late",
        "the the the the the the the the the",
        "1. stone 2. water 3. wood 4. paper 5. glass",
        "я не знаю, что сказать о дожде сегодня",
    ]
)


@settings(max_examples=40, deadline=None)
@given(st.lists(SENSIBLE, min_size=1, max_size=7), st.booleans(), st.integers(1, 4))
def test_a_model_that_says_what_it_likes_is_never_a_fault(
    texts: list[str], by_crowd: bool, concurrency: int
) -> None:
    """Sensible texts in any order, loops among them, code words ignored: nobody is accused."""

    def rule(asked: Asked) -> Answer:
        place = asked.together if by_crowd else asked.count
        return Answer(text=texts[place % len(texts)])

    answer = located(world(rule, concurrency=concurrency))
    assert answer["faults"] == [], answer["paragraph"]


@pytest.mark.parametrize(
    ("through", "face", "left", "stranger"),
    [
        ("burst", "elsewhere", None, True),
        ("burst", "seen", None, False),
        ("hang", "elsewhere", "no", False),
        ("refused", "elsewhere", "no", True),
    ],
)
def test_a_box_that_sends_to_somebody_unnamed_is_blamed_only_for_what_it_kept(
    through: str, face: str, left: str | None, stranger: bool
) -> None:
    """The bypass leaves the stranger out as well; a request that never left tells of the box."""
    deployment = World(said).deployment
    seen = [
        Observation("edge", "through", through, 3, 3),
        Observation("edge", "beyond", "ok", 6, 6),
        Observation("edge", "upstream-face", face, 3, 3),
        Observation("edge", "ended-by", "us" if through == "hang" else "hop", 3, 3),
        *([Observation("edge", "request-left", left, 3, 3)] if left else []),
    ]
    ratings, none = rate(suspects_of(deployment), seen)
    judgement = Judgement(read_facts([]), deployment, tuple(seen), tuple(ratings), none)
    assert judgement.top.suspect.hop == "edge"
    assert stranger_behind(judgement) is stranger


@pytest.mark.parametrize(
    ("role", "copies", "behind", "proven"),
    [
        ("engine", "several", "more", True),
        ("engine", "one", "more", False),
        ("engine", "several", "as-many", False),
        ("decode", "several", "more", False),
    ],
)
def test_copies_of_our_own_requests_prove_who_made_them(
    role: str, copies: str, behind: str, proven: bool
) -> None:
    """Seen on the wire three times, and waiting together; a pair of engines gets two by right."""
    path = PATH.replace('role = "engine"', f'role = "{role}"')
    deployment = parse_deployment(path, path="test", folder="/")
    seen = (
        Observation("inner", "through", "slow", 2, 2),
        Observation("inner", "request-copies", copies, 3, 4),
        Observation("inner", "requests-behind", behind, 9, 9),
    )
    suspects = [s for s in suspects_of(deployment) if s.hop == "inner"]
    ratings, none = rate(suspects, seen)
    first = [r for r in ratings if r.suspect.suspect_class.slug == "retry-multiplication"]
    judgement = Judgement(
        judgement_after(World(lambda _: OK)).facts, deployment, seen, (*first,), none
    )
    assert copies_prove(judgement) is proven
