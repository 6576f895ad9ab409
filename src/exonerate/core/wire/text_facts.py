"""What can be said of an answer's text without keeping it: words that are none, runs, beginnings.

A word is *odd* when no language writes it: letters mixed with digits, three and more Latin letters
without a vowel, two and more signs in a row that are no common punctuation. Numbers and other
scripts are not odd. One odd word is an abbreviation; a text of them is not text.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import groupby

from exonerate.core.wire.code_words import code_words_in

CHARACTERS_MAX = 4096
"""A longer text is judged by its beginning."""
PREFIX_WORDS, PREFIXES_MAX = 3, 32
_STRIPPED = ".,;:!?\"'()[]{}*_-`\u2026\u201c\u201d\u2018\u2019"
_MIXED = re.compile(r"(?=.*\d)(?=.*[^\W\d_])")
_LATIN = re.compile(r"[A-Za-z]{3,}")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_ORDINARY = re.compile(r"\d+(st|nd|rd|th|s)|[A-Z]{2,5}s?|\d+[a-zA-Z]|[a-zA-Z]\d+|[Hh]mm*|[Pp]sst")


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Counts of words, and what tells one text from another."""

    words: int = 0
    odd_words: int = 0
    longest_run: int = 0
    """The longest run of one and the same word."""
    code_words: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Hashes of the text up to each third word: equal ones mean an equal beginning."""


def text_facts(text: str) -> TextFacts:
    """The facts about the beginning of a text."""
    words = text[:CHARACTERS_MAX].split()
    codes = code_words_in(text[:CHARACTERS_MAX])
    return TextFacts(
        words=len(words),
        odd_words=sum(_odd(word, codes) for word in words),
        longest_run=max((len(list(run)) for _, run in groupby(words)), default=0),
        code_words=codes,
        prefixes=_prefixes(words),
    )


def _odd(word: str, codes: tuple[str, ...]) -> bool:
    bare = word.strip(_STRIPPED)
    if not bare:
        return False
    if bare in codes or _ORDINARY.fullmatch(bare):
        return False
    if not any(character.isalnum() for character in bare):
        return len(bare) >= 2
    if _MIXED.match(bare):
        return True
    return _LATIN.fullmatch(bare) is not None and _VOWEL.search(bare) is None


def _prefixes(words: list[str]) -> tuple[str, ...]:
    digest = hashlib.sha256()
    found: list[str] = []
    for number, word in enumerate(words[: PREFIX_WORDS * PREFIXES_MAX], start=1):
        digest.update(f"{word} ".encode(errors="surrogatepass"))
        if number % PREFIX_WORDS == 0:
            found.append(digest.hexdigest()[:16])
    return tuple(found)
