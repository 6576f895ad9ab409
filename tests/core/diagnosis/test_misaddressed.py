"""A hop's address that takes no completions: nobody is accused of it, and nobody cleared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.diagnosis.test_logged import PLAN, ROUND
from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in

from exonerate.core.case.answers import objects_in
from exonerate.core.diagnosis.facts import Round, Session
from exonerate.core.diagnosis.misaddressed import misaddressed
from exonerate.core.wire.exchange import ContentFacts

PAGE = (("content-type", "text/html; charset=utf-8"),)
JSON = (("content-type", "application/json"),)
INSTEAD = {
    "redirects (301)": Answer(status=301),
    "redirects (308 to https://gate.example)": Answer(
        status=308, headers=(("location", "https://gate.example/login?token=secret"),)
    ),
    "answers 404": Answer(status=404),
    "answers 405": Answer(status=405, headers=PAGE),
    "answers 200 with text/html": Answer(
        unreadable=True, lost_ending=True, headers=PAGE, defects=("invalid-json", "html-body")
    ),
    "answers 200 of no content type": Answer(unreadable=True, lost_ending=True),
    "answers 200 with JSON that is no completion": Answer(unreadable=True, headers=JSON),
}


def located(at: str, answer: Answer) -> Any:
    """The verdict where one hop's address always answers so."""
    return locate_in(World(lambda a: answer if a.hop == at else OK), symptom="hang")


@pytest.mark.parametrize("instead", INSTEAD)
def test_a_wrong_address_of_the_first_hop_accuses_nobody(instead: str) -> None:
    """Not even "nobody is at fault" is said; what stands there is, and what to check."""
    answer = located("edge", INSTEAD[instead])
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    assert f"`edge`: {instead}, always: it was not examined" in answer["not_examined"]
    assert answer["next"][0].startswith(f"`edge` {instead}, always: check its `url`")
    assert "secret" not in str(answer["next"])


@pytest.mark.parametrize("instead", INSTEAD)
def test_a_wrong_address_further_in_leaves_the_path_judged(instead: str) -> None:
    """What enters before it went well; only what was asked directly is missing."""
    answer = located("engine", INSTEAD[instead])
    assert (answer["outcome"], answer["faults"]) == ("no_fault", [])
    assert {entry.get("hop") for entry in objects_in(answer, "cleared")} == {"edge", "inner"}
    assert f"`engine`: {instead}, always: it was not examined" in answer["not_examined"]


def test_a_page_is_no_bypass() -> None:
    """A health page past a box answers at once, and shows nothing of the engine's own requests."""
    page = INSTEAD["answers 200 with JSON that is no completion"]

    def rule(asked: Asked) -> Answer:
        if asked.hop != "edge":
            return page
        return SILENT if asked.on_connection == 3 else OK

    answer = locate_in(World(rule), symptom="hang")
    assert answer["faults"] == []


def test_a_hop_that_answers_so_now_and_then_is_judged() -> None:
    """What comes instead of an answer is then its own doing."""
    page = INSTEAD["answers 200 with text/html"]
    world = World(lambda a: page if a.hop == "edge" and a.on_connection == 2 else OK)
    answer: Any = locate_in(world, symptom="corrupted")
    assert [fault["hops"] for fault in answer["faults"]] in ([["edge"]], [["edge", "inner"]])


@pytest.mark.parametrize(("path", "page"), [("/v1/messages", True), ("/generate", False)])
def test_an_endpoint_of_another_api_says_it_in_its_own_words(path: str, page: bool) -> None:
    """SGLang's `/generate` has no choices, and what it says is an answer."""
    content = ContentFacts(done_seen=True)
    exchange = replace(ROUND.exchange, status=200, body_complete=True, content=content)
    exchange = replace(exchange, headers=dict(JSON), given_up="no")
    plan = replace(PLAN, hop="edge", request=replace(PLAN.request, path=path))
    session = Session("s", plan, (Round(exchange, "ok"),), None)
    assert (misaddressed([session], "edge") is not None) == page


@pytest.mark.parametrize("status", [400, 403, 422])
def test_who_refuses_all_that_we_ask_may_want_another_key_or_model(status: int) -> None:
    """Nothing that it lets through shows that size, content or framing is what it minds."""
    answer: Any = locate_in(
        World(lambda a: Answer(status=status) if a.hop == "edge" else OK), symptom="errors"
    )
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    assert answer["next"][0].startswith(f"`edge` answers {status} to all that it was asked")


@pytest.mark.parametrize("status", [400, 403, 413])
def test_who_refuses_what_is_large_is_named(status: int) -> None:
    """A smaller request passes: the key and the model were good."""
    answer: Any = locate_in(
        World(lambda a: Answer(status=status) if a.hop == "edge" and a.body_bytes > 2000 else OK),
        symptom="errors",
    )
    assert [(f["class"], f["hops"][0]) for f in answer["faults"]] == [("request-refused", "edge")]
