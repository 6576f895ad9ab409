"""A case as Markdown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from exonerate.report.case_markdown import case_markdown
from exonerate.report.story import Story


def rendered(text: str) -> str:
    """The HTML that a Markdown reader with raw HTML allowed makes of it."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return str(reader.render(text))


def test_the_tables_are_tables(story: Story) -> None:
    """Evidence, comparison, document, cure and debt are tables to a Markdown reader."""
    html = rendered(case_markdown(story))
    assert html.count("<table>") == 10
    for fact in ("drops-requests", "+11.9 %", "0% leak", "wedges", "10.6 %"):
        assert fact in html


@pytest.mark.parametrize(
    "payload",
    [
        "<script>alert(1)</script>",
        "[click](javascript:alert)",
        "![x](http://evil.example/x.png)",
        "a | b\n| c |",
        "`<b>`<script>",
        "```\n<script>",
        "**bold** ~~gone~~ _x_",
    ],
)
def test_no_text_becomes_markup(payload: str, tell_with: Callable[[str], Story]) -> None:
    """HTML, links, images, emphasis and pipes in any text stay text."""
    html = rendered(case_markdown(tell_with(payload)))
    for mark in ("<script", "<img", "<a ", "<b>", "<em>", "<strong>b", "<s>"):
        assert mark not in html


def test_tables_keep_their_columns(tell_with: Callable[[str], Story]) -> None:
    """A pipe in a text does not add a column."""
    plain = rendered(case_markdown(tell_with("a b c d"))).count("<td")
    piped = rendered(case_markdown(tell_with("a | b `c | d`"))).count("<td")
    assert piped == plain
