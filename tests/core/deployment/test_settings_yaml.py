"""Top-level scalars of a flat YAML file."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.knobs import effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

KNOB = Knob(name="tp-size", service="s", file="f", form="yaml")


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("tp-size: 4", "4"),
        ("tp-size: '4'  # four", "4"),
        ('"tp-size": "a#b"', "a#b"),
        ("tp-size: a#b # c", "a#b"),
        ("other: 1\nnested:\n  tp-size: 9\n", None),
        ("list:\n- tp-size: 9\ntp-size: 4\n", "4"),
        ("---\ntp-size: 4\r\nb: 1\r\n", "4"),
        ("tp-size:\nb: 1", ""),
    ],
)
def test_only_the_top_level_counts(content: str, value: str | None) -> None:
    """Nested keys of the same name are another setting."""
    assert effective_value(content.encode(), KNOB) == value


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("a: 1\ntp-size: 4 # four\n", "8", "a: 1\ntp-size: 8 # four\n"),
        ("tp-size: '4'\r\nb: 1\r\n", "8", "tp-size: '8'\r\nb: 1\r\n"),
        ("a: 1\ntp-size: 4", None, "a: 1"),
        ("a: 1", "4", "a: 1\ntp-size: 4"),
        ("tp-size:\n", "4", "tp-size: 4\n"),
        ("tp-size: 4\n", "a: b", "tp-size: 'a: b'\n"),
    ],
)
def test_edits_keep_comments_quotes_and_line_ends(
    before: str, value: str | None, after: str
) -> None:
    """Only the scalar changes."""
    assert with_value(before.encode(), KNOB, value) == after.encode()


@pytest.mark.parametrize(
    "content",
    [
        *("tp-size: 4\ntp-size: 8\n", "tp-size: *x\n", "tp-size: |\n  4\n", "<<: *base\n"),
        *("a: 1\n---\ntp-size: 4\n", "tp-size: [4]\n", "? tp-size\n: 4\n", 'tp-size: "\\x34"\n'),
        *("tp-size: 4\n  5\n", "tp-size: !!str 4\n"),
    ],
)
def test_what_is_not_flat_is_refused(content: str) -> None:
    """Anchors, merges, blocks, tags, duplicates and several documents."""
    with pytest.raises(UnprovableSetting):
        effective_value(content.encode(), KNOB)
