"""What the jobs answer."""

from __future__ import annotations

from exonerate.core.waves.answers import WideSearch
from exonerate.core.waves.significance import Shuffling


def test_the_larger_p_value_counts() -> None:
    """Of two null hypotheses the one that is harder to reject."""
    lenient = Shuffling("cells", 10, True, 0.1, 0.1, 0.1)
    strict = Shuffling("targets", 10, True, 0.1, 0.3, 0.1)
    assert WideSearch(5, 4, (lenient, strict)).p_corrected == 0.3
