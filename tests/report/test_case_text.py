"""A case in the terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from exonerate.core.case.model import Case
from exonerate.report.case_text import case_text
from exonerate.report.story import Story, tell


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_story_fits_the_terminal(story: Story, width: int) -> None:
    """Every line fits, at any width, and the decisive facts are there."""
    text = case_text(story, width=width)
    assert all(len(line) <= width for line in text.split("\n"))
    joined = " ".join(text.split())
    for fact in ("drops-requests", "refuted", "grade D", "completes", "wedges", "10.6 %"):
        assert fact in joined


def test_colour_only_where_it_is_wanted(story: Story) -> None:
    """Escape sequences appear with colour and never without."""
    assert "\x1b[" in case_text(story, colour=True)
    assert "\x1b" not in case_text(story)


def test_texts_cannot_steer_the_terminal(tell_with: Callable[[str], Story]) -> None:
    """Escape sequences and markup in any text are not acted on."""
    text = case_text(tell_with("\x1b[2J\x9b31m[red]gone[/red]\u202e"))
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert "[red]gone" in "".join(text.split())


def test_an_empty_case_says_so(case: Case) -> None:
    """A case without a verdict says that nothing was located yet."""
    bare = Case(id="c", title="t", symptom="hang", deployment=None, opened_at=case.opened_at)
    assert "has not been located yet" in case_text(tell(bare, now="2025-12-01T00:00:00Z"))
