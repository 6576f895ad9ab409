"""Whether an answer makes sense, from what was kept of it."""

from dataclasses import replace

from exonerate.core.diagnosis.sense import FOREIGN, GARBLED, loops, with_text_defects
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange
from exonerate.core.wire.text_facts import text_facts
from exonerate.core.workload.prompts import own_code_word

PROMPT = PromptRecipe(seed=1, prompt_tokens=40, salt="a", code_word=True)
OWN = own_code_word(PROMPT)
OTHER = own_code_word(replace(PROMPT, salt="b"))


def plan(*, body_ref: str | None = None) -> ProbeSession:
    """A probe that asks for its code word."""
    request = RequestRecipe(path="/v1/x", model="m", prompt=PROMPT, max_tokens=9, body_ref=body_ref)
    return ProbeSession(
        name="p", hop="e", url="http://e", request=request, rounds=1, connection="reuse",
        think_s=0.0, deadline_s=1.0,
    )  # fmt: skip


def answer(text: str) -> Exchange:
    """An exchange whose answer said this."""
    told = text_facts(text)
    connection = ConnectionFacts(
        ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=None
    )
    content = ContentFacts(
        words=told.words, odd_words=told.odd_words, longest_run=told.longest_run,
        code_words=told.code_words,
    )  # fmt: skip
    return Exchange(
        session="p", hop="e", round=1, connection=connection, request_bytes=1, begun_ns=0,
        content=content,
    )  # fmt: skip


def defects(text: str, *, body_ref: str | None = None) -> tuple[str, ...]:
    """What is wrong with a text."""
    return with_text_defects(answer(text), plan(body_ref=body_ref)).content.defects


def test_the_code_word_of_another_probe_makes_a_text_foreign() -> None:
    """Its own never does."""
    assert defects(f"{OWN} and so on") == ()
    assert defects(f"{OWN} and {OTHER}") == (FOREIGN,)


def test_a_text_without_words_is_garbled_and_the_victim_s_own_is_not_judged() -> None:
    """Code and tables look odd and are right."""
    assert defects("zqx ## vvv 0x0 lkj @@ qqq") == (GARBLED,)
    assert defects("zqx ## vvv 0x0 lkj @@ qqq", body_ref="body.json") == ()


def test_a_loop_is_told_only_where_every_other_answer_was_obedient() -> None:
    """One sensible answer without its code word, and loops may be the model's habit."""
    obedient = [answer(f"{OWN} rain falls on the hill tonight")] * 3
    looping = answer("the " * 12)
    assert loops([*obedient, looping]) == {3}
    assert loops([*obedient, looping, answer("rain falls on the hill so softly")]) == frozenset()
    assert loops([looping, looping, looping]) == frozenset()
