"""One request and its answer, with the rules that are armed for it.

Theory of operation
-------------------
Actions that have nothing to wait for are done in the order of the rules before the engine hears of
the request. Then the request goes to the engine and one loop relays until the answer is over:
take what the engine sent, fire the triggers that are due, let leave what may leave, and sleep until
something happens on either side or the next moment comes. Without any rule it is a neutral relay.

What a peer's end means. The client's FIN says only that it sends no more: it is passed on, and the
answer still goes out; that the client left altogether shows when it resets what we send. The
engine's FIN before the end of its answer is passed on as a FIN at the same place.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TypeVar

from exonerate.lab.duplex import Duplex, happened
from exonerate.lab.faulty_proxy.answer import Answer
from exonerate.lab.faulty_proxy.conditions import Progress, Request, counts_reached, due_at
from exonerate.lab.faulty_proxy.links import Links, Route
from exonerate.lab.faulty_proxy.outlets import outlet_for
from exonerate.lab.faulty_proxy.refusal import refusal
from exonerate.lab.faulty_proxy.rules import (
    Action,
    Behaviour,
    Close,
    Delay,
    Duplicate,
    InventEnding,
    KeepUpstream,
    LoseEnding,
    Misroute,
    Refuse,
    Reset,
    Rule,
    Stall,
    Swallow,
)
from exonerate.lab.faulty_proxy.transforms import transform_for
from exonerate.lab.faulty_proxy.upstream import Address, EngineConnections, UpstreamLost
from exonerate.lab.http1 import MalformedMessage

A = TypeVar("A", bound=Action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an exchange needs of its connection and its process."""

    client: Duplex
    engine: EngineConnections
    address: Address
    behaviour: Behaviour
    process_started: float
    last_on_connection: bool
    strays: list[Duplex]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of an exchange; `keep` says whether the client's connection goes on."""

    keep: bool = True
    status: int | None = None
    ended: str = "complete"
    upstream_bytes: int = 0
    upstream_connections: int = 0
    sent_bytes: int = 0
    did: list[str] = field(default_factory=list)


