"""What is looked for in the bytes of packets: marks of our own requests, and ends of answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from exonerate.core.wire.code_words import code_words_in

_OWN_ID = re.compile(rb"exonerate-[0-9a-f]{16}(?![0-9a-f])")
_INTERIM = re.compile(rb"HTTP/1\.[01] 1\d\d ")
_ENDS = (b"\r\n0\r\n\r\n", b"data: [DONE]\n\n", b"data: [DONE]\r\n\r\n")


def request_ids_of(payload: bytes) -> Sequence[str]:
    """The request ids of our own probes that stand in the beginning of a packet."""
    return [found.decode() for found in _OWN_ID.findall(payload)]


def code_words_of(payload: bytes) -> Sequence[str]:
    """The code words of our own probes that stand there."""
    return code_words_in(payload.decode("latin-1")) if b"zu" in payload else ()


def is_interim(payload: bytes) -> bool:
    """Whether a packet holds an interim answer (1xx) and no other one."""
    return _INTERIM.match(payload) is not None and payload.count(b"HTTP/1.") == 1


def says_end(payload: bytes) -> bool:
    """Whether a packet ends as answers of HTTP/1 and of the OpenAI stream do."""
    return payload == b"0\r\n\r\n" or payload.endswith(_ENDS)
