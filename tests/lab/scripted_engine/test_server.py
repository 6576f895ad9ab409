"""The scripted engine on real loopback sockets: healthy, and fault by fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.support.skipped_time import played

from exonerate.adapters.engines.names import counter_reader, engine_states
from exonerate.lab.http1 import ChunkedBody, Head, response_body, take_head
from exonerate.lab.scripted_engine.script import EngineScript, parse_script
from exonerate.lab.scripted_engine.server import ScriptedEngine

QUICK = {"first_byte_s": 0.0, "token_s": 0.0, "answer_tokens": 6}
PATIENCE_S = 5.0
EPOCH_S = 1_760_000_000.0


@asynccontextmanager
async def engine(**tables: object) -> AsyncIterator[int]:
    """The port of an engine with this script."""
    script: EngineScript = parse_script({**QUICK, **tables})
    async with asyncio.TaskGroup() as group:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[str] = loop.create_future()
        played_engine = ScriptedEngine(script, wall=lambda: EPOCH_S + loop.time())
        task = group.create_task(played_engine.serve("127.0.0.1", 0, ready.set_result))
        yield int((await ready).rpartition(":")[2])
        task.cancel()


async def ask(
    port: int, prompt: str = "hello there", *, wait_s: float = PATIENCE_S, **options: object
) -> tuple[Head | None, bytes, bool]:
    """Head, payload and whether the answer was whole, over a fresh connection."""
    body = {"messages": [{"role": "user", "content": prompt}], "stream": True, **options}
    path = "/v1/completions" if "prompt" in options else "/v1/chat/completions"
    return await request(port, f"POST {path}", json.dumps(body).encode(), wait_s=wait_s)


async def request(
    port: int, line: str, body: bytes = b"", *, wait_s: float = PATIENCE_S
) -> tuple[Head | None, bytes, bool]:
    """Head, payload and whether the answer was whole, over a fresh connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    buffer, answer, payload, whole = bytearray(), None, b"", False
    try:
        async with asyncio.timeout(wait_s):
            while not whole and (data := await reader.read(65536)):
                buffer += data
                if answer is None and (answer := take_head(buffer)) is not None:
                    framing = response_body(answer, to_method="POST")
                if answer is not None:
                    payload += framing.feed(bytes(buffer))[0]
                    buffer.clear()
                    whole = framing.done
    except TimeoutError:
        pass
    writer.close()
    return answer, payload, whole


