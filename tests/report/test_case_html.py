"""The page of a case: whole, self-contained, and safe whatever its texts say."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from exonerate.core.case.model import Case
from exonerate.report.case_html import case_html
from exonerate.report.story import Story, tell

VOID = {"meta", "br", "wbr", "link", "img", "input", "hr"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer"),
    *("h1", "h2", "h3", "p", "div", "span", "b", "br", "wbr", "ul", "ol", "li", "dl", "dt", "dd"),
    *("table", "thead", "tbody", "tr", "th", "td", "code", "small"),
    *("svg", "rect", "line", "path", "circle", "text"),
}
PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</style><script>alert(1)</script>",
    "]]></title><iframe src=//evil.example>",
    "{{ 7 * 7 }}{% raw %}`<b onclick=x>`",
]


class Page(HTMLParser):
    """Collects the elements and attributes of a page and checks that elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element; it stays open until its end tag."""
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.elements.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the words outside of the style sheet."""
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def test_the_page_tells_the_whole_story(story: Story) -> None:
    """Every part of the story is on the page, in words a reader can search for."""
    words = " ".join("".join(Page(case_html(story)).words).split())
    for text in (
        "proxy edge: drops-requests",
        "confidence 99 %",
        "The split-K knob hangs decode",
        "take it out again",
        "round 4: no byte came back",
        "+11.9 %",
        "−4.0 % suspected",
        "0% leak",
        "refuted",
        "completes",
        "wedges",
        "10.6 %",
        "Not examined",
        "exonerate case verify --case c-2025-11",
    ):
        assert text in words, text


def test_the_page_is_well_formed_and_self_contained(story: Story) -> None:
    """Every element is closed, none is unknown, and nothing is fetched from anywhere."""
    page = Page(case_html(story))
    assert page.open == []
    assert set(page.elements) <= KNOWN
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "action", "srcset", "xlink:href"}
    assert "url(" not in case_html(story)
    assert "@import" not in case_html(story)


def test_the_page_follows_light_dark_phone_and_paper(story: Story) -> None:
    """The style sheet has rules for a dark screen, a phone and print."""
    page = case_html(story)
    for rule in ("prefers-color-scheme: dark", "max-width: 640px", "@media print"):
        assert rule in page


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_field_can_inject_markup(payload: str, tell_with: Callable[[str], Story]) -> None:
    """A payload in every text of the case is shown as text: no new element, no handler."""
    page = Page(case_html(tell_with(payload)))
    assert page.open == []
    assert set(page.elements) <= KNOWN
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.elements.count("style") == 1


def test_a_payload_is_shown_as_it_was_written(tell_with: Callable[[str], Story]) -> None:
    """The reader sees the text itself, not a mangled form of it."""
    words = "".join(Page(case_html(tell_with('<i>512 & "more"</i>'))).words)
    assert '<i>512 & "more"</i>' in words


def test_styles_hold_numbers_only(tell_with: Callable[[str], Story]) -> None:
    """No text of the case reaches a style attribute."""
    page = Page(case_html(tell_with("red;background:x")))
    styles = [value for name, value in page.attributes if name == "style" and value]
    assert all(re.fullmatch(r"width: [\d.]+(px|%)", style) for style in styles)


def test_an_empty_case_is_a_page_too(case: Case) -> None:
    """A case with nothing in it gives a page that says that nobody was located."""
    bare = Case(id="c", title="t", symptom=None, deployment=None, opened_at=case.opened_at)
    page = Page(case_html(tell(bare, now="2025-12-01T00:00:00Z")))
    assert page.open == []
    assert "has not been located yet" in "".join(page.words)
