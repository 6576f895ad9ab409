"""What one line of a hop's log says about a request, in our own words.

Rules
-----
1. An entry holds numbers, codes, ports and ids of our own; no text of a line leaves the parser.
2. A field is None where the line does not say. `dialled` is False only where the line says that
   nothing was sent on.
3. `end` is the end code of the hop's upstream face where the line tells of it, else that of its
   downstream face: ``<who><what><phase>`` with ``c`` client, ``h`` the hop itself, ``s`` the next
   hop, ``n`` the network or unknown; ``F`` FIN, ``R`` RST, ``X`` explicit error, ``Z`` silence;
   ``K`` connect, ``Q`` queue, ``B`` request body, ``H`` waiting for the head, ``D`` data, ``E``
   after the last event. That a timer did it is an inference and stands in no code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TypeAlias

from exonerate.core.json_types import JsonObject
from exonerate.core.wire.request_ids import own_request_id

_ADDRESS = re.compile(r"\[?([0-9A-Za-z.:_-]{1,255}?)\]?:(\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One request as a line tells it, or one event of a request (`is_request` False)."""

    program: str
    is_request: bool = True
    request_id: str | None = None
    """The `x-request-id`, where it is one of ours."""
    foreign: bool = False
    """It bears the id of somebody else's request."""
    client_port: int | None = None
    connection: str | None = None
    """The program's own number of the client's connection: joins lines of two files."""
    path: str | None = None
    begun_s: float | None = None
    """Wall time at which the request began, seconds since 1970; of an event, when it happened."""
    total_s: float | None = None
    head_s: float | None = None
    """Until the next hop's head had come."""
    status: int | None = None
    dialled: bool | None = None
    """Whether the request was sent towards the next hop."""
    upstream: str | None = None
    """The address of the next hop that was tried last."""
    attempts: int = 0
    """How often it was sent on."""
    upstream_status: int | None = None
    upstream_bytes: int | None = None
    sent_bytes: int | None = None
    end: str | None = None
    no_worker: bool = False
    """The hop had nobody that it would send to: all ejected, marked down, or a breaker open."""

    @property
    def answered(self) -> bool:
        """Whether bytes of an answer came from the next hop."""
        return bool(self.upstream_bytes) or self.head_s is not None

    @property
    def ended_by_next(self) -> bool:
        """Whether the next hop broke the exchange off: closed, reset or refused it."""
        return self.end is not None and self.end[0] == "s" and self.end[1] in "FRX"


LineParser: TypeAlias = Callable[[str], LogEntry | None]
"""One line to its entry; None where the line is none of this format."""


def own_id(text: object) -> str | None:
    """The text when it is a request id of ours; ids of others are not kept."""
    return own_request_id(text)


def is_foreign(text: object) -> bool:
    """Whether an id stands there that is none of ours."""
    return isinstance(text, str) and text not in ("", "-") and own_id(text) is None


def port_of(address: object) -> int | None:
    """The port of `host:port` or of a bare number."""
    if not isinstance(address, str):
        return None
    digits = address.rpartition(":")[2]
    # `isdecimal` alone would let digits of other scripts through.
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 6 else 0
    return number if 0 < number < 65_536 else None


def address_of(text: object) -> str | None:
    """`host:port` as it stands, if that is what the text is."""
    matched = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
    return f"{matched[1]}:{matched[2]}" if matched else None


def number_of(text: object) -> float | None:
    """A number that is not negative, from a number or its text; None for `-` and the like."""
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        return None
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < 1e15 else None


def whole_of(text: object) -> int | None:
    """As `number_of`, without a fraction."""
    number = number_of(text)
    return None if number is None else int(number)


def path_of(target: object) -> str | None:
    """The path of a request's target, without its query; None for what is no path."""
    if not isinstance(target, str) or not target.startswith("/"):
        return None
    return target.partition("?")[0][:200]


def wall_s(text: str, form: str) -> float | None:
    """Seconds since 1970; a time without its zone is taken for UTC, see `matching`."""
    try:
        moment = datetime.strptime(text, form)  # noqa: DTZ007  # made aware below
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def relayed(status: int | None) -> str:
    """The end of an answer that the hop passed on whole: an error of it is the next hop's."""
    return "sXH" if status is not None and status >= 400 else "---"


_DEFAULTS: Mapping[str, object] = {f.name: f.default for f in fields(LogEntry)}


def entry_to_json(entry: LogEntry) -> JsonObject:
    """What differs from nothing, for an event."""
    values = {name: getattr(entry, name) for name in _DEFAULTS}
    return {name: value for name, value in values.items() if value != _DEFAULTS[name]}


def entry_from_json(value: JsonObject) -> LogEntry:
    """The entry that `entry_to_json` wrote; keys of later versions are passed over."""
    known: dict[str, object] = {name: value[name] for name in value if name in _DEFAULTS}
    return LogEntry(**known)  # type: ignore[arg-type]  # written by entry_to_json
