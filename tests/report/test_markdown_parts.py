"""Pieces of Markdown from untrusted text."""

from __future__ import annotations

from markdown_it import MarkdownIt

from exonerate.report.markdown_parts import bullets, fenced, table


def test_a_code_block_cannot_be_left_from_inside() -> None:
    """Backticks in the text do not end the block."""
    html = MarkdownIt("commonmark").render(fenced("a\n````\n<b>x</b>"))
    assert html.count("<pre>") == 1
    assert "<b>" not in html


def test_numbers_stand_right() -> None:
    """The last columns are set to the right where they hold numbers."""
    assert table(["a", "b"], [("x", "1")], numbers=1).split("\n")[1] == "|---|---:|"


def test_bullets_are_one_line_each() -> None:
    """A line break in an item does not begin another item."""
    assert bullets(["a\n- b", "c"]) == "- a - b\n- c"
