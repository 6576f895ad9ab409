"""Reads what an answer says and keeps the facts about it, not the text.

`ContentReader` takes the events of a stream, or a whole JSON body, and folds them into
`ContentFacts`. Defects are what the bytes show; whose fault they are is for the diagnosis.
"""

from __future__ import annotations

import hashlib
import re
from typing import cast

import orjson

from exonerate.core.json_types import Json
from exonerate.core.wire.dialects import Dialect, Said, read_event, read_whole
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.sse import SseEvent
from exonerate.core.wire.text_facts import CHARACTERS_MAX, TextFacts, text_facts

SPECIAL_TOKEN = re.compile(r"<[|｜][A-Za-z0-9_▁ ]{2,40}[|｜]>|</s>|\[/?INST\]")
"""Control tokens of the common chat templates; none of them belongs into an answer's text."""

_SPECIAL_TOKEN_CHARACTERS_MAX = 48
_DONE = b"[DONE]"


class ContentReader:
    """Folds events or a whole body into facts."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._digest = hashlib.sha256()
        self._characters = 0
        self._tail = ""
        self._beginning: list[str] = []
        self._meaningful = 0
        self._done = False
        self._finish_reason: str | None = None
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None
        self._defects: dict[str, None] = {}
        self._last_structural = b""

    def event(self, event: SseEvent) -> bool:
        """Take one event of a stream; returns whether it is meaningful."""
        if event.data.strip() == _DONE:
            if self._done:
                self.note("duplicated-event")
            self._done = True
            return False
        value = self._json(event.data)
        if value is None:
            return False
        said = read_event(self._dialect, value)
        if event.name == b"error":
            said = Said(error=True)
        if not said.pieces:
            self._structural(event.data)
        return self._fold(said)

    def whole(self, body: bytes) -> bool:
        """Take an unstreamed body; returns whether it is meaningful."""
        value = self._json(body)
        return False if value is None else self._fold(read_whole(self._dialect, value))

    def note(self, defect: str) -> None:
        """Keep a defect that was seen elsewhere, once."""
        self._defects.setdefault(defect)

    def facts(self, *, comments: int = 0, unread_events: int = 0) -> ContentFacts:
        """The facts so far; `unread_events` were meaningful, but their text was not read."""
        counted = self._completion_tokens
        meaningful = self._meaningful + unread_events
        if counted is not None and meaningful > max(counted, 1):
            self.note("more-events-than-tokens")
        known = self._characters > 0 and unread_events == 0
        told = text_facts("".join(self._beginning)) if known else TextFacts()
        return ContentFacts(
            meaningful_events=meaningful,
            comments=comments,
            done_seen=self._done,
            finish_reason=self._finish_reason,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            text_sha256=self._digest.hexdigest() if known else None,
            text_characters=self._characters if known else 0,
            words=told.words,
            odd_words=told.odd_words,
            longest_run=told.longest_run,
            code_words=told.code_words,
            text_prefixes=told.prefixes,
            defects=tuple(self._defects),
        )

    @property
    def done(self) -> bool:
        """The answer has said that it is over."""
        return self._done

    def _json(self, data: bytes) -> Json | None:
        try:
            return cast("Json", orjson.loads(data))
        except orjson.JSONDecodeError:
            self.note("invalid-json" if _is_utf8(data) else "invalid-utf8")
            return None

    def _structural(self, data: bytes) -> None:
        """An event without text that comes twice in a row was sent twice by somebody."""
        if data == self._last_structural:
            self.note("duplicated-event")
        self._last_structural = data

    def _fold(self, said: Said) -> bool:
        if said.error:
            self.note("error-event")
        for piece in said.pieces:
            self._text(piece)
        meaningful = bool(said.pieces)
        if meaningful:
            self._last_structural = b""
            self._meaningful += 1
            if self._finish_reason is not None:
                self.note("text-after-finish")
        self._finish_reason = said.finish_reason or self._finish_reason
        if said.prompt_tokens is not None:
            self._prompt_tokens = said.prompt_tokens
        if said.completion_tokens is not None:
            self._completion_tokens = said.completion_tokens
        self._done = self._done or said.done
        return meaningful

    def _text(self, piece: str) -> None:
        self._digest.update(piece.encode(errors="surrogatepass"))
        if self._characters < CHARACTERS_MAX:
            self._beginning.append(piece)
        self._characters += len(piece)
        seen = self._tail + piece
        if SPECIAL_TOKEN.search(seen):
            self.note("special-token")
        self._tail = seen[-_SPECIAL_TOKEN_CHARACTERS_MAX:]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
