"""The binary record of a load run: self-describing, append-only, at most 10 bytes an event.

Layout (all numbers little-endian)
----------------------------------
A file is `MAGIC` followed by blocks. A block is a kind (1 byte), the payload's length (u32) and
the payload. A file that was cut off ends with its last whole block.

- ``J`` is a JSON object with a key `type`: `header`, `cell`, `cell_end`, `engine`, `note`.
- ``R`` is one request: the struct `_REQUEST` below, then

  - with flag `COALESCED` the number (u32) of reads that brought several events, and for each of
    them: u32 index of its first event, u16 number of events, u32 nanoseconds (4294967295 is "or
    more") between the last moment at which nothing was there to read and the stamp. The stamps of
    all but the last of these events are known only to lie in that span;
  - the arrival of each event as a u32 of nanoseconds after the event before it; the first one
    counts from `begun_ns`. Events that share the stamp of the one before them, because they came
    in its read, are left out. With flag `WIDE` (a gap of 4.29 s or more) these are u64;
  - the number (u32) of reads and the lateness of each, u16 in microseconds (65535 is "or more"):
    how long after the kernel's stamp of its newest bytes the read came.

Stamps are monotonic nanoseconds of the machine that ran the load. A stamp that never came is 0.
"""

from __future__ import annotations

import io
import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from operator import itemgetter
from typing import BinaryIO, NamedTuple, cast

import orjson

from exonerate.core.json_types import JsonObject

MAGIC = b"EXONERATE-BENCH/1\n"
BLOCK_BYTES_MAX = 256 * 1024 * 1024

WIDE = 1
COALESCED = 2
COMPLETE = 4
KERNEL_STAMPS = 8
WARM_UP = 16
RESENT = 32
"""The peer had closed the reused connection; the request was sent again on a new one, once."""

_U32_MAX = 0xFFFFFFFF
_BLOCK = struct.Struct("<cI")
_REQUEST = struct.Struct("<HHIQQQQQQQHBBIIIIIIII3s12s")
_COALESCED_READ = struct.Struct("<IHI")
_EVENTS: Callable[[CoalescedRead], int] = itemgetter(1)
assert sys.byteorder == "little", "the arrays below are written in the machine's order"


class CoalescedRead(NamedTuple):
    """A read that brought several events: which, how many, and how wide their span is."""

    first_event: int
    events: int
    span_ns: int


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """One request of a load run."""

    cell: int = 0
    worker: int = 0
    index: int = 0
    intended_ns: int = 0
    begun_ns: int = 0
    written_ns: int = 0
    first_byte_ns: int = 0
    first_token_ns: int = 0
    last_byte_ns: int = 0
    ended_ns: int = 0
    status: int = 0
    flags: int = 0
    session_round: int = 1
    request_number: int = 0
    events: int = 0
    usage_tokens: int = -1
    prompt_tokens: int = -1
    answer_bytes: int = 0
    """As they came: head and framing included."""
    reads: int = 0
    lateness_ns_max: int = 0
    """Of all reads, where one was later than `lateness_us` can say."""
    censored: int = 0
    end: str = "---"
    finish_reason: str = ""
    gaps_ns: array[int]
    lateness_us: array[int]
    coalesced: tuple[CoalescedRead, ...] = ()

    @property
    def complete(self) -> bool:
        """The answer ended as its framing and its stream promised, with a 2xx status."""
        return bool(self.flags & COMPLETE)

    @property
    def latest_read_ns(self) -> int:
        """How late the latest read was."""
        return max(self.lateness_ns_max, 1000 * max(self.lateness_us, default=0))

    @property
    def output_tokens(self) -> int:
        """What the server counted, where it said so; else the counted events."""
        return self.usage_tokens if self.usage_tokens >= 0 else self.events

    def arrivals_ns(self) -> list[int]:
        """The stamp of each meaningful event."""
        return list(accumulate(self.gaps_ns, initial=self.begun_ns))[1:]

    def placed_arrivals_ns(self) -> list[int]:
        """The same, with events that shared a read placed evenly inside the span they came in.

        The last event of a read has its own stamp. The others are somewhere between the last
        moment at which nothing was there and that stamp: a burst that came while the loop was
        watching stays a burst, and what a late loop lumped together is spread out again.
        """
        arrivals = self.arrivals_ns()
        for read in self.coalesced:
            stamp_ns = arrivals[read.first_event]
            for place in range(read.events - 1):
                early_ns = read.span_ns * (read.events - 1 - place) // read.events
                arrivals[read.first_event + place] = stamp_ns - early_ns
        return arrivals


def encode_json(value: JsonObject) -> bytes:
    """A JSON block."""
    payload = orjson.dumps(value)
    return _BLOCK.pack(b"J", len(payload)) + payload


def encode_request(record: RequestRecord) -> bytes:
    """A request block."""
    gaps = record.gaps_ns
    wide = gaps.typecode == "Q"
    flags = record.flags | (WIDE if wide else 0) | (COALESCED if record.coalesced else 0)
    fixed = _REQUEST.pack(
        record.cell,
        record.worker,
        record.index,
        record.intended_ns,
        record.begun_ns,
        record.written_ns,
        record.first_byte_ns,
        record.first_token_ns,
        record.last_byte_ns,
        record.ended_ns,
        record.status,
        flags,
        min(record.session_round, 255),
        min(record.request_number, _U32_MAX),
        record.events,
        record.usage_tokens & _U32_MAX,
        record.prompt_tokens & _U32_MAX,
        min(record.answer_bytes, _U32_MAX),
        record.reads,
        min(record.lateness_ns_max, _U32_MAX),
        record.censored,
        record.end.encode(),
        record.finish_reason.encode()[:12],
    )
    pieces = [fixed]
    if record.coalesced:
        pieces.append(_packed(record.coalesced))
        gaps = _without_shared(gaps, record.coalesced)
    pieces.append(gaps.tobytes())
    pieces.append(len(record.lateness_us).to_bytes(4, "little"))
    pieces.append(record.lateness_us.tobytes())
    payload = b"".join(pieces)
    return _BLOCK.pack(b"R", len(payload)) + payload


