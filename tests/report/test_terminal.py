"""Rich renderables as text."""

from __future__ import annotations

from rich.text import Text

from exonerate.report.terminal import WIDTH_MAX, WIDTH_MIN, as_text


def test_markup_in_a_text_is_text() -> None:
    """Square brackets and colons in a text are not taken for styles or emoji."""
    assert as_text("[red]x[/red] :smile:") == "[red]x[/red] :smile:"


def test_width_is_kept_within_reason() -> None:
    """A width of nothing or of thousands is brought to one that can be read."""
    long = Text("word " * 200)
    assert max(map(len, as_text(long, width=1).split("\n"))) <= WIDTH_MIN
    assert max(map(len, as_text(long, width=9_999).split("\n"))) <= WIDTH_MAX


def test_no_trailing_spaces() -> None:
    """Lines end where their text ends, so that output can be compared."""
    assert all(line == line.rstrip() for line in as_text("a  ", "b ").split("\n"))
