"""The reasons of verdicts, in words."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.core.stats.stopping import FIXED
from exonerate.core.stats.verdicts import NAMES, judge
from exonerate.core.stats.wording import percent, why_of

QUIET = np.array([0.001, -0.001, 0.0005, -0.0004, 0.0002])


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        (QUIET, "equivalence interval [−0.1, +0.1] % lies within ±2 %"),
        (QUIET + 0.01, "the difference is real but immaterial"),
        (QUIET + 0.12, "leaves out 0 and the estimate passes 2 %, surely so"),
        (QUIET * 40, "holds 0, and being flat within ±2 % is not proven"),
        (QUIET + 0.0195, "leaves out 0, but a difference of 2 % is not proven"),
        (QUIET[:1], "1 block; no verdict is given below 3"),
        (np.full(5, 0.1), "every block repeats the same ratio exactly"),
    ],
)
def test_every_verdict_says_what_it_rests_on(differences: np.ndarray, words: str) -> None:
    """The reason names the interval and the margin that decided."""
    found = judge(differences[:, None], margin=0.02)
    verdict = NAMES[int(found.verdict[0])]
    assert words in why_of(found, verdict, margin=0.02, plan=FIXED, needed=None)


def test_needed_blocks_are_named() -> None:
    """An undecided reason says how many blocks would settle it, or that none would."""
    found = judge((QUIET * 40)[:, None], margin=0.02)
    text = why_of(found, "undecided", margin=0.02, plan=FIXED, needed=9)
    assert text.endswith("about 9 blocks would settle it if estimate and noise stay")
    assert "not even 100 blocks" in why_of(found, "undecided", margin=0.02, plan=FIXED, needed=None)


def test_percentages_carry_their_sign() -> None:
    """A gain has a plus and a loss a true minus sign."""
    assert (percent(0.128), percent(-0.004)) == ("+12.8 %", "−0.4 %")
