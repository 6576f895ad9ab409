"""Words that stand in one probe's prompt and nowhere else, so that an answer shows whose it is.

A code word is ``qx``, four letters and digits drawn from the probe's seed, and two that check them:
no text has one by accident, and whatever answer one is found in, it can be kept, because it is a
word of ours.
"""

from __future__ import annotations

import hashlib
import re

_ALPHABET = "bcdfghjkmnprstvwz23456789"
_PATTERN = re.compile(rf"(?<![A-Za-z0-9])qx[{_ALPHABET}]{{6}}(?![A-Za-z0-9])")
CODE_WORDS_MAX = 8


def code_word(source: str) -> str:
    """The code word that belongs to this seed and salt."""
    middle = _drawn(source, 4)
    return f"qx{middle}{_drawn(middle, 2)}"


def code_words_in(text: str) -> tuple[str, ...]:
    """The different code words of a text, in the order of their appearance."""
    found = dict.fromkeys(match for match in _PATTERN.findall(text) if _checked(match))
    return tuple(found)[:CODE_WORDS_MAX]


def _checked(word: str) -> bool:
    return word[6:] == _drawn(word[2:6], 2)


def _drawn(source: str, count: int) -> str:
    digest = hashlib.sha256(f"code word {source}".encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:count])