def text_of(payload: bytes) -> str:
    """The text of a streamed chat answer."""
    rows = [json.loads(piece[6:]) for piece in payload.split(b"\n\n") if piece[6:7] == b"{"]
    choices = [choice for row in rows for choice in row["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def counters(port: int) -> dict[str, float]:
    """The counters by bare name, labels added up."""
    _, page, _ = await request(port, "GET /metrics")
    totals: dict[str, float] = {}
    for line in page.decode().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            bare = name.partition("{")[0].partition(":")[2]
            totals[bare] = totals.get(bare, 0.0) + float(value)
    return totals


def test_same_prompt_same_text() -> None:
    """The same prompt gets the same text, streamed or not; another prompt another text."""

    async def work() -> None:
        async with engine() as port:
            _, streamed, whole = await ask(port)
            assert whole
            assert streamed.endswith(b"data: [DONE]\n\n")
            _, plain, _ = await ask(port, stream=False)
            message = json.loads(plain)["choices"][0]["message"]["content"]
            assert message == text_of(streamed) != ""
            assert text_of((await ask(port, "something else"))[1]) != message

    played(work())


def test_completions_usage_and_limits() -> None:
    """Plain completions, usage in words, and the token limit work as in OpenAI's API."""

    async def work() -> None:
        async with engine() as port:
            _, payload, _ = await ask(port, prompt="one two three", stream=False, max_tokens=2)
            answer = json.loads(payload)
            assert answer["usage"] == {
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "total_tokens": 5,
            }
            assert answer["choices"][0]["finish_reason"] == "length"
            _, payload, _ = await ask(port, stream_options={"include_usage": True})
            assert b'"usage":{"prompt_tokens":2,"completion_tokens":6' in payload

    played(work())


def test_echo() -> None:
    """The control answers with the prompt's own words."""

    async def work() -> None:
        async with engine(echo=True) as port:
            assert text_of((await ask(port, "one two three"))[1]) == " one two three"

    played(work())


@pytest.mark.parametrize("names", ["sglang", "vllm"])
def test_counters_move(names: str) -> None:
    """Prompt and output tokens are counted in the names of the engine that is played."""

    async def work() -> None:
        async with engine(names=names) as port:
            before = await counters(port)
            await ask(port, "one two three")
            after = await counters(port)
            assert after["generation_tokens_total"] - before["generation_tokens_total"] == 6
            assert after["prompt_tokens_total"] - before["prompt_tokens_total"] == 3

    played(work())


def test_other_paths() -> None:
    """Health, models, unknown paths and wrong bodies are answered as an engine does."""

    async def work() -> None:
        async with engine(model="m") as port:
            assert (await request(port, "GET /health"))[1] == b'{"status": "ok"}'
            assert b'"id": "m"' in (await request(port, "GET /v1/models"))[1]
            for line, body, status in [
                ("GET /nothing", b"", 404),
                ("POST /v1/chat/completions", b"not json", 400),
                ("POST /v1/chat/completions", b"[]", 400),
                ("POST /v1/chat/completions", b'{"messages": 3}', 400),
            ]:
                head, _, _ = await request(port, line, body)
                assert head is not None
                assert head.status == status

    played(work())


def test_stuck_scheduler() -> None:
    """Running stays 1, tokens stay flat, health stays 200, and nobody else is served."""

    async def work() -> None:
        fault = {"when": {"request_in_process": 2}, "do": {"action": "stuck", "after_tokens": 2}}
        async with engine(fault=[fault]) as port:
            assert (await ask(port))[2]
            async with asyncio.TaskGroup() as group:
                victim = group.create_task(ask(port, wait_s=0.5))
                await asyncio.sleep(0.1)
                other = group.create_task(ask(port, wait_s=0.3))
                await asyncio.sleep(0.1)
                first, second = await counters(port), await counters(port)
                assert first["num_requests_running"] == 1
                assert first["num_requests_waiting"] == 1
                assert first == second
                head, _, _ = await request(port, "GET /health")
                assert head is not None
                assert head.status == 200
            assert not victim.result()[2]
            assert other.result() == (None, b"", False)

    played(work())


def test_lost_request_shows_in_no_counter() -> None:
    """A request that the front end lost is in no gauge, and others are served."""

    async def work() -> None:
        fault = {"when": {"request_in_process": 1}, "do": "lost"}
        async with engine(fault=[fault]) as port:
            async with asyncio.TaskGroup() as group:
                victim = group.create_task(ask(port, wait_s=0.3))
                await asyncio.sleep(0.1)
                seen = await counters(port)
                assert (seen["num_requests_running"], seen["num_requests_waiting"]) == (0, 0)
                assert (await ask(port))[2]
            assert victim.result() == (None, b"", False)

    played(work())


def test_leaked_slots() -> None:
    """Each abort costs a slot for good; after as many as there are, requests wait for ever."""

    async def work() -> None:
        script = {"max_running": 2, "leak_slot_on_abort": True, "token_s": 0.02}
        async with engine(**script) as port:
            for _ in range(2):
                assert not (await ask(port, wait_s=0.05))[2]
                await asyncio.sleep(0.05)
            assert await ask(port, wait_s=0.3) == (None, b"", False)
            seen = await counters(port)
            assert (seen["num_requests_running"], seen["kv_cache_usage_perc"]) == (0, 1)

    played(work())


def test_corruption_by_batch() -> None:
    """Alone the text is right; with four running it is garbage."""

    async def work() -> None:
        fault = {"do": {"action": "corrupt", "while_running": 4}}
        async with engine(token_s=0.01, fault=[fault]) as port:
            alone = text_of((await ask(port))[1])
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(port)) for _ in range(4)]
            assert all(text_of(task.result()[1]) != alone for task in tasks)
            assert text_of((await ask(port))[1]) == alone

    played(work())


def test_special_token_only_when_streaming_with_tools() -> None:
    """The template's token leaks only in the shape that the script names."""

    async def work() -> None:
        fault = {"when": {"stream": True, "tools": True}, "do": "special-token"}
        async with engine(fault=[fault]) as port:
            assert b"<|im_end|>" not in (await ask(port))[1]
            assert b"<|im_end|>" not in (await ask(port, tools=[{}], stream=False))[1]
            assert b"<|im_end|>" in (await ask(port, tools=[{}]))[1]

    played(work())


def test_status_then_service() -> None:
    """The first two requests get 429 with a retry time, the third an answer."""

    async def work() -> None:
        do = {"action": "status", "status": 429, "retry_after_s": 1}
        fault = {"when": {"request_in_process": "<= 2"}, "do": do}
        async with engine(fault=[fault]) as port:
            answers = [(await ask(port))[0] for _ in range(3)]
            assert [answer.status for answer in answers if answer] == [429, 429, 200]
            assert answers[0] is not None
            assert answers[0].value("Retry-After") == "1"

    played(work())


def test_idle_close_cut_and_close_delimited() -> None:
    """Idle connections are closed, answers cut, and bodies ended by closing, as scripted."""

    async def work() -> None:
        async with engine(idle_close_s=0.05) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
            writer.close()
        async with engine(fault=[{"do": "cut"}]) as port:
            head, payload, whole = await ask(port)
            assert head is not None
            assert payload.count(b"\n\n") == 3
            assert not whole
        async with engine(framing="close") as port:
            head, payload, _ = await ask(port)
            assert head is not None
            assert head.says_close
            assert payload.endswith(b"[DONE]\n\n")

    played(work())


