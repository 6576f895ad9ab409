"""The terminal report of a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.waves.answers import PlanAnswer, PlanRequest
from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.explanations import RULES
from exonerate.core.waves.gpus import gpu_named
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.core.waves.occupancy import KernelResources
from exonerate.jobs.splitk_plan import splitk_plan
from exonerate.report.waves import grid, percent, plan_text, rules_text


def planned(request: PlanRequest) -> PlanAnswer:
    """A plan that shows nobody its progress."""
    return splitk_plan(request, lambda _what, _fraction: None)


REQUEST = PlanRequest(
    device_of(gpu_named("RTX PRO 6000 Blackwell"), Residency()),
    "target_ctas:ceil",
    Workload(2, parse_lengths("8192"), 64, 1 << 20),
    Costs(per_cta=0.02),
    None,
    None,
    (48, 64, 80, 96),
    (256, 512),
)


@pytest.fixture(name="answer", scope="module")
def _answer() -> PlanAnswer:
    return planned(REQUEST)


def test_a_plan_names_cliffs_and_what_it_assumed(answer: PlanAnswer) -> None:
    """The two cliffs of 256, the overhead, the source of the SM count, and that it is a model."""
    text = plan_text(answer)
    assert "target 256: C 94 to 95, attention +50.0 % (376 to 380 CTAs, 2 to 3 waves)" in text
    assert "assumed: 2 % of a request per CTA" in text
    assert "white paper" in text
    assert "nothing was measured" in text
    assert "not batch-invariant" in text


def test_a_plan_without_cliffs_says_so() -> None:
    """Silence would leave the reader wondering."""
    text = plan_text(planned(replace(REQUEST, concurrencies=(64, 65))))
    assert "cliffs: none of 5 % or more" in text


def test_many_cliffs_are_cut_short() -> None:
    """A long range fills no screen."""
    wide = replace(
        REQUEST, concurrencies=(1, 260), targets=(256, 512, 1024, 2048), rule="num_splits:8"
    )
    assert "more (`--json` has all)" in plan_text(planned(wide))


def test_occupancy_and_floor_are_shown_where_they_are_known() -> None:
    """A compiled kernel and the bytes of a token were given."""
    device = device_of(
        gpu_named("RTX PRO 6000 Blackwell"), Residency(kernel=KernelResources(208, 22_528, 128))
    )
    text = plan_text(planned(replace(REQUEST, device=device, bytes_per_token=584.0)))
    assert "occupancy: 2 CTAs per SM, limited by registers" in text
    assert "bandwidth floor of attention per layer" in text


def test_one_count_at_every_concurrency_is_no_price() -> None:
    """A single concurrency has a single best count."""
    text = plan_text(planned(replace(REQUEST, concurrencies=(64,), rule="vllm_triton_mla")))
    assert "price: the count is the same, 4, at every concurrency planned." in text


def test_ragged_batches_show_a_span_of_splits() -> None:
    """Lengths differ, so do the counts."""
    load = replace(REQUEST.workload, lengths=parse_lengths("uniform:64-9000"))
    text = plan_text(planned(replace(REQUEST, workload=load, rule="sglang_deterministic")))
    assert "1-35" in text


def test_every_rule_is_listed_with_its_source() -> None:
    """`--rules` is the table of the rules."""
    text = rules_text(RULES)
    assert all(rule.name in text and rule.source in text for rule in RULES)
    assert "split_size:N" in text


def test_a_grid_is_plain_text() -> None:
    """Columns aligned to the right, no control characters, no trailing blanks."""
    assert grid(("a", "bb"), [("1", "2"), ("10", "20")]) == " a  bb\n 1   2\n10  20"


def test_percentages_carry_their_sign() -> None:
    """A rise and a fall cannot be mixed up."""
    assert [percent(one) for one in (0.5, -0.042, -0.0)] == ["+50.0 %", "-4.2 %", "+0.0 %"]
