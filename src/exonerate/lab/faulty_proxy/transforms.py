"""What happens to the content of an answer: pure byte transformers, one per fault."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Protocol

from exonerate.lab.faulty_proxy.rules import (
    Action,
    CorruptText,
    DropEvents,
    LeakFraming,
    LoseEnding,
    RepeatEvents,
)
from exonerate.lab.http1 import LAST_CHUNK, chunk

EVENT_END = b"\n\n"
DONE_EVENT = b"data: [DONE]\n\n"
MULTI_BYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
# The text of a delta, a message or a completion; the group is what may be damaged.
TEXT = re.compile(rb'"(?:content|text)":\s*"((?:[^"\\]|\\.)+)"')
HALF_CHARACTER = b"\xe2\x82"  # the first two of the three bytes of the euro sign


class Transform(Protocol):
    """Takes payload as it comes and gives payload back."""

    def feed(self, piece: bytes) -> bytes:
        """What leaves for this piece."""

    def end(self) -> bytes:
        """What leaves when the engine's answer is over."""


class EventTransform:
    """Splits the payload into events and lets `change` decide what leaves for each.

    An answer that is not a stream counts as one event.
    """

    def __init__(self, action: Action) -> None:
        self._action = action
        self._buffer = bytearray()
        self._number = 0

    def feed(self, piece: bytes) -> bytes:
        """Every event that is whole."""
        self._buffer += piece
        *whole, rest = bytes(self._buffer).split(EVENT_END)
        self._buffer = bytearray(rest)
        return b"".join(self._next(event + EVENT_END) for event in whole)

    def end(self) -> bytes:
        """What stands behind the last event."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return self._next(rest) if rest else b""

    def _next(self, event: bytes) -> bytes:
        self._number += 1
        return change(self._action, event, self._number)


def change(action: Action, event: bytes, number: int) -> bytes:
    """What leaves instead of one event."""
    match action:
        case RepeatEvents(every=every):
            return event * 2 if number % every == 0 and event != DONE_EVENT else event
        case DropEvents(every=every):
            return b"" if number % every == 0 and event != DONE_EVENT else event
        case LoseEnding(finish=finish):
            return b"" if event == DONE_EVENT or (finish and _is_finish(event)) else event
        case CorruptText(how=how, every=every):
            return corrupted(event, how) if number % every == 0 else event
        case _:
            return event


def _is_finish(event: bytes) -> bool:
    return b'"finish_reason":"' in event.replace(b": ", b":")


def corrupted(event: bytes, how: str) -> bytes:
    """The event with its text damaged; framing and JSON stay as they are."""
    found = TEXT.search(event)
    if found is None:
        return event
    text = found[1]
    if how == "flip":
        damaged = _flipped(text)
    elif MULTI_BYTE.search(text):
        damaged = MULTI_BYTE.sub(lambda character: character[0][:-1] + b"?", text)
    else:
        damaged = text + HALF_CHARACTER
    return event[: found.start(1)] + damaged + event[found.end(1) :]


def _flipped(encoded: bytes) -> bytes:
    """The inside of a JSON string with its last letter exchanged."""
    text = json.loads(b'"%b"' % encoded)
    index = next((n for n in reversed(range(len(text))) if text[n].isalpha()), None)
    if index is None:
        return encoded
    other = "x" if text[index] != "x" else "q"
    changed = text[:index] + other + text[index + 1 :]
    return json.dumps(changed, ensure_ascii=False).encode()[1:-1]


class LeakedFraming:
    """Puts a chunk-size line in front of what comes, as a hop that does not de-chunk does."""

    def feed(self, piece: bytes) -> bytes:
        """The piece as a chunk, which becomes content."""
        return chunk(piece)

    def end(self) -> bytes:
        """The terminal chunk, as content."""
        return LAST_CHUNK


def transform_for(action: Action) -> Transform | None:
    """The transformer of an action, or None when it does not touch the content."""
    match action:
        case LeakFraming():
            return LeakedFraming()
        case CorruptText() | RepeatEvents() | DropEvents() | LoseEnding():
            return EventTransform(action)
        case _:
            return None


class Chain:
    """Several transformers, one after the other."""

    def __init__(self, links: Sequence[Transform]) -> None:
        self._links = links

    def feed(self, piece: bytes) -> bytes:
        """Through every link."""
        for link in self._links:
            piece = link.feed(piece) if piece else b""
        return piece

    def end(self) -> bytes:
        """The rest of each link through the links behind it."""
        rest = b""
        for link in self._links:
            rest = (link.feed(rest) if rest else b"") + link.end()
        return rest


def invented_ending(finish_reason: str) -> bytes:
    """The events that make a cut stream look finished."""
    choice = {"index": 0, "delta": {}, "finish_reason": finish_reason}
    event = {"object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n" + DONE_EVENT
