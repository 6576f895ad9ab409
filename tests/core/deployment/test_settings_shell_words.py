"""Shell source cut into words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.deployment.settings_error import UnprovableSetting
from exonerate.core.deployment.settings_shell_words import Word, tokens_of


def words(text: str) -> list[tuple[str, str | None]]:
    """Source and value of each word."""
    return [(t.raw, t.value) for t in tokens_of(text)[0] if isinstance(t, Word)]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("a\\ b", "a b"),
        ("'a b'", "a b"),
        ('"a \\$ \\" \\x"', 'a $ " \\x'),
        ("a'b'\"c\"", "abc"),
        ("a\\\nb", "ab"),
        ("a#b", "a#b"),
        ("$'ab'", "ab"),
        ("'{a,b}'", "{a,b}"),
        ("$", "$"),
        *((raw, None) for raw in ("$A", '"${A:-x y}"', "$(echo ')')", "`a b`", "$((1 + 2))")),
        *((raw, None) for raw in ("A=(1 2)", "{a,b}", "~/x", "<(a b)", "$'\\n'", '"${x:-it\'s}"')),
    ],
)
def test_a_word_has_the_value_the_shell_gives_it(raw: str, value: str | None) -> None:
    """Quotes are taken off; what needs an expansion has no value."""
    assert words(f"{raw} next") == [(raw, value), ("next", "next")]


def test_comments_and_here_documents_are_no_words() -> None:
    """What stands in them is text, not code."""
    text = "a # b 'c\ncat <<-'END' x\n\tb \"c\n\tEND\nd"
    assert [raw for raw, _ in words(text)] == ["a", "cat", "'END'", "x", "d"]


@pytest.mark.parametrize("text", ["'a", '"a', "$(a", "`a", "${a", "cat <<END\na", "a << \n"])
def test_what_does_not_end_is_refused(text: str) -> None:
    """An open quote or bracket would make code of text."""
    with pytest.raises(UnprovableSetting):
        tokens_of(text)


@settings(deadline=None)
@given(st.text(st.sampled_from("aA=1 '\"\\$`(){}<>|&;#\n\t"), max_size=40))
def test_tokens_stand_in_order_where_they_say(text: str) -> None:
    """Offsets never overlap, and each word's source is the text at its place."""
    try:
        tokens, _ = tokens_of(text)
    except UnprovableSetting:
        return
    end = 0
    for token in tokens:
        assert token.start >= end
        end = token.end
        if isinstance(token, Word):
            assert text[token.start : token.end] == token.raw
