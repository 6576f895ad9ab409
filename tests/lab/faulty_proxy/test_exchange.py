"""What a client sees through the faulty proxy, fault by fault, on real loopback sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import pytest
from tests.support.skipped_time import played

from exonerate.lab.http1 import response_body, take_head
from exonerate.lab.scripted_engine.script import EngineScript

Chain = Callable[[str, EngineScript], AbstractAsyncContextManager[tuple[int, int]]]
HEALTHY = EngineScript(first_byte_s=0.0, token_s=0.0, answer_tokens=6)
SLOW = EngineScript(first_byte_s=0.0, token_s=0.03, answer_tokens=8)
PATIENCE_S = 5.0


@dataclass
class Seen:
    """What came back for one request."""

    status: int | None = None
    payload: bytes = b""
    raw: bytes = b""
    complete: bool = False
    ended: str = "open"
    at_s: list[float] = field(default_factory=list)

    @property
    def events(self) -> list[bytes]:
        """The events of the stream."""
        return [piece for piece in self.payload.split(b"\n\n") if piece]

    @property
    def text(self) -> str:
        """The text of all deltas."""
        rows = [json.loads(piece[6:]) for piece in self.events if piece.startswith(b"data: {")]
        choices = [choice for row in rows for choice in row["choices"]]
        return "".join(choice["delta"].get("content") or "" for choice in choices)


class Client:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Client:
        """A fresh connection."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(
        self, prompt: str = "hello there", *, wait_s: float = PATIENCE_S, **options: object
    ) -> Seen:
        """Send one chat request and read until its answer is over, or the time is."""
        await self.send(prompt, **options)
        return await self.read(wait_s)

    async def send(self, prompt: str = "hello there", **options: object) -> None:
        """Send one chat request."""
        body = {"messages": [{"role": "user", "content": prompt}], "stream": True, **options}
        encoded = json.dumps(body).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(encoded)}"
        self.writer.write(head.encode() + b"\r\n\r\n" + encoded)
        await self.writer.drain()

    async def read(self, wait_s: float = PATIENCE_S) -> Seen:
        """Read one answer."""
        seen, buffer, body = Seen(), bytearray(), None
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(wait_s):
                while not seen.complete:
                    data = await self.reader.read(65536)
                    if not data:
                        seen.ended = "fin"
                        break
                    seen.raw += data
                    seen.at_s.append(clock() - begun)
                    buffer += data
                    if body is None:
                        head = take_head(buffer)
                        if head is None:
                            continue
                        seen.status, body = head.status, response_body(head, to_method="POST")
                    payload, _used = body.feed(bytes(buffer))
                    buffer.clear()
                    seen.payload += payload
                    seen.complete = body.done
        except TimeoutError:
            seen.ended = "silent"
        except ConnectionResetError:
            seen.ended = "rst"
        return seen

    def close(self) -> None:
        """FIN."""
        self.writer.close()