class Exchange:
    """Plays one request."""

    def __init__(self, request: Request, rules: list[Rule], around: Surroundings) -> None:
        self._request = request
        self._around = around
        self._client = around.client
        self._waiting = [rule for rule in rules if not rule.trigger.at_once]
        self._immediate = [rule for rule in rules if rule.trigger.at_once]
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._progress = Progress(process_started=around.process_started, begun=now, last_byte=now)
        self._answer = self._new_answer()
        self._outlet = outlet_for(rule.action for rule in self._immediate)
        self._links = Links(request.raw, self._route())
        self._muted = self._option(Swallow) is not None
        self._end_passed = False
        self.outcome = Outcome()

    async def play(self) -> Outcome:
        """Do the immediate actions, then relay; never raises for what a peer does."""
        try:
            if not await self._done_at_once():
                await self._links.open(self._loop.time())
                await self._relay()
        except UpstreamLost as error:
            self._refuse(Refuse(status=502), f"engine unreachable: {error}")
        except MalformedMessage as error:
            self._refuse(Refuse(status=502), f"engine malformed: {error}")
        finally:
            self.outcome.upstream_bytes = self._links.received_bytes
            self.outcome.upstream_connections = self._links.opened
            if self._answer.head is not None:
                self.outcome.status = self._answer.head.status
            self._links.give_back(whole=self._answer.done, strays=self._around.strays)
        return self.outcome

    # What the rules say

    def _option(self, kind: type[A]) -> A | None:
        """The armed action of a kind, if there is one."""
        actions = (rule.action for rule in self._immediate)
        return next((action for action in actions if isinstance(action, kind)), None)

    def _route(self) -> Route:
        misroute = self._option(Misroute)
        return Route(
            engine=self._around.engine,
            address=self._around.address if misroute is None else Address.of(misroute.upstream),
            misrouted=misroute is not None,
            duplicate=self._option(Duplicate),
        )

    def _new_answer(self) -> Answer:
        found = [transform_for(rule.action) for rule in self._immediate]
        around = self._around
        return Answer(
            to_method=self._request.head.method,
            transforms=[transform for transform in found if transform is not None],
            # An ending can be invented only at the border of a chunk.
            recode=any(isinstance(rule.action, InventEnding) for rule in self._waiting),
            lose_end=self._option(LoseEnding) is not None,
            announce_close=around.last_on_connection and around.behaviour.downstream.announce,
        )

    async def _done_at_once(self) -> bool:
        """Do the immediate actions in order; whether the exchange is over by one of them."""
        for rule in self._immediate:
            self.outcome.did.append(rule.name)
            match rule.action:
                case Refuse() as refuse:
                    self._refuse(refuse, "refused")
                case Close() | Reset() as action:
                    self._end_by(action)
                case Stall() | Swallow(forward=False):
                    await self._hold()
                case Delay(seconds=seconds, what="request"):
                    await self._sleep(seconds)
                    continue
                case _:
                    continue
            return True
        return False

    async def _fired(self, rule: Rule, now: float) -> bool:
        """Do what a trigger released; whether the exchange is over by it."""
        self._waiting.remove(rule)
        self.outcome.did.append(rule.name)
        match rule.action:
            case Close() | Reset() as action:
                await self._let_leave(now)
                self._end_by(action)
            case Refuse() as refuse:
                self._refuse(refuse, "refused late")
            case Stall():
                await self._let_leave(now)
                await self._hold()
            case InventEnding(finish_reason=reason):
                await self._invent_ending(reason, now)
            case _:
                self._muted = True
                return False
        return True

    # The relay

    async def _relay(self) -> None:
        while True:
            now = self._loop.time()
            await self._links.send_copies(now)
            self._take_from_engine(now)
            for rule in self._due(now):
                if await self._fired(rule, now):
                    return
            await self._let_leave(now)
            if self._answer.done and self._outlet.empty and not self._muted:
                self.outcome.keep = not self._must_close()
                return
            if self._client_ended() or await self._engine_ended():
                return
            await happened(self._client.changed, self._next_moment())

    def _take_from_engine(self, now: float) -> None:
        link = self._links.active()
        if link is None:
            return
        data = link.take()
        if data:
            self._progress.last_byte = now
            self._outlet.put(self._answer.feed(data), now)
            self._progress.body_bytes = self._answer.body_bytes
            self._progress.events = self._answer.events
        if link.gone:
            self._outlet.put(self._answer.engine_closed(), now)
        if self._answer.done or link.gone:
            self._outlet.finish(now)

    def _due(self, now: float) -> list[Rule]:
        due = []
        for rule in self._waiting:
            moment = due_at(rule.trigger, self._progress)
            by_time = moment is not None and now >= moment
            if by_time or counts_reached(rule.trigger, self._progress):
                due.append(rule)
        return due

    async def _let_leave(self, now: float) -> None:
        data = self._outlet.ready(now)
        if data and not self._muted and not self._client.lost:
            self.outcome.sent_bytes += len(data)
            self._client.send(data)
            await self._client.drained()

    def _next_moment(self) -> float | None:
        moments = [due_at(rule.trigger, self._progress) for rule in self._waiting]
        moments += [self._outlet.wake_at(), self._links.next_copy_at]
        return min((moment for moment in moments if moment is not None), default=None)

    # A side ends

    def _client_ended(self) -> bool:
        """Pass on that the client ended its side; whether the exchange is over by it."""
        if not self._client.gone or self._option(KeepUpstream) is not None:
            return False
        abort = self._around.behaviour.downstream.half_close == "abort"
        if self._client.lost or abort or self._muted:
            self.outcome.keep, self.outcome.ended = False, "client left"
            return True
        if not self._end_passed:
            self._end_passed = True
            self._links.pass_end()
        return False

    async def _engine_ended(self) -> bool:
        """Deal with an engine that closed before its answer was over; whether we are through."""
        link = self._links.active()
        if link is None or not link.gone or link.incoming or not self._outlet.empty:
            return False
        stale = self._around.behaviour.upstream.stale
        if self._links.was_stale and stale == "retry" and await self._links.send_again():
            return False
        if self._links.was_stale and stale == "hang":
            await self._hold()
            return True
        self.outcome.keep, self.outcome.ended = False, "engine cut"
        if not self.outcome.sent_bytes and self._answer.head is None:
            self._refuse(Refuse(status=502), "engine closed")
        return True

    # Ends

    async def _invent_ending(self, finish_reason: str, now: float) -> None:
        self._outlet.put(self._answer.invented(finish_reason), now)
        self._outlet.finish(now)
        while not self._outlet.empty and not self._client.lost:
            await self._let_leave(self._loop.time())
            await happened(self._client.changed, self._outlet.wake_at() or self._loop.time())
        self.outcome.ended = "invented"
        self.outcome.keep = not self._must_close()

    def _must_close(self) -> bool:
        return (
            self._answer.ends_with_connection
            or self._around.last_on_connection
            or self._request.head.says_close
            or self._option(LoseEnding) is not None
            or self._client.gone
        )

    def _end_by(self, action: Close | Reset) -> None:
        self.outcome.keep = False
        self.outcome.ended = "reset" if isinstance(action, Reset) else "closed"
        if isinstance(action, Reset):
            self._client.reset()

    def _refuse(self, refuse: Refuse, why: str) -> None:
        """An error answer, or a close in mid-stream when an answer has begun."""
        begun = self.outcome.sent_bytes > 0
        self.outcome.ended = why
        self.outcome.keep = not begun and not refuse.close
        if not begun:
            self.outcome.status = refuse.status
            self._client.send(refusal(refuse))

    async def _hold(self) -> None:
        """Let nothing pass until the client leaves."""
        self.outcome.keep, self.outcome.ended = False, "held"
        while not self._client.gone:
            await happened(self._client.changed, None)

    async def _sleep(self, seconds: float) -> None:
        until = self._loop.time() + seconds
        while not self._client.lost and await happened(self._client.changed, until):
            continue
