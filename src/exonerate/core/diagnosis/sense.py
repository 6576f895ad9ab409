"""Whether an answer to one of our own prompts makes sense, told without its text.

``foreign-text``: it holds the code word of another of our probes, so that it is, at least in part,
the answer to another request. ``garbled-text``: at least half of its words are none, or it says
one word over and over where every other answer of this engine began as it was asked to.
The prompts are plain English words and the victim's own bodies are not judged: an answer that is
code or a table may look odd and be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exonerate.core.scene import ProbeSession
from exonerate.core.wire.exchange import ContentFacts, Exchange
from exonerate.core.workload.prompts import own_code_word

FOREIGN, GARBLED = "foreign-text", "garbled-text"
WORDS_MIN = 6
ODD_SHARE_MIN = 0.5
RUN_SHARE_MIN = 0.8
OBEDIENT_MIN = 3


def with_text_defects(exchange: Exchange, plan: ProbeSession) -> Exchange:
    """The exchange with what its text shows by itself among its defects."""
    if plan.request.body_ref is not None or not plan.request.prompt.code_word:
        return exchange
    found: list[str] = []
    if set(exchange.content.code_words) - {own_code_word(plan.request.prompt)}:
        found.append(FOREIGN)
    if _odd(exchange.content):
        found.append(GARBLED)
    return _with(exchange, found)


def loops(exchanges: Sequence[Exchange]) -> frozenset[int]:
    """Places of the answers that say one word over and over, where all others were obedient."""
    texts = {place: e.content for place, e in enumerate(exchanges) if e.content.words >= WORDS_MIN}
    looping = {place for place, content in texts.items() if _loops(content)}
    others = [content for place, content in texts.items() if place not in looping]
    obedient = [content for content in others if content.code_words]
    sensible = [content for content in others if content.odd_words < ODD_SHARE_MIN * content.words]
    if len(obedient) < OBEDIENT_MIN or len(obedient) < len(sensible):
        return frozenset()
    return frozenset(looping)


def garbled(exchange: Exchange) -> Exchange:
    """The exchange with a garbled text among its defects."""
    return _with(exchange, [GARBLED])


def _odd(content: ContentFacts) -> bool:
    return content.words >= WORDS_MIN and content.odd_words >= ODD_SHARE_MIN * content.words


def _loops(content: ContentFacts) -> bool:
    return not content.code_words and content.longest_run >= RUN_SHARE_MIN * content.words


def _with(exchange: Exchange, found: Sequence[str]) -> Exchange:
    if not found:
        return exchange
    defects = tuple(dict.fromkeys((*exchange.content.defects, *found)))
    return replace(exchange, content=replace(exchange.content, defects=defects))