def _packed(coalesced: Sequence[CoalescedRead]) -> bytes:
    """Their number and all of them."""
    number = len(coalesced)
    try:
        return _packer(number)(number, *chain.from_iterable(coalesced))
    except struct.error:
        narrow = [(first, events, min(span, _U32_MAX)) for first, events, span in coalesced]
        return _packer(number)(number, *chain.from_iterable(narrow))


@lru_cache(maxsize=512)
def _packer(number: int) -> Callable[..., bytes]:
    return struct.Struct("<I" + "IHI" * number).pack


def _without_shared(gaps: array[int], coalesced: Sequence[CoalescedRead]) -> array[int]:
    """The gaps without the zeros of events that came in the read of the one before."""
    shared = sum(map(_EVENTS, coalesced)) - len(coalesced)
    kept = array(gaps.typecode, [gap for gap in gaps if gap])
    if len(kept) == len(gaps) - shared:
        # All zeros were theirs; an event of another read may have a gap of zero, too.
        return kept
    kept, at = array(gaps.typecode), 0
    for read in coalesced:
        kept.extend(gaps[at : read.first_event + 1])
        at = read.first_event + read.events
    kept.extend(gaps[at:])
    return kept


def _with_shared(kept: array[int], coalesced: Sequence[CoalescedRead]) -> array[int]:
    """The other way round."""
    gaps = array(kept.typecode)
    at = 0
    for read in coalesced:
        end = at + read.first_event + 1 - len(gaps)
        gaps.extend(kept[at:end])
        gaps.extend([0] * (read.events - 1))
        at = end
    gaps.extend(kept[at:])
    return gaps


def decode_blocks(content: bytes) -> Iterator[JsonObject | RequestRecord]:
    """Every whole block after the magic, in order; raises ValueError for another file."""
    return read_blocks(io.BytesIO(content))


def read_blocks(stream: BinaryIO) -> Iterator[JsonObject | RequestRecord]:
    """The same from an open file, a block at a time."""
    if stream.read(len(MAGIC)) != MAGIC:
        raise ValueError("not a result of `exonerate bench`")
    yield from read_bare_blocks(stream)


def read_bare_blocks(stream: BinaryIO) -> Iterator[JsonObject | RequestRecord]:
    """Every whole block of a spool, which has no magic."""
    while len(head := stream.read(_BLOCK.size)) == _BLOCK.size:
        kind, length = _BLOCK.unpack(head)
        payload = stream.read(length) if length <= BLOCK_BYTES_MAX else b""
        if len(payload) < length:
            return
        if kind == b"J":
            yield cast("JsonObject", orjson.loads(payload))
        elif kind == b"R":
            yield _decode_request(payload)
        else:
            raise ValueError(f"unknown block kind {kind!r}")


def whole_blocks_bytes(content: bytes) -> int:
    """How many bytes at the beginning of a piece of a spool are whole blocks."""
    at = 0
    while at + _BLOCK.size <= len(content):
        end = at + _BLOCK.size + _BLOCK.unpack_from(content, at)[1]
        if end > len(content):
            break
        at = end
    return at


def _decode_request(payload: bytes) -> RequestRecord:
    fields = _REQUEST.unpack_from(payload)
    flags, events = fields[11], fields[14]
    record = RequestRecord(
        cell=fields[0],
        worker=fields[1],
        index=fields[2],
        intended_ns=fields[3],
        begun_ns=fields[4],
        written_ns=fields[5],
        first_byte_ns=fields[6],
        first_token_ns=fields[7],
        last_byte_ns=fields[8],
        ended_ns=fields[9],
        status=fields[10],
        flags=flags & ~(WIDE | COALESCED),
        session_round=fields[12],
        request_number=fields[13],
        events=events,
        usage_tokens=_signed(fields[15]),
        prompt_tokens=_signed(fields[16]),
        answer_bytes=fields[17],
        reads=fields[18],
        lateness_ns_max=fields[19],
        censored=fields[20],
        end=fields[21].decode(),
        finish_reason=fields[22].rstrip(b"\0").decode(errors="replace"),
        gaps_ns=array("Q" if flags & WIDE else "I"),
        lateness_us=array("H"),
    )
    at = _REQUEST.size
    if flags & COALESCED:
        count = int.from_bytes(payload[at : at + 4], "little")
        end = at + 4 + count * _COALESCED_READ.size
        entries = _COALESCED_READ.iter_unpack(payload[at + 4 : end])
        record.coalesced = tuple(CoalescedRead(*numbers) for numbers in entries)
        at = end
    shared = sum(read.events - 1 for read in record.coalesced)
    size = (events - shared) * record.gaps_ns.itemsize
    record.gaps_ns.frombytes(payload[at : at + size])
    if shared:
        record.gaps_ns = _with_shared(record.gaps_ns, record.coalesced)
    at += size
    reads = int.from_bytes(payload[at : at + 4], "little")
    record.lateness_us.frombytes(payload[at + 4 : at + 4 + 2 * reads])
    return record


def _signed(value: int) -> int:
    return -1 if value == _U32_MAX else value
