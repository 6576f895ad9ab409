"""What the text round a table says, and the claims it makes."""

from __future__ import annotations

import pytest

from exonerate.core.documents.facts import claims_in, facts_in
from exonerate.core.documents.model import FactKind
from exonerate.core.documents.table import Prose


def lines(*texts: str) -> list[Prose]:
    """Consecutive lines of text."""
    return [Prose(number, text) for number, text in enumerate(texts, start=1)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Host: gpu-7; driver 575.57.08", "host", "gpu-7"),
        ("on 8x RTX PRO 6000 Blackwell (sm_120)", "gpu", "8x RTX PRO 6000 Blackwell"),
        ("on 8x RTX PRO 6000 Blackwell (sm_120)", "gpu", "sm_120"),
        ("H100, driver 575.57.08", "driver", "575.57.08"),
        ("SGLang 0.5.9 was used", "engine", "SGLang 0.5.9"),
        ("with vLLM==0.11.0", "engine", "vLLM==0.11.0"),
        ("at commit 3af4a552", "commit", "3af4a552"),
        ("started with --max-num-seqs 64", "flag", "--max-num-seqs 64"),
        ("SGLANG_SM120_MMA_TARGET_CTAS=512 was set", "flag", "SGLANG_SM120_MMA_TARGET_CTAS=512"),
        ("measured 2026-11-02", "date", "2026-11-02"),
        ("n = 3 each", "runs", "3"),
        ("5 restarts per arm", "runs", "5 restarts"),
        ("a single run each", "runs", "1"),
        ("in ABAB order", "order", "interleaved"),
        ("first all 256, then all 512", "order", "sequential"),
        ("raw data in results/trials.csv", "file", "results/trials.csv"),
    ],
)
def test_facts(text: str, kind: FactKind, value: str) -> None:
    """A fact is taken as it is written, with its line."""
    found = [(fact.kind, fact.value, fact.line) for fact in facts_in(lines("", text))]
    assert (kind, value, 2) in found


def test_claims_are_claimed_and_not_defined() -> None:
    """Sentences about correctness are claims; a label before them is no part of them."""
    claims = claims_in(lines("Correctness: 0% leak. No low-C regression (C1 identical)."))
    assert [claim.text for claim in claims] == ["0% leak", "No low-C regression (C1 identical)"]
    assert not any(claim.defined for claim in claims)


def test_a_claim_is_defined_when_the_text_says_how() -> None:
    """A claim that says how it was measured, or whose word is explained, is defined."""
    (measured,) = claims_in(lines("Outputs identical, checked against 256 over 500 prompts."))
    (explained,) = claims_in(lines("0% leak.", "", "A leak means a KV page that stays allocated."))
    assert measured.defined
    assert explained.defined


def test_a_claim_over_two_lines_is_whole() -> None:
    """A sentence that was wrapped is one claim, on the line where it begins."""
    (claim,) = claims_in(
        lines("Speed is fine. The combine is mathematically", "exact for all inputs.")
    )
    assert claim.text == "The combine is mathematically exact for all inputs"
    assert claim.line == 1
