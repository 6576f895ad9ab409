"""The sockets of the faulty proxy: accepts, reads requests, hands each to an `Exchange`.

SIGHUP reads the rules file again; a file that is wrong is reported and the old rules stay.
Counters of requests and connections, and the clock of periodic faults, begin with the process.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from exonerate.errors import ExonerateError
from exonerate.lab.duplex import Duplex, happened
from exonerate.lab.faulty_proxy.conditions import Request, Situation, armed
from exonerate.lab.faulty_proxy.exchange import Exchange, Outcome, Surroundings
from exonerate.lab.faulty_proxy.refusal import refusal
from exonerate.lab.faulty_proxy.rules import Behaviour, Refuse
from exonerate.lab.faulty_proxy.upstream import Address, EngineConnections
from exonerate.lab.http1 import Head, MalformedMessage, request_body, take_head

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where to listen, where to send, and what to read the behaviour from."""

    host: str
    port: int
    engine: Address
    behaviour: Callable[[], Behaviour]
    log: TextIO | None = None


class FaultyProxy:
    """The process: its counters, its rules, its connections."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._behaviour = serving.behaviour()
        self._rng = random.Random(self._behaviour.seed)
        self._strays: list[Duplex] = []
        self._started = 0.0
        self._requests = 0
        self._connections = 0
        self._open = 0
        self._in_flight = 0
        self._conversations = asyncio.TaskGroup()

    async def serve(self, listening: Callable[[str], None]) -> None:
        """Serve until cancelled."""
        loop = asyncio.get_running_loop()
        self._started = loop.time()
        # Bound outside the group, so that a port in use is an OSError and not a group of one.
        server = await loop.create_server(
            lambda: Duplex(asyncio.Event(), self._accept),
            self._serving.host,
            self._serving.port,
            start_serving=False,
        )
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            async with server, self._conversations:
                await server.start_serving()
                host, port = server.sockets[0].getsockname()[:2]
                listening(f"http://{host}:{port}")
                await server.serve_forever()
        finally:
            for stray in self._strays:
                stray.close()

    def _accept(self, client: Duplex) -> None:
        self._conversations.create_task(self._converse(client))

    def _reload(self) -> None:
        try:
            self._behaviour = self._serving.behaviour()
        except ExonerateError as error:
            sys.stderr.write(f"error: {error.problem}; the old rules stay\n")
        else:
            self._rng = random.Random(self._behaviour.seed)
            sys.stderr.write(f"rules read again: {len(self._behaviour.rules)}\n")
        sys.stderr.flush()

    async def _converse(self, client: Duplex) -> None:
        """Every request of one client connection, one after the other."""
        self._connections += 1
        self._open += 1
        number = self._connections
        engine = EngineConnections(self._behaviour.upstream, client.changed)
        try:
            await self._requests_of(client, engine, number)
        except MalformedMessage:
            client.send(refusal(Refuse(status=400, close=True)))
        finally:
            self._open -= 1
            engine.close()
            client.close()
            self._strays = [stray for stray in self._strays if not stray.gone]

    async def _requests_of(self, client: Duplex, engine: EngineConnections, number: int) -> None:
        clock = asyncio.get_running_loop().time
        accepted = idle_since = clock()
        count = 0
        while True:
            request = await self._read_request(client, idle_since)
            if request is None:
                return
            now = clock()
            count += 1
            self._requests += 1
            self._in_flight += 1
            situation = Situation(
                request=request,
                request_on_connection=count,
                request_in_process=self._requests,
                connection_in_process=number,
                connection_age_s=now - accepted,
                idle_s=now - idle_since,
                uptime_s=now - self._started,
                in_flight=self._in_flight,
                connections_open=self._open,
            )
            try:
                outcome = await self._exchange(client, engine, situation)
            finally:
                self._in_flight -= 1
            self._log(situation, outcome, clock() - now)
            if not outcome.keep:
                return
            idle_since = clock()

    async def _exchange(
        self, client: Duplex, engine: EngineConnections, situation: Situation
    ) -> Outcome:
        behaviour = self._behaviour
        limit = behaviour.downstream.requests_per_connection
        around = Surroundings(
            client=client,
            engine=engine,
            address=self._serving.engine,
            behaviour=behaviour,
            process_started=self._started,
            last_on_connection=bool(limit) and situation.request_on_connection >= limit,
            strays=self._strays,
        )
        rules = armed(behaviour.rules, situation, self._rng)
        return await Exchange(situation.request, rules, around).play()

    async def _read_request(self, client: Duplex, idle_since: float) -> Request | None:
        """The next whole request, or None when there will be none."""
        head = None
        while head is None:
            head = take_head(client.incoming)
            if head is None and not await self._more(client, idle_since):
                return None
        if (head.value("expect") or "").lower() == "100-continue":
            client.send(CONTINUE)
        return await _read_body(client, head)

    async def _more(self, client: Duplex, idle_since: float) -> bool:
        """Wait for more of a head; false when the client left or was idle for too long."""
        if client.gone:
            return False
        limit_s = self._behaviour.downstream.idle_close_s
        until = idle_since + limit_s if limit_s and not client.incoming else None
        return await happened(client.changed, until)

    def _log(self, situation: Situation, outcome: Outcome, seconds: float) -> None:
        """One line for a finished request; off unless asked for."""
        if self._serving.log is None:
            return
        row = {
            "time": datetime.fromtimestamp(time.time_ns() / 1e9, UTC).isoformat(),
            "connection": situation.connection_in_process,
            "request": situation.request_on_connection,
            "request_in_process": situation.request_in_process,
            "path": situation.request.head.path,
            "bytes_in": len(situation.request.raw),
            "upstream_connections": outcome.upstream_connections,
            "upstream_bytes": outcome.upstream_bytes,
            "bytes_out": outcome.sent_bytes,
            "status": outcome.status,
            "did": outcome.did,
            "ended": outcome.ended,
            "seconds": round(seconds, 4),
        }
        self._serving.log.write(json.dumps(row) + "\n")
        self._serving.log.flush()


async def _read_body(client: Duplex, head: Head) -> Request | None:
    body = request_body(head)
    raw = bytearray(head.raw)
    payload = bytearray()
    while not body.done:
        while not client.incoming:
            if client.gone:
                return None
            await happened(client.changed, None)
        piece = client.take()
        carried, used = body.feed(piece)
        payload += carried
        raw += piece[:used]
        client.incoming[:0] = piece[used:]
    return Request(head=head, body=bytes(payload), raw=bytes(raw))


def open_log(path: Path | None) -> TextIO | None:
    """The per-request log, appended to; None when it is off."""
    return None if path is None else path.open("a")
