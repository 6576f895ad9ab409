"""Environment files as systemd reads them."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.knobs import effective_settings, effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

KNOB = Knob(name="KNOB", service="s", file="f", form="environment-file")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("KNOB=5", "5"),
        ("  KNOB = 5  ", "5"),
        ("KNOB=a b ", "a b"),
        ("KNOB='a b ' ", "a b "),
        ('KNOB="a \\"b\\" \\x"', 'a "b" \\x'),
        ("KNOB=a\\\nb", "ab"),
        ("KNOB=$HOME", "$HOME"),
        ("KNOB='a'\"b\"", "ab"),
        ("KNOB=a'b'", "a'b'"),
        ("KNOB=5\nKNOB=6", "6"),
        ("KNOB=5\n#KNOB=6\n;KNOB=7", "5"),
        ("export KNOB=5", None),
        ("KNOB", None),
        ("KNOB=", ""),
        ("KNOB=5\r\nB=1", "5"),
    ],
)
def test_values_follow_the_rules_of_systemd(source: str, value: str | None) -> None:
    """Quotes, joined lines, comments, later duplicates and names that systemd passes over."""
    assert effective_value(source.encode(), KNOB) == value


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("A=1\r\nKNOB='5'\r\nB=2", "6", "A=1\r\nKNOB='6'\r\nB=2"),
        ("A=1\nKNOB=5", None, "A=1"),
        ("KNOB=5\nA=1\n", None, "A=1\n"),
        ("A=1\n", "5", "A=1\nKNOB=5\n"),
        ("A=1", "5", "A=1\nKNOB=5"),
        ("", "5", "KNOB=5\n"),
        ("KNOB=4\nKNOB=5\n", "6", "KNOB=4\nKNOB=6\n"),
        ('KNOB="5" \n', 'a"$', 'KNOB="a\\"\\$" \n'),
    ],
)
def test_edits_keep_quotes_and_line_ends(before: str, value: str | None, after: str) -> None:
    """The line that counts changes; a missing final newline stays missing."""
    assert with_value(before.encode(), KNOB, value) == after.encode()


def test_taking_out_one_of_two_lines_is_refused() -> None:
    """The earlier line would take over, so nothing would be taken out."""
    with pytest.raises(UnprovableSetting, match="no single edit"):
        with_value(b"KNOB=4\nKNOB=5\n", KNOB, None)


def test_a_comment_that_may_swallow_the_next_line_is_refused() -> None:
    """Versions of systemd differ on a comment that ends in a backslash."""
    with pytest.raises(UnprovableSetting, match="backslash"):
        effective_settings(b"# note \\\nKNOB=5\n", "environment-file")


def test_an_open_quote_is_refused() -> None:
    """A quote that is never closed would swallow the rest of the file."""
    with pytest.raises(UnprovableSetting, match="not closed"):
        effective_value(b"KNOB='5\n", KNOB)
