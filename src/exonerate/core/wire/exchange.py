"""What one request and its answer looked like on the wire, as the client saw it.

Stamps are monotonic nanoseconds (`Instant`). A stamp that never came is None. Only observed facts
stand here; that a timer or a proxy did it is an inference and belongs to the diagnosis.

End codes
---------
``<who><what><phase>``, three letters, one code for each hop face:

- who ended it first: ``c`` client (we), ``h`` hop (the peer we talk to), ``n`` network or unknown,
  ``-`` nobody (the exchange is complete and the connection stays open)
- what: ``F`` FIN, ``R`` RST, ``X`` explicit error (an HTTP status of 4xx or 5xx, a refused
  connection), ``Z`` silence until we gave up, ``-`` a regular end
- phase: ``K`` connect, ``B`` request body, ``H`` waiting for the head, ``D`` data, ``E`` after the
  last event
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from exonerate.core.instant import NS_PER_MS

GivenUp: TypeAlias = Literal["no", "provisional", "deadline", "interrupted"]
StampSource: TypeAlias = Literal["kernel", "read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFacts:
    """The connection that carried the exchange."""

    ordinal: int
    """1 for the first connection of this session; a new connection gets the next number."""
    request_number: int
    """1 for the first request on this connection."""
    age_s: float
    """Since connect, when the request was begun."""
    idle_s: float
    """Since the last byte of the exchange before, when the request was begun; 0 on a fresh one."""
    local_port: int | None
    addresses_tried: int = 1
    unsolicited_bytes: int = 0
    """Bytes that came on the reused connection while nothing was asked; it was then replaced."""
    closed_while_idle: bool = False
    """The peer had closed the reused connection before this request was written; the session
    then opened a new one, as a pooled client does, and this exchange went over that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFacts:
    """What the answer said, without keeping what it said."""

    meaningful_events: int = 0
    """Events that carried text, reasoning or a tool call; comments and role-only deltas do not."""
    comments: int = 0
    done_seen: bool = False
    """The `[DONE]` event of the OpenAI stream, or the regular end of the other dialects."""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    text_sha256: str | None = None
    text_characters: int = 0
    words: int = 0
    odd_words: int = 0
    """Words that no language writes; see `text_facts`."""
    longest_run: int = 0
    """The longest run of one and the same word."""
    code_words: tuple[str, ...] = ()
    """The code words of our own probes that stand in the answer."""
    text_prefixes: tuple[str, ...] = ()
    """Hashes of the text up to each third word, so that beginnings can be compared."""
    defects: tuple[str, ...] = ()
    """Names from a closed list: `invalid-utf8`, `invalid-json`, `framing-in-body`,
    `duplicated-event`, `special-token`, `error-event`, `html-body`, `text-after-finish`,
    `more-events-than-tokens`, `oversized-event`, `bytes-after-end`, `undecodable-coding` (one that
    was not offered), `invalid-coding` (the bytes are not in it), `cut-coding` (the framing ended
    before it did), `oversized-body`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer."""

    session: str
    hop: str
    round: int
    connection: ConnectionFacts
    request_bytes: int
    begun_ns: int
    resolved_ns: int | None = None
    """The name was resolved; None on a reused connection, as are the next two."""
    connected_ns: int | None = None
    secured_ns: int | None = None
    """The TLS handshake had ended; None without TLS."""
    written_ns: int | None = None
    first_byte_ns: int | None = None
    """Of the final answer; interim answers (1xx) are counted in `interim_answers`."""
    interim_answers: int = 0
    first_token_ns: int | None = None
    last_byte_ns: int | None = None
    ended_ns: int = 0
    arrivals_ms: tuple[float, ...] = ()
    """Arrival of each meaningful event, in milliseconds after `begun_ns`."""
    censored_arrivals: int = 0
    """How many of them shared a read with a later event, so that only bounds are known."""
    stamp_source: StampSource = "read"
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    """Answer headers of an allow-list, lower-case names."""
    http_version: str | None = None
    framing: str | None = None
    """How the body ends: `chunked`, `length`, `close`, `none`, or `end-stream` in HTTP/2."""
    request_id: str = ""
    """The `x-request-id` that was sent."""
    read_lateness_ms: float = 0.0
    """The longest time between the kernel's stamp and our read: how late this client was."""
    reads: int = 0
    body_bytes: int = 0
    """As they came, before a content coding was undone."""
    body_complete: bool = False
    """The framing's own end was seen: last chunk, content length reached."""
    content: ContentFacts = field(default_factory=ContentFacts)
    end: str = "---"
    given_up: GivenUp = "no"
    error: str | None = None
    body_sent_bytes: int = 0
    """The request's body without head and framing; 0 where it was not counted."""
    """What the operating system or the parser said, when the exchange broke."""

    @property
    def complete(self) -> bool:
        """A 2xx answer whose body ended as its framing promises and whose stream said so."""
        ok = self.status is not None and 200 <= self.status < 300
        return ok and self.body_complete and self.content.done_seen and self.given_up == "no"

    @property
    def longest_silence_s(self) -> float:
        """The longest time without a meaningful event, from the intent to send to the end."""
        end_ms = (self.ended_ns - self.begun_ns) / NS_PER_MS
        stamps = (0.0, *self.arrivals_ms, end_ms)
        return max(later - earlier for earlier, later in pairwise(stamps)) / 1e3
