"""Which words are odd, and where two texts part."""

import pytest

from exonerate.core.wire.code_words import code_word
from exonerate.core.wire.text_facts import text_facts


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox - it jumps (twice), at 10:45, over 2nd rails...",
        "**Step 1.** Ask the CPU's owner; use HTTP, TCP and 3x more of it.",
        "Das Wetter wird schön, и море, 日本 の 川 は 長い",
        "1. river 2. stone 3. rhythm",
    ],
)
def test_what_people_write_is_hardly_ever_odd(text: str) -> None:
    """Numbers, abbreviations, other scripts and lists are words like others."""
    facts = text_facts(text)
    assert facts.odd_words * 4 <= facts.words


def test_garbage_is_odd_word_for_word() -> None:
    """Letters without a vowel, signs in rows, digits inside of letters."""
    facts = text_facts("zqx @@ vvv 0x0 lkj qqq wrp a3b9z")
    assert facts.odd_words == facts.words == 8


def test_a_code_word_is_never_odd() -> None:
    """It was asked for."""
    assert text_facts(code_word("x")).odd_words == 0


def test_prefixes_tell_where_two_texts_part() -> None:
    """Equal up to the words that differ, different from there on."""
    one = text_facts("one two three four five six seven eight nine").prefixes
    other = text_facts("one two three four five SIX seven eight nine").prefixes
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert one[2] != other[2]


def test_the_longest_run_of_one_word_is_counted() -> None:
    """In the middle of a text, too."""
    assert text_facts("so the the the end").longest_run == 3
