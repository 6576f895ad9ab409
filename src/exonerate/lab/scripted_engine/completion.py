"""One completion of the scripted engine, from its slot to its last byte."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from exonerate.lab.duplex import Duplex, happened
from exonerate.lab.http1 import LAST_CHUNK, chunk
from exonerate.lab.scripted_engine.answers import (
    GARBAGE,
    Ask,
    echoed,
    event,
    finish_reason,
    reworded,
    usage_event,
    whole,
    words_for,
)
from exonerate.lab.scripted_engine.log_lines import watchdog_line, works_line
from exonerate.lab.scripted_engine.metrics_page import Counters
from exonerate.lab.scripted_engine.scheduler import Scheduler
from exonerate.lab.scripted_engine.script import (
    Corrupt,
    Crash,
    Cut,
    EngineScript,
    Misbehaviour,
    Names,
    Silence,
    Slow,
    SpecialToken,
    Stuck,
)

DONE = b"data: [DONE]\n\n"
HEARTBEAT = b": heartbeat\n\n"
M = TypeVar("M", bound=Misbehaviour)


class ClientLeft(Exception):
    """The client went away and the engine noticed."""


class EngineClosed(Exception):
    """The engine closes in mid-answer, because its script says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What completions share: the script, the counters, the slots, and the texts in the making."""

    script: EngineScript
    counters: Counters
    scheduler: Scheduler
    texts: dict[int, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One admitted request."""

    client: Duplex
    ask: Ask
    misbehaviours: list[Misbehaviour]
    uncached_tokens: int
    close_delimited: bool


class Completion:
    """Makes the answer to one request that has a slot."""

    def __init__(self, job: Job, desk: Desk) -> None:
        self._job = job
        self._ask = job.ask
        self._client = job.client
        self._desk = desk
        self._script = desk.script
        self._model = job.ask.model or desk.script.model
        self._words: list[str] = []
        self._head_sent = False
        slow = self._option(Slow)
        self._factor = slow.factor if slow is not None else 1.0

    async def play(self) -> None:
        """Send the whole answer.

        Raises:
            ClientLeft: the client went away first.
            EngineClosed: the script ended it.
        """
        texts = self._desk.texts
        texts[id(self)] = self._words
        try:
            await self._pause(self._prefill_s() * self._factor)
            self._desk.counters.prompt_tokens += self._ask.prompt_tokens
            self._log_prefill()
            for word in self._chosen():
                await self._next_token(word)
            self._finish()
            await self._client.drained()
        finally:
            del texts[id(self)]

    def _log_prefill(self) -> None:
        if not self._script.echo:
            new, counters = self._job.uncached_tokens, self._desk.counters
            _write(works_line(self._script.names, counters, new_tokens=new))

    @property
    def tokens(self) -> int:
        """How many tokens the answer has so far."""
        return len(self._words)

    def _option(self, kind: type[M]) -> M | None:
        found = (item for item in self._job.misbehaviours if isinstance(item, kind))
        return next(found, None)

    def _prefill_s(self) -> float:
        if self._script.echo:
            return 0.0
        rate = self._script.prefill_tokens_per_s
        return self._script.first_byte_s + (self._job.uncached_tokens / rate if rate else 0.0)

    def _chosen(self) -> Iterator[str]:
        limit = self._script.answer_tokens
        if self._script.echo:
            return echoed(self._ask, limit=limit)
        return words_for(self._ask, seed=self._script.seed, limit=limit)

    async def _next_token(self, word: str) -> None:
        await self._misbehave()
        if not self._script.echo:
            await self._pause(self._script.token_s * self._factor)
        word = self._damaged(word)
        self._words.append(word)
        self._desk.counters.generated_tokens += 1
        self._desk.counters.steps += 1
        if self._ask.stream:
            self._send(event(self._ask, self._model, text=f" {word}", finish=None))
            await self._client.drained()

    async def _misbehave(self) -> None:
        for item in self._job.misbehaviours:
            match item:
                case Stuck(after_tokens=after) if after == self.tokens:
                    self._desk.scheduler.stick(freeze=item.freezes_counters)
                    _watchdog(self._script.names, item.watchdog_s)
                case Silence(after_tokens=after, seconds=seconds) if after == self.tokens:
                    await self._pause(seconds)
                case Cut(after_tokens=after) if after == self.tokens:
                    raise EngineClosed
                case Crash(after_tokens=after) if after == self.tokens:
                    sys.stderr.write("fatal: the engine process ends here\n")
                    sys.stderr.flush()
                    os._exit(1)
                case _:
                    continue

    def _damaged(self, word: str) -> str:
        corrupt = self._option(Corrupt)
        if corrupt is None or self.tokens < corrupt.after_tokens:
            return word
        if self._desk.counters.running < corrupt.while_running:
            return word
        match corrupt.how:
            case "garbage":
                return GARBAGE[(self.tokens * 5 + len(word)) % len(GARBAGE)]
            case "loop":
                return "the"
            case "foreign":
                return self._foreign() or word
            case "reword":
                return reworded(word)

    def _foreign(self) -> str | None:
        others = [text for owner, text in self._desk.texts.items() if owner != id(self) and text]
        return others[0][self.tokens % len(others[0])] if others else None

    async def _pause(self, seconds: float) -> None:
        """Wait; a scheduler that is stuck never comes back from here."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        beat_s = self._script.heartbeat_s if self._ask.stream else 0.0
        beat_at = clock() + beat_s if beat_s else None
        while True:
            self._check_client()
            stuck = self._desk.scheduler.stuck
            now = clock()
            if now >= until and not stuck:
                return
            if beat_at is not None and now >= beat_at:
                self._send(HEARTBEAT)
                beat_at = now + beat_s
            moments = [None if stuck else until, beat_at]
            wake_at = min((moment for moment in moments if moment is not None), default=None)
            await happened(self._client.changed, wake_at)

    def _check_client(self) -> None:
        left = self._client.gone and self._script.half_close == "abort"
        if self._script.notice_abort and (left or self._client.lost):
            raise ClientLeft

    def _finish(self) -> None:
        reason = finish_reason(self._ask, self.tokens)
        self._desk.counters.finished[reason] += 1
        special = self._option(SpecialToken)
        if not self._ask.stream:
            words = [*self._words, special.text] if special is not None else self._words
            self._send_whole(whole(self._ask, self._model, words))
            return
        if special is not None:
            self._send(event(self._ask, self._model, text=special.text, finish=None))
        self._send(event(self._ask, self._model, text=None, finish=reason))
        if self._ask.include_usage:
            self._send(usage_event(self._ask, self._model, self.tokens))
        self._send(DONE)
        if not self._job.close_delimited:
            self._client.send(LAST_CHUNK)

    def _send(self, piece: bytes) -> None:
        if not self._head_sent:
            self._head_sent = True
            framing = (
                "Connection: close" if self._job.close_delimited else ("Transfer-Encoding: chunked")
            )
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n\r\n"
            self._client.send(head.encode())
        self._client.send(piece if self._job.close_delimited else chunk(piece))

    def _send_whole(self, body: bytes) -> None:
        close = "Connection: close\r\n" if self._job.close_delimited else ""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{close}"
        self._client.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def _watchdog(names: Names, after_s: float) -> None:
    if after_s > 0:
        loop = asyncio.get_running_loop()
        loop.call_later(after_s, lambda: _write(watchdog_line(names, after_s)))


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
