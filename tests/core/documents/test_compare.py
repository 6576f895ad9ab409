"""From tables to comparisons: arms, gains, dips, and what is refused."""

from __future__ import annotations

import math
import random

import pytest

from exonerate.core.documents.columns import NotUnderstood
from exonerate.core.documents.compare import coin_toss_sd, comparisons_of, dips
from exonerate.core.documents.markdown import parse_markdown
from exonerate.core.documents.model import Comparison


def read(text: str) -> tuple[Comparison, ...] | NotUnderstood:
    """The comparisons of the one table in a text."""
    (table,) = parse_markdown(text).tables
    return comparisons_of(table)


def only(text: str) -> Comparison:
    """The one comparison of the one table in a text."""
    found = read(text)
    assert not isinstance(found, NotUnderstood), found
    (comparison,) = found
    return comparison


def table(header: str, *rows: str) -> str:
    """A pipe table with that header and those rows."""
    width = header.count("|") - 1
    return "\n".join([header, "|" + "---|" * width, *rows])


@pytest.mark.parametrize(
    ("base", "candidate", "arms", "knob"),
    [
        ("Baseline (256)", "TARGET_CTAS=512", ("256", "512"), "TARGET_CTAS"),
        ("256", "512", ("256", "512"), None),
        ("256 tok/s", "512 tok/s", ("256", "512"), None),
        ("tokens/s (256)", "tokens/s (512)", ("256", "512"), None),
        ("baseline", "overlap on", ("baseline", "overlap on"), None),
        ("before (tok/s)", "after (tok/s)", ("before", "after"), None),
        ("--max-num-seqs=64", "--max-num-seqs=96", ("64", "96"), "max-num-seqs"),
    ],
)
def test_arms_are_named_by_their_value(
    base: str, candidate: str, arms: tuple[str, str], knob: str | None
) -> None:
    """An arm is called by the value in its header, or by its words where there is none."""
    comparison = only(table(f"| C | {base} | {candidate} |", "| 48 | 1.5 | 2.5 |"))
    assert comparison.arms == arms
    assert (comparison.knob or "").lstrip("-") == (knob or "")


def test_baseline_is_the_arm_that_says_so() -> None:
    """The column called baseline is the baseline wherever it stands."""
    comparison = only(table("| C | new (512) | old (256) |", "| 48 | 2.2 | 2.0 |"))
    assert comparison.arms == ("256", "512")
    assert comparison.cells[0].computed_gain == pytest.approx(0.1)


@pytest.mark.parametrize("header", ["Concurrency", "C", "batch size", "QPS", "并发", "bs"])
def test_loads_by_their_names(header: str) -> None:
    """Concurrency, batch and rate columns are known by the names people give them."""
    assert only(table(f"| {header} | 1 | 2 |", "| 48 | 1.5 | 2.5 |")).cells[0].cell == 48


def test_loads_by_their_cells() -> None:
    """`C48` in a cell names the concurrency without a header."""
    assert only(table("| | 1 | 2 |", "| C48 | 1.5 | 2.5 |")).cells[0].cell == 48


def test_arms_called_a_and_b() -> None:
    """Arms may be called A and B; neither is taken for a batch size."""
    assert only(table("| C | A | B |", "| 48 | 1.5 | 2.5 |")).arms == ("A", "B")


def test_batch_sizes_in_cells() -> None:
    """`bs=8` in the cells names the batch whatever the header is."""
    comparison = only(table("| Config | 256 | 512 |", "| bs=8 | 1.5 | 2.5 |"))
    assert (comparison.cell_kind, comparison.cells[0].cell) == ("batch", 8)


def test_gain_agrees_within_its_rounding() -> None:
    """A stated gain agrees when the values give it within what both were rounded to."""
    rows = ("| 64 | 719.5 | 811.7 | +12.8% |", "| 80 | 719.5 | 811.7 | +12.9% |")
    cells = only(table("| C | 256 | 512 | Gain |", *rows)).cells
    assert [cell.agrees for cell in cells] == [True, False]


def test_flat_in_words_is_not_a_gain() -> None:
    """`~flat` states no number, so nothing can agree or disagree with it."""
    cell = only(table("| C | 256 | 512 | Gain |", "| 48 | 684.7 | 680.6 | ~flat |")).cells[0]
    assert cell.stated is not None
    assert cell.stated.gain is None
    assert cell.agrees is None