async def counters(port: int) -> dict[str, float]:
    """The engine's own counters."""
    client = await Client.to(port)
    client.writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    page = (await client.read()).payload.decode()
    client.close()
    rows = [line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#")]
    totals: dict[str, float] = {}
    for name, value in rows:
        bare = name.partition("{")[0].partition(":")[2]
        totals[bare] = totals.get(bare, 0.0) + float(value)
        if "abort" in name:
            totals["aborts"] = float(value)
    return totals


def test_neutral_without_rules(chain: Chain) -> None:
    """Without rules the bytes are the engine's own, and the connection is kept."""

    async def work() -> None:
        async with chain("", HEALTHY) as (port, engine_port):
            through, direct = await Client.to(port), await Client.to(engine_port)
            for _ in range(3):
                one, other = await through.ask(), await direct.ask()
                assert one.raw == other.raw
                assert one.complete
                assert one.events[-1] == b"data: [DONE]"
            through.close()
            direct.close()

    played(work())


def test_kept_downstream_while_the_engine_closes(chain: Chain) -> None:
    """An engine that closes after each streamed answer does not break the client's connection."""

    async def work() -> None:
        script = EngineScript(
            first_byte_s=0.0, token_s=0.0, answer_tokens=3, close_after_stream=True
        )
        async with chain("", script) as (port, _):
            client = await Client.to(port)
            for _ in range(5):
                assert (await client.ask()).complete
            client.close()

    played(work())


def test_events_pass_one_by_one(chain: Chain) -> None:
    """A neutral proxy hands on each event when it comes, not all at the end."""

    async def work() -> None:
        async with chain("", SLOW) as (port, _):
            client = await Client.to(port)
            seen = await client.ask()
            assert len(seen.at_s) >= 6
            assert seen.at_s[-1] - seen.at_s[0] > 0.1
            client.close()

    played(work())


def test_swallow_the_fourth_on_a_connection(chain: Chain) -> None:
    """The 4th request is lost in silence; a fresh connection works at once."""
    rules = 'rule = [{ when = { request_on_connection = 4 }, do = "swallow" }]'

    async def work() -> None:
        async with chain(rules, HEALTHY) as (port, engine_port):
            client = await Client.to(port)
            for _ in range(3):
                assert (await client.ask()).complete
            before = await counters(engine_port)
            assert (await client.ask(wait_s=0.2)).ended == "silent"
            assert await counters(engine_port) == before
            fresh = await Client.to(port)
            assert (await fresh.ask()).complete
            fresh.close()
            client.close()

    played(work())


def test_swallow_only_the_answer(chain: Chain) -> None:
    """With `forward` the engine works for a client that never hears of it."""
    rules = 'rule = [{ do = { action = "swallow", forward = true } }]'

    async def work() -> None:
        async with chain(rules, HEALTHY) as (port, engine_port):
            client = await Client.to(port)
            seen = await client.ask(wait_s=0.2)
            assert (seen.ended, seen.raw) == ("silent", b"")
            assert (await counters(engine_port))["generation_tokens_total"] == 6
            client.close()

    played(work())


@pytest.mark.parametrize(
    ("do", "ended"), [('"close"', "fin"), ('"reset"', "rst"), ('"stall"', "silent")]
)
def test_ends_in_mid_stream(chain: Chain, do: str, ended: str) -> None:
    """After three events the stream is closed, reset or stalled, with status 200 long sent."""
    rules = f"rule = [{{ at = {{ events = 3 }}, do = {do} }}]"

    async def work() -> None:
        async with chain(rules, SLOW) as (port, _):
            client = await Client.to(port)
            seen = await client.ask(wait_s=0.6)
            assert (seen.status, seen.ended, seen.complete) == (200, ended, False)
            assert 3 <= len(seen.events) < 8
            client.close()

    played(work())


def test_idle_timer_and_total_timer(chain: Chain) -> None:
    """A silence timer spares a slow steady stream that a total timer kills."""
    silence = 'rule = [{ at = { silence_s = 0.1 }, do = { action = "refuse", status = 504 } }]'
    total = 'rule = [{ at = { total_s = 0.1 }, do = { action = "refuse", status = 504 } }]'
    slow_first = EngineScript(first_byte_s=0.4, token_s=0.0)

    async def work() -> None:
        async with chain(silence, SLOW) as (port, _):
            client = await Client.to(port)
            assert (await client.ask()).complete
            client.close()
        async with chain(total, SLOW) as (port, _):
            client = await Client.to(port)
            cut = await client.ask()
            assert (cut.status, cut.ended) == (200, "fin")
            client.close()
        async with chain(silence, slow_first) as (port, _):
            client = await Client.to(port)
            late = await client.ask()
            assert late.status == 504
            assert b"<html>" in late.payload
            client.close()

    played(work())


def test_refused_by_size(chain: Chain) -> None:
    """A body over the limit is refused with the proxy's own page; the engine never sees it."""
    rules = 'rule = [{ when = { request_bytes = "> 1000" }, do = {action="refuse", status=413} }]'

    async def work() -> None:
        async with chain(rules, HEALTHY) as (port, engine_port):
            client = await Client.to(port)
            assert (await client.ask("short")).status == 200
            assert (await client.ask("long " * 300)).status == 413
            assert (await client.ask("short")).status == 200
            assert (await counters(engine_port))["request_success_total"] == 2
            client.close()

    played(work())


def test_buffer_and_coalesce(chain: Chain) -> None:
    """A buffering proxy sends one burst at the end, a coalescing one a few."""

    async def work() -> None:
        async with chain('rule = [{ do = "buffer" }]', SLOW) as (port, _):
            client = await Client.to(port)
            seen = await client.ask()
            assert seen.complete
            assert seen.at_s[0] > 0.2
            assert seen.at_s[-1] - seen.at_s[0] < 0.1
            client.close()
        rules = 'rule = [{ do = { action = "buffer", window_s = 0.1 } }]'
        async with chain(rules, SLOW) as (port, _):
            client = await Client.to(port)
            seen = await client.ask()
            assert seen.complete
            assert 2 <= len(seen.at_s) <= 5
            client.close()

    played(work())


def test_delay_and_throttle(chain: Chain) -> None:
    """Delays hold the request or the answer back; a throttle spreads the bytes."""

    async def work() -> None:
        for what in ("request", "answer"):
            rules = f'rule = [{{ do = {{ action="delay", seconds=0.2, what="{what}" }} }}]'
            async with chain(rules, HEALTHY) as (port, _):
                client = await Client.to(port)
                seen = await client.ask()
                assert seen.complete
                assert seen.at_s[0] >= 0.19
                client.close()
        rules = 'rule = [{ do = { action = "throttle", bytes_per_s = 5000 } }]'
        async with chain(rules, HEALTHY) as (port, _):
            client = await Client.to(port)
            seen = await client.ask()
            assert seen.complete
            assert seen.at_s[-1] >= len(seen.raw) / 5000 * 0.8
            client.close()

    played(work())


def test_lost_ending(chain: Chain) -> None:
    """Without `[DONE]` and terminal chunk, after a clean close: all text came, the end did not."""

    async def work() -> None:
        async with chain('rule = [{ do = "lose-ending" }]', HEALTHY) as (port, engine_port):
            client, direct = await Client.to(port), await Client.to(engine_port)
            seen, whole = await client.ask(), await direct.ask()
            assert (seen.complete, seen.ended) == (False, "fin")
            assert seen.events == whole.events[:-1]
            client.close()
            direct.close()

    played(work())


def test_invented_ending(chain: Chain) -> None:
    """A cut answer looks finished: `stop`, `[DONE]`, terminal chunk, connection kept."""
    rules = 'rule = [{ when={request_on_connection=1}, at={events=3}, do="invent-ending" }]'

    async def work() -> None:
        async with chain(rules, SLOW) as (port, _):
            client = await Client.to(port)
            short, full = await client.ask(), await client.ask()
            assert short.complete
            assert short.events[-1] == b"data: [DONE]"
            assert json.loads(short.events[-2][6:])["choices"][0]["finish_reason"] == "stop"
            assert full.text.startswith(short.text)
            assert len(full.text) > len(short.text)
            client.close()

    played(work())


def test_leaked_framing(chain: Chain) -> None:
    """After de-chunking, the lines with the chunk sizes are still in the body."""

    async def work() -> None:
        async with chain('rule = [{ do = "leak-framing" }]', HEALTHY) as (port, engine_port):
            client, direct = await Client.to(port), await Client.to(engine_port)
            seen, whole = await client.ask(), await direct.ask()
            assert seen.complete
            assert seen.payload != whole.payload
            assert seen.payload.endswith(b"0\r\n\r\n")
            client.close()
            direct.close()

    played(work())


def test_duplicates_reach_the_engine(chain: Chain) -> None:
    """One request of the client becomes three of the proxy, and none of them is cancelled."""
    rules = 'rule = [{ do = { action = "duplicate", copies = 3, after_s = 0.05 } }]'
    script = EngineScript(first_byte_s=0.2, token_s=0.0, names="sglang")

    async def work() -> None:
        async with chain(rules, script) as (port, engine_port):
            client = await Client.to(port)
            assert (await client.ask()).complete
            await asyncio.sleep(0.2)
            seen = await counters(engine_port)
            assert seen["http_requests_total"] == 3
            assert "num_aborted_requests_total" not in seen
            client.close()

    played(work())


def test_no_copies_for_an_engine_that_answers_in_time(chain: Chain) -> None:
    """A retry rule does nothing while the engine is fast."""
    rules = 'rule = [{ do = { action = "duplicate", copies = 3, after_s = 1 } }]'

    async def work() -> None:
        async with chain(rules, HEALTHY) as (port, engine_port):
            client = await Client.to(port)
            assert (await client.ask()).complete
            assert (await counters(engine_port))["request_success_total"] == 1
            client.close()

    played(work())


@pytest.mark.parametrize(("rules", "aborts"), [("", 1.0), ('rule=[{do="keep-upstream"}]', 0.0)])
def test_leaving_client(chain: Chain, rules: str, aborts: float) -> None:
    """The client's leaving reaches the engine, unless the proxy keeps the upstream open."""
    script = EngineScript(first_byte_s=0.0, token_s=0.02, answer_tokens=10)

    async def work() -> None:
        async with chain(rules, script) as (port, engine_port):
            client = await Client.to(port)
            await client.send()
            await client.reader.readuntil(b"data: ")
            client.close()
            for _ in range(100):
                seen = await counters(engine_port)
                if seen["num_requests_running"] == 0 and seen["request_success_total"]:
                    break
                await asyncio.sleep(0.02)
            assert seen["aborts"] == aborts

    played(work())


class InFlight:
    """Streams that were begun one after the other, and what came of all of them, in its order."""

    def __init__(self) -> None:
        self.order: list[tuple[int, str]] = []
        self._news = asyncio.Event()

    async def watch(self, port: int, number: int) -> None:
        """Read one stream to its end."""
        client = await Client.to(port)
        await client.send()
        while await client.reader.read(65536):
            self._note(number, "piece")
        self._note(number, "end")
        client.close()

    def _note(self, number: int, what: str) -> None:
        self.order.append((number, what))
        self._news.set()

    async def pieces(self, number: int, count: int) -> None:
        """Wait until a stream has brought so many pieces, or has ended."""
        while self.order.count((number, "piece")) < count and (number, "end") not in self.order:
            self._news.clear()
            await self._news.wait()

    @property
    def ended(self) -> bool:
        """Whether any of them has ended."""
        return any(what == "end" for _, what in self.order)

    def pieces_after_the_first_end(self, number: int) -> int:
        """How long a stream outlived the first of them."""
        first = next(at for at, (_, what) in enumerate(self.order) if what == "end")
        return self.order[first:].count((number, "piece"))


async def streams_of_one_beat(port: int) -> InFlight:
    """Three streams, each some pieces after the one before, and no beat in between."""
    for _attempt in range(50):
        streams = InFlight()
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(streams.watch(port, number))
                await streams.pieces(number, 6)
            together = not streams.ended
        if together:
            return streams
    raise AssertionError("a beat fell between the beginnings, fifty times")


def test_periodic_kill_hits_all_in_flight(chain: Chain) -> None:
    """Streams that began at different times die by the same beat."""
    rules = 'rule = [{ at = { every_s = 0.6, phase_s = 0.1 }, do = "close" }]'
    script = EngineScript(first_byte_s=0.0, token_s=0.02, answer_tokens=200)

    async def work() -> None:
        async with chain(rules, script) as (port, _):
            streams = await streams_of_one_beat(port)
            for number in range(3):
                assert streams.order.count((number, "end")) == 1
                # Each began six pieces after the other: by clocks of their own they would also
                # end six pieces apart. What was on its way at the beat may still come.
                assert streams.pieces_after_the_first_end(number) <= 2

    played(work())


def test_misrouted_requests(chain: Chain) -> None:
    """Every second request goes to an address where nobody listens and gets a 502."""
    rules = """
      [[rule]]
      when = { request_in_process = "every 2" }
      do = { action = "misroute", upstream = "http://127.0.0.1:1" }
    """

    async def work() -> None:
        async with chain(rules, HEALTHY) as (port, _):
            client = await Client.to(port)
            assert [(await client.ask()).status for _ in range(4)] == [200, 502, 200, 502]
            client.close()

    played(work())


@pytest.mark.parametrize(
    ("stale", "status", "ended"),
    [("retry", 200, "open"), ("fail", 502, "open"), ("hang", None, "silent")],
)
def test_stale_upstream_pool(chain: Chain, stale: str, status: int | None, ended: str) -> None:
    """The engine closed the kept connection: retried, answered by 502, or lost in silence."""
    script = EngineScript(first_byte_s=0.0, token_s=0.0, idle_close_s=0.05)

    async def work() -> None:
        async with chain(f'upstream = {{ stale = "{stale}" }}', script) as (port, _):
            client = await Client.to(port)
            assert (await client.ask()).complete
            await asyncio.sleep(0.15)
            seen = await client.ask(wait_s=0.3)
            assert (seen.status, seen.ended) == (status, ended)
            client.close()

    played(work())


def test_limits_on_client_connections(chain: Chain) -> None:
    """Idle connections are closed after their time, others after their number of requests."""

    async def work() -> None:
        async with chain("downstream = { idle_close_s = 0.1 }", HEALTHY) as (port, _):
            client = await Client.to(port)
            assert (await client.ask()).complete
            assert (await client.read(1.0)).ended == "fin"
            client.close()
        async with chain("downstream = { requests_per_connection = 2 }", HEALTHY) as (port, _):
            client = await Client.to(port)
            assert b"Connection: close" not in (await client.ask()).raw
            assert b"Connection: close" in (await client.ask()).raw
            assert (await client.read(1.0)).ended == "fin"
            client.close()

    played(work())


@pytest.mark.parametrize(("half_close", "complete"), [("pass", True), ("abort", False)])
def test_half_closing_client(chain: Chain, half_close: str, complete: bool) -> None:
    """A client that ends its sending side after the request is answered, or taken for gone."""
    script = EngineScript(first_byte_s=0.1, token_s=0.0, half_close="answer")

    async def work() -> None:
        rules = f'downstream = {{ half_close = "{half_close}" }}'
        async with chain(rules, script) as (port, _):
            client = await Client.to(port)
            await client.send()
            client.writer.write_eof()
            assert (await client.read(1.0)).complete is complete
            client.close()

    played(work())


def test_chunked_request_and_content_conditions(chain: Chain) -> None:
    """Rules can single out chunked requests and requests with certain bytes."""
    rules = """rule = [
      { when = { chunked = true }, do = { action = "refuse", status = 411 } },
      { when = { content = "forbidden" }, do = { action = "refuse", status = 403 } },
      { when = { stream = false }, do = { action = "refuse", status = 406 } },
    ]"""

    async def work() -> None:
        async with chain(rules, HEALTHY) as (port, _):
            client = await Client.to(port)
            assert (await client.ask("fine")).status == 200
            assert (await client.ask("a forbidden word")).status == 403
            assert (await client.ask(stream=False)).status == 406
            client.writer.write(
                b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"2\r\n{}\r\n0\r\n\r\n"
            )
            assert (await client.read()).status == 411
            client.close()

    played(work())


def test_malformed_request(chain: Chain) -> None:
    """Bytes that are not HTTP get a 400 and a close, and the proxy goes on."""

    async def work() -> None:
        async with chain("", HEALTHY) as (port, _):
            client = await Client.to(port)
            client.writer.write(b"GET / HTTP/1.1\r\nno colon here\r\n\r\n")
            assert (await client.read()).status == 400
            client.close()
            other = await Client.to(port)
            assert (await other.ask()).complete
            other.close()

    played(work())
