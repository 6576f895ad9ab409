"""The restore brief as people read it."""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.case.prices import Price
from exonerate.core.change.brief import BriefClaim, Clearance, RestoreBrief
from exonerate.core.change.one_setting import OneSettingProof
from exonerate.core.change.plan import ChangePlan
from exonerate.report.restore_brief import brief_markdown, brief_text

PLAN = ChangePlan(
    id="restore-1",
    type="restore",
    knob="KNOB",
    service="engine",
    form="export",
    file="/srv/serve.sh",
    was="256",
    to="512",
    file_was=None,
    file_to="512",
    base_sha256="a",
    target_sha256="b",
    restart=True,
    ready_timeout_s=60.0,
    smoke=None,
    purpose="gives back",
    prediction="",
    confounds=(),
    reason="",
    undoes="revert-1",
)
PRICE = Price(
    knob="KNOB",
    live="256",
    was="512",
    cell=64,
    cell_kind="concurrency",
    metric="output_tokens_per_s",
    loss=1 - 719.5 / 811.7,
    ci=None,
    grade="D",
    source="plan.md:9",
    group="g",
    at="t",
)
BRIEF = RestoreBrief(
    plan=PLAN,
    proof=OneSettingProof(
        knob="KNOB",
        live=None,
        target="512",
        lines_removed=(),
        lines_added=("export KNOB=512\n",),
        diff="@@ -1 +1,2 @@\n #!/bin/sh\n+  export KNOB=512\n",
    ),
    hypothesis="512 hangs it",
    state="refuted",
    state_why="the proxy was convicted",
    prices=(PRICE,),
    price_class="priced",
    claims=(
        BriefClaim(text="0% leak", status="claimed", source="plan.md:15"),
        BriefClaim(text="the output is the same", status="unknown"),
    ),
    statements=("ann: the proxy *acted* up",),
    clearance=Clearance(verdict="verdict-1", why="the engine was idle"),
    assumptions=("the price rests on one run per cell",),
    recommendation="restore",
    recommendation_why="the suspicion is refuted",
)


def test_a_terminal_shows_everything_a_reader_decides_by() -> None:
    """Price with grade, claims by status, the difference, clearance, assumptions, advice."""
    text = brief_text(BRIEF, width=100, colour=False)
    for part in (
        *("KNOB  256 → 512", "+12.8 %", "D", "plan.md:9", "no interval"),
        *("claimed", "0% leak", "unknown", "+  export KNOB=512", "verdict-1: the engine was idle"),
        *("ann: the proxy *acted* up", "- the price rests on one run", "restore it"),
    ):
        assert part in text
    assert "\x1b" not in text


def test_an_unknown_price_is_not_zero() -> None:
    """It is said to be unknown, in both forms."""
    unpriced = replace(BRIEF, prices=(), price_class="unpriced", clearance=None)
    text = brief_text(unpriced, width=100, colour=False)
    assert "unknown: no graded evidence (not zero)" in text
    assert "nothing yet" in text
    assert "Unknown: no graded evidence (not zero)." in brief_markdown(unpriced)


def test_markdown_shows_foreign_text_as_it_is() -> None:
    """Nothing that a document or a person wrote becomes markup."""
    markdown = brief_markdown(BRIEF)
    assert "| 64 | +12.8 % | no interval | D | plan.md:9 |" in markdown
    assert "the proxy \\*acted\\* up" in markdown
    assert "```diff" in markdown
    assert "**Recommendation: restore it.**" in markdown


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    """A line with an escape sequence is shown without it."""
    proof = replace(BRIEF.proof, diff="+export KNOB=\x1b[31m512\n")
    text = brief_text(replace(BRIEF, proof=proof), width=100, colour=False)
    assert "+export KNOB=[31m512" in text
    assert "\x1b" not in text
