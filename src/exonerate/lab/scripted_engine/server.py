"""The sockets and routes of the scripted engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from itertools import takewhile

from exonerate.lab.compare import all_hold
from exonerate.lab.duplex import Duplex, happened
from exonerate.lab.http1 import Head, MalformedMessage, request_body, take_head
from exonerate.lab.scripted_engine.answers import Ask, WrongRequest, read_ask
from exonerate.lab.scripted_engine.board import Board
from exonerate.lab.scripted_engine.completion import (
    ClientLeft,
    Completion,
    Desk,
    EngineClosed,
    Job,
)
from exonerate.lab.scripted_engine.metrics_page import Counters
from exonerate.lab.scripted_engine.scheduler import Scheduler, epoch_s
from exonerate.lab.scripted_engine.script import (
    EngineScript,
    FaultWhen,
    Lost,
    Misbehaviour,
    Status,
)

COMPLETIONS = {"/v1/chat/completions": True, "/v1/completions": False}
REMEMBERED_PROMPTS = 32


class ScriptedEngine:
    """The process: its script, its counters, its connections."""

    def __init__(self, script: EngineScript, *, wall: Callable[[], float] = epoch_s) -> None:
        self._script = script
        self._counters = Counters()
        scheduler = Scheduler(script.max_running, self._counters, wall=wall)
        self._desk = Desk(script=script, counters=self._counters, scheduler=scheduler, texts={})
        self._board = Board(script, self._counters, scheduler)
        self._prompts: list[list[str]] = []
        self._started = 0.0
        self._conversations = asyncio.TaskGroup()

    async def serve(self, host: str, port: int, listening: Callable[[str], None]) -> None:
        """Serve until cancelled."""
        loop = asyncio.get_running_loop()
        self._started = loop.time()
        server = await loop.create_server(
            lambda: Duplex(asyncio.Event(), self._accept), host, port, start_serving=False
        )
        async with server, self._conversations:
            await server.start_serving()
            listening(f"http://{host}:{server.sockets[0].getsockname()[1]}")
            await server.serve_forever()

    def _accept(self, client: Duplex) -> None:
        self._conversations.create_task(self._converse(client))

    async def _converse(self, client: Duplex) -> None:
        """Every request of one connection."""
        try:
            count = 0
            while (read := await self._read_request(client)) is not None:
                count += 1
                if not await self._answer(client, *read, number=count):
                    return
        except MalformedMessage:
            send_json(client, 400, {"error": {"message": "not HTTP/1.1"}})
        finally:
            client.close()

    async def _read_request(self, client: Duplex) -> tuple[Head, bytes] | None:
        clock = asyncio.get_running_loop().time
        limit_s = self._script.idle_close_s
        until = clock() + limit_s if limit_s else None
        while (head := take_head(client.incoming)) is None:
            if client.gone or (not await happened(client.changed, until) and not client.incoming):
                return None
        body = request_body(head)
        payload = bytearray()
        while not body.done:
            if not client.incoming:
                if client.gone:
                    return None
                await happened(client.changed, None)
                continue
            piece = client.take()
            carried, used = body.feed(piece)
            payload += carried
            client.incoming[:0] = piece[used:]
        return head, bytes(payload)

    async def _answer(self, client: Duplex, head: Head, body: bytes, *, number: int) -> bool:
        """Answer one request; whether the connection goes on."""
        path = head.path.partition("?")[0]
        if path in COMPLETIONS and head.method == "POST":
            self._counters.requests += 1
            try:
                ask = read_ask(body, chat=COMPLETIONS[path])
            except WrongRequest as error:
                send_json(client, 400, {"error": {"message": str(error), "code": 400}})
                return True
            return await self._complete(client, head, ask, number=number)
        self._answer_get(client, path)
        return not head.says_close

    def _answer_get(self, client: Duplex, path: str) -> None:
        match path:
            case "/health":
                send_json(client, 200, {"status": "ok"})
            case "/v1/models":
                row = {"id": self._script.model, "object": "model", "owned_by": "lab"}
                send_json(client, 200, {"object": "list", "data": [row]})
            case "/metrics":
                send(client, 200, "text/plain; version=0.0.4", self._board.metrics().encode())
            case "/health_generate" if self._script.names == "sglang":
                # A token is made for it, which a scheduler that is stuck never does.
                if not self._desk.scheduler.stuck:
                    send_json(client, 200, {"status": "ok"})
            case "/ping" if self._script.names == "sglang":
                send_json(client, 200, {})
            case "/v1/loads" if self._script.names == "sglang":
                send(client, 200, "application/json", self._board.loads().encode())
            case _:
                send_json(client, 404, {"error": {"message": f"no such path: {path}"}})

    async def _complete(self, client: Duplex, head: Head, ask: Ask, *, number: int) -> bool:
        misbehaviours = self._misbehaviours(ask, number)
        for item in misbehaviours:
            if isinstance(item, Status):
                send_status(client, item)
                return True
            if isinstance(item, Lost):
                while not client.gone:
                    await happened(client.changed, None)
                return False
        close_delimited = self._script.framing == "close" or head.start.endswith("HTTP/1.0")
        job = Job(
            client=client,
            ask=ask,
            misbehaviours=misbehaviours,
            uncached_tokens=self._uncached(ask),
            close_delimited=close_delimited,
        )
        if not await self._play(job):
            return False
        ends = close_delimited or (ask.stream and self._script.close_after_stream)
        return not ends and not head.says_close

    async def _play(self, job: Job) -> bool:
        """Wait for a slot and make the answer; whether it is whole."""
        script, scheduler = self._script, self._desk.scheduler
        notice = script.notice_abort and script.half_close == "abort"
        if not await scheduler.admitted(job.client, notice_abort=notice):
            self._note_abort()
            return False
        leak = False
        try:
            await Completion(job, self._desk).play()
        except ClientLeft:
            leak = script.leak_slot_on_abort
            self._note_abort()
            return False
        except EngineClosed:
            self._counters.finished["error"] += 1
            return False
        finally:
            scheduler.release(leak=leak)
        return True

    def _note_abort(self) -> None:
        self._counters.aborted += 1
        self._counters.finished["abort"] += 1

    def _misbehaviours(self, ask: Ask, number: int) -> list[Misbehaviour]:
        return [fault.do for fault in self._script.faults if self._holds(fault.when, ask, number)]

    def _holds(self, when: FaultWhen, ask: Ask, number: int) -> bool:
        uptime_s = asyncio.get_running_loop().time() - self._started
        numbers = all_hold(
            [
                (when.request_in_process, self._counters.requests),
                (when.request_on_connection, number),
                (when.prompt_tokens, ask.prompt_tokens),
                (when.running, self._counters.running + 1),
                (when.aborts, self._counters.aborted),
                (when.uptime_s, uptime_s),
            ]
        )
        plain = (
            when.stream in (None, ask.stream)
            and when.tools in (None, ask.tools)
            and (when.content is None or when.content in ask.prompt)
        )
        return numbers and plain

    def _uncached(self, ask: Ask) -> int:
        """The words of a prompt that no remembered prompt begins with."""
        words = ask.prompt.split()
        if not self._script.prefix_cache:
            return len(words)
        shared = max((_common(words, other) for other in self._prompts), default=0)
        self._prompts = [*self._prompts[-REMEMBERED_PROMPTS:], words]
        return len(words) - shared


def _common(words: list[str], other: list[str]) -> int:
    pairs = zip(words, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def send_json(client: Duplex, status: int, row: object) -> None:
    """A JSON answer."""
    send(client, status, "application/json", json.dumps(row).encode())


def send_status(client: Duplex, item: Status) -> None:
    """An error in the form that OpenAI-style engines use."""
    row = {"error": {"message": item.message, "type": "engine_error", "code": item.status}}
    extra = f"Retry-After: {item.retry_after_s}\r\n" if item.retry_after_s is not None else ""
    send(client, item.status, "application/json", json.dumps(row).encode(), extra=extra)


def send(client: Duplex, status: int, kind: str, body: bytes, *, extra: str = "") -> None:
    """An answer with a length."""
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\n{extra}"
    client.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
