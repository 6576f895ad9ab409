"""What the parsers of the wire must hold for any bytes; each takes bytes and asserts.

`make fuzz` searches them with coverage as the guide, the tests beside this file with hypothesis.
The first bytes of an input choose among variants, the rest is what a hop sends; the same bytes must
mean the same wherever they are cut.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import brotli
from backports import zstd
from h2.config import H2Configuration
from h2.connection import H2Connection
from tests.support.wire_packets import tcp

from exonerate.core.diagnosis.gpu_readings import (
    gpu_from_json,
    gpu_to_json,
    parse_gpus,
    parse_kernel,
)
from exonerate.core.diagnosis.logs.engine import (
    EngineWord,
    engine_line_from_json,
    engine_line_to_json,
    parse_engine,
)
from exonerate.core.wire.answer import AnswerReader
from exonerate.core.wire.coding import CodingError, decoder_of
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exposition import parse_exposition
from exonerate.core.wire.http2 import Http2Wire
from exonerate.core.wire.packets.connections import PacketTable, Vantage
from exonerate.core.wire.packets.seen import Capture, capture_from_json, capture_to_json
from exonerate.core.wire.packets.segment import ACK, FIN, SYN, Segment, read_packet
from exonerate.core.wire.request_reader import RequestReader
from exonerate.core.wire.sse import EventReader

Target: TypeAlias = Callable[[bytes], None]
DIALECTS: tuple[Dialect, ...] = ("chat", "completions", "responses", "messages")
CODINGS = ("gzip", "deflate", "br", "zstd")
PACKET_ENDS = b"\xfe\xfd"
"""Between two packets of an input."""
PSEUDO = ((":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", "/v1/x"))


def pieces_of(content: bytes, step: int) -> list[bytes]:
    """The content cut at every `step` bytes."""
    return [content[at : at + step] for at in range(0, len(content), step)]


def _chosen(given: bytes) -> tuple[int, int, bytes]:
    """The variant, the size of pieces, and what the hop sends."""
    return (given[0] if given else 0), (given[1] if len(given) > 1 else 0) + 1, given[2:]


def answer(given: bytes) -> None:
    """An answer over HTTP/1.1 says the same however it was cut."""
    variant, step, content = _chosen(given)
    dialect = DIALECTS[variant % len(DIALECTS)]

    def read(pieces: list[bytes]) -> Any:
        reader = AnswerReader(dialect)
        meaningful = sum(reader.feed(piece) for piece in pieces)
        meaningful += reader.feed_eof() if variant & 128 else 0
        facts = replace(reader.facts(), defects=tuple(sorted(reader.facts().defects)))
        assert facts.meaningful_events == meaningful
        assert not (reader.reusable and reader.broken)
        return (
            meaningful,
            reader.head,
            reader.broken,
            reader.body_complete,
            reader.body_bytes,
            facts,
        )

    assert read([content]) == read(pieces_of(content, step))


def body(given: bytes) -> None:
    """The same for what stands in the body of a sound answer, in any of the codings."""
    variant, step, content = _chosen(given)
    coding = CODINGS[variant // 8 % 4] if variant & 64 else "identity"
    kind = b"text/event-stream" if variant & 32 else b"application/json"
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
    )
    head %= (kind, coding.encode(), len(content))
    whole = AnswerReader(DIALECTS[variant % 4])
    cut = AnswerReader(DIALECTS[variant % 4])
    counts = [whole.feed(head + content), sum(map(cut.feed, pieces_of(head + content, step)))]
    assert whole.body_complete
    assert cut.body_complete
    defects = sorted(whole.facts().defects), sorted(cut.facts().defects)
    if "invalid-coding" in defects[0]:
        # What a coding gave before it turned out to be broken depends on how it was given.
        assert "invalid-coding" in defects[1]
        return
    assert counts[0] == counts[1]
    assert defects[0] == defects[1]
    assert replace(whole.facts(), defects=()) == replace(cut.facts(), defects=())


def events(given: bytes) -> None:
    """A stream has the same events however it was cut."""
    _, step, content = _chosen(given)

    def read(pieces: list[bytes]) -> Any:
        reader = EventReader()
        found = [event for piece in pieces for event in reader.feed(piece)] + reader.finish()
        return found, reader.comments, reader.oversized, reader.chunk_size_lines

    assert read([content]) == read(pieces_of(content, step))


def coding(given: bytes) -> None:
    """A coded body gives the same bytes, or is refused, however it was cut."""
    variant, step, content = _chosen(given)

    def read(pieces: list[bytes]) -> Any:
        decoder = decoder_of(CODINGS[variant % len(CODINGS)])
        assert decoder is not None
        plain = bytearray()
        try:
            for piece in pieces:
                for part in decoder.decode(piece):
                    plain += part
                    if len(plain) > 1 << 22:
                        return "much"
        except CodingError:
            return "refused"
        return bytes(plain), decoder.whole

    assert read([content]) == read(pieces_of(content, step))


def http2(given: bytes) -> None:
    """An answer over HTTP/2 is read, or is a breach, however it was cut."""
    variant, step, content = _chosen(given)
    server = H2Connection(H2Configuration(client_side=False))
    server.initiate_connection()
    settings = bytes(server.data_to_send()) if variant & 1 else b""

    def read(pieces: list[bytes]) -> Any:
        wire = Http2Wire()
        stream = wire.request(PSEUDO, [], b"{}")
        reader = AnswerReader("chat", stream)
        meaningful = sum(reader.feed(piece) for piece in pieces)
        wire.outgoing()
        facts = replace(reader.facts(), defects=tuple(sorted(reader.facts().defects)))
        return meaningful, reader.head, reader.broken, stream.ending, stream.why, facts

    assert read([settings + content]) == read(pieces_of(settings + content, step))


def request(given: bytes) -> None:
    """A request that crosses a tap is read, however it was cut."""
    _, step, content = _chosen(given)

    def read(pieces: list[bytes]) -> Any:
        reader = RequestReader()
        for piece in pieces:
            if reader.take(piece):
                break
        return reader.asked(), reader.broken, reader.complete

    assert read([content]) == read(pieces_of(content, step))


def metrics(given: bytes) -> None:
    """A metrics page of any text is read as far as it makes sense."""
    parse_exposition(given.decode(errors="replace"))


def packets(given: bytes) -> None:
    """Captured packets of any content fold into connections whose counts fit together."""
    _, step, content = _chosen(given)
    table = PacketTable([8000], connections_max=8)
    for number, piece in enumerate(content.split(PACKET_ENDS)):
        packet = read_packet(piece, len(piece) + 40 * (step % 3))
        if isinstance(packet, Segment):
            assert len(packet.payload) <= packet.payload_bytes
        if packet is not None:
            vantage = Vantage(interface=number % (step % 4 + 1), leaving=False, near=True)
            table.take(packet, number, vantage)
    for connection in table.connections(0):
        assert connection.first_ns <= connection.last_ns
        for turn in connection.turns:
            assert 0 <= turn.request_acked <= turn.request_bytes
            assert 0 <= turn.answer_acked <= turn.answer_bytes
            assert 0 <= turn.missed_bytes <= turn.request_bytes
    seen = tuple(table.connections(0))
    capture = Capture(since_ns=0, until_ns=1, connections=seen)
    assert capture_from_json(capture_to_json(capture)) == capture


def engine_log(given: bytes) -> None:
    """A line of an engine's log becomes a known word and a number, or nothing."""
    for line in given[2:].decode("utf-8", "replace").splitlines():
        read = parse_engine(line)
        if read is not None:
            assert read.word in get_args(EngineWord)
            assert read.lasted_s is None or read.lasted_s >= 0
            assert engine_line_from_json(engine_line_to_json(read)) == read