def test_prefill_grows_with_the_uncached_prompt() -> None:
    """A long prompt delays the first byte; the same prompt again does not."""

    async def work() -> None:
        async with engine(prefill_tokens_per_s=1000, prefix_cache=True) as port:
            clock = asyncio.get_running_loop().time
            took = []
            for _ in range(2):
                begun = clock()
                await ask(port, "word " * 300)
                took.append(clock() - begun)
            assert took[0] >= 0.3
            assert took[1] < 0.2

    played(work())


def test_silence_with_heartbeats() -> None:
    """During a silence only comments come, and the answer is whole in the end."""

    async def work() -> None:
        fault = {"do": {"action": "silence", "after_tokens": 2, "seconds": 0.3}}
        async with engine(heartbeat_s=0.1, fault=[fault]) as port:
            _, payload, whole = await ask(port)
            assert whole
            assert payload.count(b": heartbeat\n\n") >= 2

    played(work())


def test_slow_and_foreign() -> None:
    """A slowed answer takes its time, and a mixed-up one carries another request's words."""

    async def work() -> None:
        when = {"content": "victim"}
        faults = [{"when": when, "do": {"action": "corrupt", "how": "foreign"}}]
        async with engine(token_s=0.01, fault=faults) as port:
            alone = text_of((await ask(port, "victim"))[1])
            async with asyncio.TaskGroup() as group:
                other = group.create_task(ask(port, "the other one"))
                mixed = group.create_task(ask(port, "victim"))
            assert text_of(mixed.result()[1]) != alone
            assert set(text_of(mixed.result()[1]).split()) <= {
                *text_of(other.result()[1]).split(),
                *alone.split(),
            }
        async with engine(first_byte_s=0.05, fault=[{"do": {"action": "slow"}}]) as port:
            clock = asyncio.get_running_loop().time
            begun = clock()
            await ask(port)
            assert clock() - begun >= 0.25

    played(work())


def test_chunked_requests_are_read() -> None:
    """A request body in chunks is read like any other."""

    async def work() -> None:
        async with engine() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            writer.write(head + b'f\r\n{"prompt": "hi"\r\n1\r\n}\r\n0\r\n\r\n')
            answer = await reader.readuntil(b"}]")
            assert answer.startswith(b"HTTP/1.1 200")
            writer.close()
        assert not ChunkedBody().done

    played(work())


async def counters_of(port: int) -> dict[str, float]:
    """What `locate` reads of the engine: its metrics page, and its state where it has a page."""
    kind, values = counter_reader()((await request(port, "GET /metrics"))[1].decode())
    assert kind is not None
    answer, page, _ = await request(port, "GET /v1/loads?include=core")
    said = engine_states().read(kind, page.decode()) if answer and answer.status == 200 else {}
    return {**values, **{f"state:{name}": number for name, number in said.items()}}


def test_a_frozen_scheduler_shows_what_was_and_its_clock_stands() -> None:
    """Its gauges stay at nothing while a client waits; only the age of its state tells."""
    fault = {"do": {"action": "stuck", "freezes_counters": True}}

    async def work() -> None:
        async with engine(names="sglang", fault=[fault]) as port:
            before = await counters_of(port)
            await asyncio.sleep(0.1)
            await ask(port, wait_s=0.6)
            frozen = await counters_of(port)
            await asyncio.sleep(0.3)
            later = await counters_of(port)
            assert (frozen["running"], frozen["waiting"]) == (0, 0)
            assert before["state:state_age_s"] < 0.2 < frozen["state:state_age_s"]
            assert later["state:state_age_s"] > frozen["state:state_age_s"]
            assert later["heartbeat"] == frozen["heartbeat"] > before["heartbeat"]

    played(work())


def test_only_a_scheduler_that_works_answers_the_deep_health_page() -> None:
    """SGLang makes a token for it; its front end goes on saying that it is there."""

    async def work() -> None:
        async with engine(names="sglang", fault=[{"do": "stuck"}]) as port:
            deep, _, _ = await request(port, "GET /health_generate")
            assert deep is not None
            assert deep.status == 200
            await ask(port, wait_s=0.2)
            assert (await request(port, "GET /health_generate", wait_s=0.3))[0] is None
            there, _, _ = await request(port, "GET /ping")
            assert there is not None
            assert there.status == 200

    played(work())


def test_gauges_that_lag_show_a_load_that_is_gone() -> None:
    """As SGLang's do; the seconds without work and the state page tell the truth meanwhile."""

    async def work() -> None:
        async with engine(names="sglang", gauge_lag_s=60.0) as port:
            await ask(port)
            first = await counters_of(port)
            await asyncio.sleep(0.3)
            later = await counters_of(port)
            assert first["running"] == later["running"] == 1
            assert later["state:running"] == 0
            assert later["idle_s"] - first["idle_s"] > 0.2

    played(work())


def test_vllm_has_no_state_page_and_names_its_start() -> None:
    """Its names differ, and so does what it tells of itself."""

    async def work() -> None:
        async with engine(names="vllm") as port:
            seen = await counters_of(port)
            assert seen["started_at"] > 1.7e9
            assert not [name for name in seen if name.startswith("state:")]

    played(work())
