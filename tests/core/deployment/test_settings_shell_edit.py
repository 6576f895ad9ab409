"""Quoting of new shell source."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.deployment.settings_shell_edit import quoted_like
from exonerate.core.deployment.settings_shell_words import Word, tokens_of


@settings(deadline=None)
@given(
    st.sampled_from(["5", "'5'", '"5"', ""]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1),
)
def test_new_source_is_one_word_with_that_value(old: str, value: str) -> None:
    """Whatever the quoting style, the shell reads the value back."""
    source = "A=" + quoted_like(old, value)
    [word] = tokens_of(source)[0]
    assert isinstance(word, Word)
    assert word.value == f"A={value}"


@pytest.mark.parametrize(("old", "new"), [("5", "6"), ("'5'", "'6'"), ('"5"', '"6"')])
def test_the_style_of_the_old_value_is_kept(old: str, new: str) -> None:
    """Quotes that stood there stand there again."""
    assert quoted_like(old, "6") == new
