"""One input with what to ask of it, and what the asking showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from exonerate.core.exactness import Property
from exonerate.kernels.attention_input import AttentionInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """An input, the split counts to run it at, and the properties to judge by it.

    Args:
        condition: name of the entry of the catalogue
        checks: what is judged; ANSWERS and WRITES_WITHIN_OUTPUT always are
        before: an input that the target is given first, so that what it keeps can mislead it
        exact_scores: every score is the same number whatever the order of its sum, so rounding of
            scores excuses no error
        optional: an exception means that the target does not do this
        noted_only: what goes wrong is told and breaks no promise (arguments that make no sense)
        must_refuse: any answer is wrong (shapes that do not fit)
        repeats: how often a call is repeated to see whether its bits move
        curve: its error counts in the table of error by number of splits
    """

    condition: str
    given: AttentionInput
    splits: Sequence[int]
    checks: frozenset[Property]
    before: AttentionInput | None = None
    exact_scores: bool = False
    optional: bool = False
    noted_only: bool = False
    must_refuse: bool = False
    repeats: int = 1
    curve: bool = False
    with_out: bool = True

    def narrowed(self, check: Property, splits: int) -> Trial:
        """The same input judged by one property at one number of splits, and at one for a base."""
        return replace(self, splits=tuple(sorted({1, splits})), checks=frozenset({check}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One property that one answer does not have; `rows` are the sequences that show it."""

    property: Property
    splits: int
    what: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How far the answers at one number of splits are from float64 and from one split.

    Args:
        error_max: largest absolute difference to float64
        error_squares: sum of squared differences, for the root mean square over trials
        of_bound: largest ratio of an error to its bound
        changed: elements that differ from the answer at one split
        ulp_max: largest such difference, in units of the last place at the size of the terms that
            were added, in the format of the partials or of the output, whichever is coarser
    """

    condition: str
    dtype: str
    splits: int
    error_max: float
    error_squares: float
    of_bound: float
    elements: int
    changed: int
    ulp_max: float


@dataclass(slots=True)
class Judgement:
    """What one trial showed."""

    violations: list[Violation] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    examined: set[Property] = field(default_factory=set)
    conventions: dict[str, set[str]] = field(default_factory=dict)
    refused: str = ""
    calls: int = 0
    raised: int = 0
    hangs: int = 0
    deaths: int = 0

    def add(self, check: Property, splits: int, what: str, rows: Sequence[int] = ()) -> None:
        """Note a violation."""
        self.violations.append(
            Violation(property=check, splits=splits, what=what, rows=tuple(rows))
        )

    def convention(self, name: str, value: str) -> None:
        """Note a habit of the target that is neither right nor wrong."""
        self.conventions.setdefault(name, set()).add(value)
