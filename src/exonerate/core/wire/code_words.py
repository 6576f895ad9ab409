"""Words that stand in one probe's prompt and nowhere else, so that an answer shows whose it is.

A code word is ``zu`` and four syllables, three drawn from the probe's seed and one that checks
them: no text has one by accident, and whatever answer one is found in, it can be kept, because it
is a word of ours. It can be pronounced, so that what a small model makes of it still looks like
a word.
"""

from __future__ import annotations

import hashlib
import re

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_PATTERN = re.compile(
    rf"(?<![A-Za-z0-9])zu(?:[{_CONSONANTS}][{_VOWELS}]){{4}}(?![A-Za-z0-9])", re.IGNORECASE
)
CODE_WORDS_MAX = 8
_DRAWN, _CHECK = 3, 1


def code_word(source: str) -> str:
    """The code word that belongs to this seed and salt."""
    middle = _syllables(source, _DRAWN)
    return f"zu{middle}{_syllables(middle, _CHECK)}"


def code_words_in(text: str) -> tuple[str, ...]:
    """The different code words of a text, in the order of their appearance."""
    lower = (match.lower() for match in _PATTERN.findall(text))
    found = dict.fromkeys(word for word in lower if _checked(word))
    return tuple(found)[:CODE_WORDS_MAX]


def _checked(word: str) -> bool:
    middle = word[2 : 2 + 2 * _DRAWN]
    return word[2 + 2 * _DRAWN :] == _syllables(middle, _CHECK)


def _syllables(source: str, count: int) -> str:
    digest = hashlib.sha256(f"code word {source}".encode()).digest()
    pairs = zip(digest[0::2], digest[1::2], strict=True)
    drawn = [
        _CONSONANTS[one % len(_CONSONANTS)] + _VOWELS[other % len(_VOWELS)] for one, other in pairs
    ]
    return "".join(drawn[:count])
