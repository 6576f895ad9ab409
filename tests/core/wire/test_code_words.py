"""Code words: ours are found, everything else is not."""

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.code_words import code_word, code_words_in


@given(st.text(max_size=20))
def test_a_code_word_is_found_in_any_answer_that_says_it(source: str) -> None:
    """Whatever stands around it."""
    word = code_word(source)
    assert code_words_in(f"Sure! The word is **{word}**, as you asked.") == (word,)


@given(st.text())
def test_a_text_that_never_heard_of_one_holds_none(text: str) -> None:
    """A word that looks like one, and does not check, is none."""
    assert code_words_in(text) == ()
    word = code_word("a")
    wrong = word[:-1] + next(vowel for vowel in "aeiou" if vowel != word[-1])
    assert code_words_in(wrong) == ()


def test_a_code_word_is_found_however_it_is_written() -> None:
    """At the beginning of a sentence, or shouted."""
    assert code_words_in(code_word("a").upper()) == (code_word("a"),)
    assert code_words_in(f"x{code_word('a')}") == ()