@pytest.mark.parametrize("stated", ["1.128", "12.8", "92.2"])
def test_a_bare_gain_is_read_as_its_row_bears_out(stated: str) -> None:
    """A gain without a mark may be a ratio, percent or a difference; its values tell which."""
    row = f"| 64 | 719.5 | 811.7 | {stated} |"
    assert only(table("| C | 256 | 512 | 512 vs 256 |", row)).cells[0].agrees is True
    wrong = "| 64 | 719.5 | 811.7 | 14.9 |"
    assert only(table("| C | 256 | 512 | 512 vs 256 |", wrong)).cells[0].agrees is False


def test_improvement_of_a_latency_agrees() -> None:
    """A latency that falls by 10 % agrees with a stated improvement of 10 %."""
    text = table("| C | TTFT ms (a) | TTFT ms (b1) | Improvement |", "| 8 | 100 | 90 | +10% |")
    text = text.replace("(a)", "(1)").replace("(b1)", "(2)")
    assert only(text).cells[0].agrees is True


def test_each_candidate_has_its_own_gain() -> None:
    """With several candidates, a gain belongs to the arm it stands beside."""
    text = table(
        "| C | 256 | 512 | Gain | 1024 | Gain |", "| 8 | 100.0 | 110.0 | +10% | 120.0 | +20% |"
    )
    found = read(text)
    assert not isinstance(found, NotUnderstood)
    assert [(c.arms, c.cells[0].agrees) for c in found] == [
        (("256", "512"), True),
        (("256", "1024"), True),
    ]


def test_two_metrics_in_one_table() -> None:
    """Throughput and TTFT of the same arms become two comparisons."""
    text = table(
        "| C | 256 tok/s | 512 tok/s | 256 TTFT ms | 512 TTFT ms |", "| 8 | 1 | 2 | 3 | 4 |"
    )
    found = read(text)
    assert not isinstance(found, NotUnderstood)
    assert [comparison.metric for comparison in found] == ["output_tokens_per_s", "ttft_ms"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (table("| run | 256 | 512 |", "| x | 1 | 2 |"), "no column names a concurrency"),
        (table("| C | batch | 256 | 512 |", "| 1 | 8 | 1 | 2 |", "| 2 | 9 | 1 | 2 |"), "both"),
        (table("| C | tok/s | tok/s (512) |", "| 8 | 1 | 2 |"), "names no arm"),
        (table("| C | 512 | T=512 |", "| 8 | 1 | 2 |"), "same arm"),
        (table("| C | 256 | 512 |", "| 8 | 719,5 | 811,7 |"), "two ways"),
        (table("| C | in | 256 | 512 |", "| 8 | x | 1 | 2 |", "| 8 | y | 1 | 2 |"), "differ in"),
        (table("| C | TTFT ms | tok/s |", "| 8 | 1 | 2 |"), "different metrics"),
    ],
)
def test_ambiguous_tables_give_no_comparison(text: str, why: str) -> None:
    """A table that can be read in two ways is not compared, and the reason names the trouble."""
    found = read(text)
    assert isinstance(found, NotUnderstood)
    assert why in found.reason


def test_rows_of_one_arm_and_cell_are_repeats() -> None:
    """Repeated rows become one value with its mean, its spread and their number."""
    text = table("| C | arm | tok/s |", "| 8 | a | 10 |", "| 8 | a | 12 |", "| 8 | b | 20 |")
    cell = only(text).cells[0]
    assert cell.values["a"].number == 11
    assert cell.values["a"].runs == 2
    assert cell.values["a"].spread == pytest.approx(math.sqrt(2))


def test_other_measures_are_not_arms() -> None:
    """Accuracy, power or memory beside two arms is no third arm."""
    comparison = only(table("| C | 256 | 512 | GPU util |", "| 8 | 1.0 | 2.0 | 93 |"))
    assert comparison.arms == ("256", "512")


def test_the_founding_dip_is_suspected_and_gone_at_512() -> None:
    """96 below 80 at 256 is a suspected dip that 512 does not show."""
    base = {64.0: 719.5, 80.0: 833.0, 96.0: 799.3}
    new = {64.0: 811.7, 80.0: 842.7, 96.0: 844.6}
    (dip,) = dips("256", base, "512", new)
    assert dip.cells == (80, 96)
    assert dip.drop == pytest.approx(0.0405, abs=1e-4)
    assert dip.removed_by == "512"
    assert dips("512", new, "256", base) == ()


def test_coin_toss_noise_is_what_it_says() -> None:
    """At that noise two equal arms differ at least as much in about half of all pairs."""
    sd = coin_toss_sd(719.5, 811.7)
    rng = random.Random(7)
    threshold = math.log(811.7 / 719.5)
    draws = [abs(rng.gauss(0, sd) - rng.gauss(0, sd)) >= threshold for _ in range(20_000)]
    assert sum(draws) / len(draws) == pytest.approx(0.5, abs=0.02)