def gpus(given: bytes) -> None:
    """What is read of GPUs can be written down and read again."""
    text = given[2:].decode("utf-8", "replace")
    for state in parse_gpus(text):
        assert gpu_from_json(gpu_to_json(state)) == state
    read = parse_kernel(text)
    assert read is None or (read.code >= 0 and read.at_us >= 0)


TARGETS: Mapping[str, Target] = {
    target.__name__: target
    for target in (answer, body, events, coding, http2, request, metrics, packets)
    for target in (answer, body, events, coding, http2, request, metrics, engine_log, gpus)
}

_EVENTS = (
    b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":" a"},"finish_reason":null}]}\n\n: ping\r\n\r\n'
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
_MESSAGES = (
    b"event: message_start\n"
    b'data: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n'
    b'data: {"type":"content_block_delta","delta":{"text":"a"}}\n\n'
    b'data: {"type":"message_stop"}\n\n'
)
_WHOLE = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{}}'
_CHUNKS = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (_EVENTS, _MESSAGES, b""))
_CODED = tuple(
    compress(_EVENTS) for compress in (gzip.compress, zlib.compress, brotli.compress, zstd.compress)
)


def _frame(kind: int, flags: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, 1]) + payload


def _conversation(client: tuple[str, int], server: tuple[str, int]) -> bytes:
    said = (
        tcp(client, server, sequence=9, flags=SYN),
        tcp(server, client, sequence=3, acknowledged=10, flags=SYN | ACK),
        tcp(client, server, sequence=10, acknowledged=4, payload=b"POST /v1 HTTP/1.1\r\n\r\n"),
        tcp(server, client, sequence=4, acknowledged=31, payload=b"HTTP/1.1 200 OK\r\n\r\n"),
        tcp(server, client, sequence=23, acknowledged=31, flags=ACK | FIN),
    )
    return PACKET_ENDS.join(said)


