"""Rules that choose the number of splits: `target_ctas` in three roundings, and the registry.

`target_ctas` is the rule that a knob of that name suggests: as many splits as bring the launch to
the target. Which way it rounds, and what a request's work unit is, is not published for the
kernel that this project began with; both are inputs here.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from exonerate.core.waves.partition import Batch, Launch, Partition, split_evenly
from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to choose splits.

    `knob` says what the target stands for in it; empty where the rule looks at no target.
    `invariance` says whether a request's result can depend on its batch-mates.
    """

    name: str
    knob: str
    invariance: str
    source: str
    cut: Callable[[Batch, Launch], Partition]

    @property
    def follows_target(self) -> bool:
        """Whether the target changes what the rule does."""
        return bool(self.knob)


BATCH_DEPENDENT = "split count depends on the batch: not batch-invariant"
COUNT_FIXED = "split count is fixed, chunk size follows the request's own length: batch-invariant"
SIZE_FIXED = "split size is fixed: batch-invariant"


def round_half_up(value: Fraction) -> int:
    """Nearest whole number, halves upwards, as C's `round` does for positive numbers."""
    return math.floor(value + Fraction(1, 2))


def target_ctas(
    rounding: Callable[[Fraction], int],
) -> Callable[[Batch, Launch], Partition]:
    """splits = rounding(target / CTAs before splitting), at least 1."""

    def cut(batch: Batch, launch: Launch) -> Partition:
        wanted = rounding(Fraction(launch.budget, batch.base))
        return same_count(batch, min(wanted, launch.splits_max))

    return cut


def same_count(batch: Batch, splits: int) -> Partition:
    """Every request in the same number of splits, at least 1."""
    return split_evenly(batch, [max(1, splits)] * len(batch.lengths))


def fixed_count(splits: int) -> Rule:
    """A rule that always makes this many splits."""
    return Rule(
        f"num_splits:{splits}",
        "",
        COUNT_FIXED,
        "given by the operator",
        lambda batch, _: same_count(batch, splits),
    )


def fixed_size(tokens: int) -> Rule:
    """A rule that makes splits of this many tokens, however many those are."""
    return Rule(
        f"split_size:{tokens}",
        "",
        SIZE_FIXED,
        "given by the operator",
        lambda batch, _: split_evenly(batch, [-(-length // tokens) for length in batch.lengths]),
    )


def _target(rounding: str, function: Callable[[Fraction], int]) -> Rule:
    return Rule(
        f"target_ctas:{rounding}",
        "CTAs that the launch should have",
        BATCH_DEPENDENT,
        "the knob's name; unpublished kernel, so rounding and work unit are hypotheses",
        target_ctas(function),
    )


TARGET_RULES: tuple[Rule, ...] = (
    _target("ceil", math.ceil),
    _target("floor", math.floor),
    _target("round", round_half_up),
)

_PARAMETRIC = {"num_splits": fixed_count, "split_size": fixed_size}
_PARAMETER_MAX = 1 << 20


def rule_named(name: str, known: tuple[Rule, ...]) -> Rule:
    """The rule of that name, or `num_splits:N` or `split_size:N`; raises ExonerateError."""
    for rule in known:
        if rule.name == name:
            return rule
    kind, _, number = name.partition(":")
    if kind in _PARAMETRIC:
        if number.isdecimal() and 1 <= int(number) <= _PARAMETER_MAX:
            return _PARAMETRIC[kind](int(number))
        raise ExonerateError(
            f"rule `{name}` needs a whole number from 1 to {_PARAMETER_MAX}",
            f"write `{kind}:8`",
        )
    names = [rule.name for rule in known]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    listed = ", ".join(f"`{one}`" for one in close or [*names, "num_splits:N", "split_size:N"])
    raise ExonerateError(
        f"there is no rule `{name}`", f"{'nearest' if close else 'rules'}: {listed}"
    )
