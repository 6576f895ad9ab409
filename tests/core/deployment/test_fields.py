"""What a key may hold: nothing goes into a request or a file name that does not belong there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.deployment.fields import SECTIONS, url_problem


def refused(section: str, key: str, value: object) -> bool:
    """Whether the deployment file may not say this."""
    return SECTIONS[section][0][key].check(value) is not None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000", "https://[::1]:8443/base", "http://b\u00fccher.example:80",
        "http://user:secret@proxy.example/v1?x=1",
    ],
)  # fmt: skip
def test_addresses_that_can_be_asked_are_taken(url: str) -> None:
    """IPv6, a base path and a name with letters beyond ASCII among them."""
    assert url_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://exa mple:9", "http://a..b:9", f"http://{'a' * 64}.com", "http://h:9/a b",
        "http://h:9/a\nb", "http://h/\u00e9", "http://h:99999", "http://[::1:9", "ftp://h", "h:1",
    ],
)  # fmt: skip
def test_addresses_that_nothing_can_be_sent_to_are_refused(url: str) -> None:
    """Before the first request, not in its middle."""
    assert url_problem(url) is not None


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("victim", "endpoint", "/a b"),
        ("victim", "endpoint", "/a\r\nx-evil: 1"),
        ("victim", "endpoint", "/\u00e9"),
        ("victim", "headers", {"x y": "1"}),
        ("victim", "headers", {"": "1"}),
        ("victim", "headers", {"x": "1\r\ny: 2"}),
        ("victim", "headers", {"x": "\u20ac"}),
        ("hop", "name", "\x1b[2J"),
        ("deployment", "model", "two\nlines"),
        ("service", "name", "../../etc/x"),
        ("service", "name", ".."),
    ],
)
def test_what_would_break_out_of_its_place_is_refused(
    section: str, key: str, value: object
) -> None:
    """Out of a request line, a header, a terminal line or the folder of logs."""
    assert refused(section, key, value)


@given(st.text())
def test_a_header_that_is_taken_is_one_line_of_bytes(value: str) -> None:
    """Whatever letters it has."""
    if not refused("victim", "headers", {"x": value}):
        line = f"x: {value}".encode("latin-1")
        assert b"\r" not in line
        assert b"\n" not in line