SEEDS: Mapping[str, tuple[bytes, ...]] = {
    "answer": (
        b"\0\x07HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: text/event-stream\r\n\r\n" + _CHUNKS,
        b"\x80\x03HTTP/1.0 200 OK\r\n\r\n" + _EVENTS,
        b"\x03\x10HTTP/1.1 200 OK\r\nContent-Length: 76\r\n\r\n" + _WHOLE,
    ),
    "body": (
        *(bytes([64 + 32 + 8 * number, 5]) + body for number, body in enumerate(_CODED)),
        b"\x00\x04" + _WHOLE,
        b"\x20\x04" + _EVENTS,
        b"\x23\x09" + _MESSAGES,
        b"\0\0<html>",
    ),
    "events": (b"\0\1\xef\xbb\xbf" + _EVENTS, b"\0\3event: x\rdata: 1\rdata: 2\r\r1a\n"),
    "coding": tuple(bytes([number, 3]) + body for number, body in enumerate(_CODED)),
    "http2": (
        b"\1\x20" + _frame(1, 4, b"\x88") + _frame(0, 1, _EVENTS),
        b"\1\x05" + _frame(1, 4, b"\x88") + _frame(3, 0, b"\0\0\0\2"),
        b"\1\x09" + b"\0\0\x08\x07\0\0\0\0\0" + bytes(8),
    ),
    "request": (
        b'\0\x06POST /v1/chat/completions?x HTTP/1.1\r\nContent-Length: 14\r\n\r\n{"stream":true}',
        b"\0\x02POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ),
    "packets": (
        b"\0\0" + _conversation(("10.0.0.2", 40000), ("10.0.0.3", 8000)),
        b"\0\x02" + _conversation(("fd00::2", 40000), ("fd00::3", 8000)),
    ),
    "engine_log": (
        b"\0\0[2026-12-01 02:47:31 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, "
        b"self.soft=False)\n[2026-12-01 02:47:31] Decode batch, #running-req: 1\n",
        b"\0\0(EngineCore_0 pid=7) ERROR 12-01 02:47:31 [core.py:1] EngineCore encountered a fatal "
        b"error.\nNo available shared memory broadcast block found in 60 seconds.\n",
        b"\0\0[rank0]:[E1201 02:47:31.1 P.cpp:629] [Rank 0] Watchdog caught collective operation "
        b"timeout: WorkNCCL(SeqNum=1) ran for 600081 milliseconds before timing out.\n",
    ),
    "gpus": (
        b"\0\0index, pci.bus_id, temperature.gpu, utilization.gpu [%], "
        b"clocks_event_reasons.hw_slowdown\n0, 00000000:65:00.0, 41, 97 %, Active\n",
        b"\0\x003,901,8123456,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off",
    ),
    "metrics": (b'# TYPE a counter\na{b="c\\"d"} 1.5 123\na_total +Inf\n',),
}
"""Where a search begins: sound inputs of each kind."""
