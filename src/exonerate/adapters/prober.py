"""Plays a probe session: rounds sent at one hop the way the victim sends them.

One `Exchange` is emitted for each round that was begun, as soon as it ends. Whatever the hop does
is an observation; nothing is retried. The one thing a session does on its own is what every pooled
client does: when the peer closed the reused connection before the next request was written, it
opens a new one and says so (`closed_while_idle`).

A round *waits* while no meaningful event has come for some time, be it before the head or between
two events. `StallWatch` tells somebody about it while it lasts; setting `give_up` ends the round
that is waiting. A round that was given up closes its connection at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from exonerate.adapters.address import parse_address
from exonerate.adapters.clock import StampClock
from exonerate.adapters.conversation import Conversation, conversation_on
from exonerate.adapters.lanes import Place
from exonerate.adapters.link import USUAL, Link, check_link
from exonerate.adapters.request import Request, authorization, build_request
from exonerate.adapters.transport import Connection, ConnectionLost, Dialer
from exonerate.adapters.turns import Turn
from exonerate.core.instant import NS_PER_S, seconds_between
from exonerate.core.ports import Clock
from exonerate.core.scene import ProbeSession
from exonerate.core.wire.dialects import dialect_of_path
from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.exchange import ConnectionFacts, Exchange, GivenUp
from exonerate.core.wire.recorder import ExchangeRecorder, Read
from exonerate.core.workload.sized import round_body

Enough: TypeAlias = Callable[[int], Awaitable[bool]]
"""Given the number of a round that has ended: whether no more are wanted."""


@dataclass(frozen=True, slots=True)
class StallWatch:
    """Whom to tell when a round waits: (seconds without a meaningful event, callback(round)).

    Each callback fires on the event loop while the round still waits, at most once in a round, and
    in a later round only where `again` says so.
    """

    alarms: tuple[tuple[float, Callable[[int], None]], ...]
    again: Callable[[], bool] = lambda: False


async def play_session(
    session: ProbeSession,
    *,
    clock: Clock,
    emit: Callable[[Exchange], None],
    stall: StallWatch | None = None,
    give_up: asyncio.Event | None = None,
    body: bytes | None = None,
    on_read: Callable[[int, Read], None] | None = None,
    link: Link = USUAL,
    turn: Turn | None = None,
    place: Place | None = None,
    enough: Enough | None = None,
    asked: Callable[[int], None] = lambda _round: None,
    answered: Callable[[], None] = lambda: None,
) -> None:
    """Send the rounds; `body` is the victim's own request body where the recipe names one.

    `enough` is asked after each round whether the rest is still wanted; it may take its time.
    `place` is taken for each round; where it cannot be had any more, the session ends.
    `asked` is told which round begins to wait, `answered` when its first token has come or it is
    over.

    `on_read` gets every read of every round (round, raw bytes and stamps) for whoever wants to
    keep the bytes; the prober itself keeps none.
    """
    playing = _Session(session, clock, emit, body, link)
    playing.on_read = on_read
    playing.turn, playing.place = turn, place
    playing.enough = enough
    playing.asked, playing.answered = asked, answered
    vigil = _Vigil(stall)
    async with asyncio.TaskGroup() as group:
        relay = group.create_task(vigil.obey(give_up)) if give_up else None
        try:
            await playing.play(vigil, give_up)
        finally:
            playing.close()
            vigil.rest()
            if relay:
                relay.cancel()


class _Vigil:
    """Watches one round at a time: rings the alarms, and ends the round when told to."""

    def __init__(self, stall: StallWatch | None) -> None:
        self._stall = stall
        self._waiting_for = list(stall.alarms) if stall else []
        self._timers: list[asyncio.TimerHandle] = []
        self._scope: asyncio.Timeout | None = None
        self._recorder: ExchangeRecorder | None = None
        self._round = 0
        self.given_up: GivenUp = "deadline"

    def begin(self, scope: asyncio.Timeout, recorder: ExchangeRecorder, round_number: int) -> None:
        self._scope, self._recorder, self._round = scope, recorder, round_number
        self.given_up = "deadline"
        if self._stall is not None and self._stall.again():
            self._waiting_for = list(self._stall.alarms)
        for alarm in self._waiting_for:
            self._arm(alarm, alarm[0])

    def rest(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._scope = self._recorder = None

    async def obey(self, give_up: asyncio.Event) -> None:
        """End the waiting round whenever the event is set."""
        while True:
            await give_up.wait()
            give_up.clear()
            if self._scope is not None:
                self.given_up = "provisional"
                self._scope.reschedule(asyncio.get_running_loop().time())

    def _arm(self, alarm: tuple[float, Callable[[int], None]], in_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(max(0.0, in_s), self._due, alarm))

    def _due(self, alarm: tuple[float, Callable[[int], None]]) -> None:
        if self._recorder is None:
            return
        now_ns = int(asyncio.get_running_loop().time() * NS_PER_S)
        waited_s = seconds_between(self._recorder.last_progress_ns, now_ns)
        if waited_s < alarm[0]:
            self._arm(alarm, max(alarm[0] - waited_s, 0.001))
            return
        self._waiting_for.remove(alarm)
        alarm[1](self._round)


class _Session:
    """The rounds and the connection that they share."""

    def __init__(
        self,
        session: ProbeSession,
        clock: Clock,
        emit: Callable[[Exchange], None],
        body: bytes | None,
        link: Link,
    ) -> None:
        self._session = session
        self._link = link
        self._clock = clock
        self._emit = emit
        self._body = body
        self.on_read: Callable[[int, Read], None] | None = None
        self.turn: Turn | None = None
        self.place: Place | None = None
        self.enough: Enough | None = None
        self.asked: Callable[[int], None] = lambda _round: None
        self.answered: Callable[[], None] = lambda: None
        self._address = parse_address(session.url)
        keepalive_s = session.tcp_keepalive_s
        self._dialer = Dialer(self._address, StampClock(), link, keepalive_s=keepalive_s)
        self._connection: Connection | None = None
        self._conversation: Conversation | None = None
        # A missing key or extra is the operator's to add before anything is sent.
        check_link(link)
        authorization(session.request)

    async def play(self, vigil: _Vigil, give_up: asyncio.Event | None) -> None:
        """Every round, until one fails where that ends the session."""
        first = self._session.first_round
        for round_number in range(first, first + self._session.rounds):
            pause_s = self._session.pause_before_s(round_number)
            if pause_s > 0:
                await asyncio.sleep(pause_s)
            if self.place is not None and not await self.place.take():
                return
            if give_up is not None:
                # What was set while nothing waited is not meant for the round to come.
                give_up.clear()
            try:
                exchange = await self._round(round_number, vigil)
            finally:
                if self.place is not None:
                    self.place.leave()
            self._emit(exchange)
            if self._session.stop_after_failure and not exchange.complete:
                return
            if self.enough is not None and await self.enough(round_number):
                return

    def close(self) -> None:
        """Close what is still open."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._conversation = None

    async def _round(self, round_number: int, vigil: _Vigil) -> Exchange:
        recipe = self._session.request
        request = build_request(
            self._address,
            recipe,
            round_body(recipe, round_number, template=self._body),
            accept_encoding=self._session.accept_encoding,
        )
        recorder = ExchangeRecorder(
            session=self._session.name,
            hop=self._session.hop,
            round_number=round_number,
            dialect=dialect_of_path(recipe.path),
        )
        recorder.request_id = request.request_id
        recorder.secure = self._address.secure
        if self.turn is not None:
            await self.turn.take()
        recorder.begun_ns = self._clock.now()
        self.asked(round_number)
        try:
            async with asyncio.timeout(self._session.deadline_s) as scope:
                vigil.begin(scope, recorder, round_number)
                return await self._exchange(recorder, request)
        except TimeoutError:
            return self._given_up(recorder, vigil.given_up)
        except asyncio.CancelledError:
            self._emit(self._given_up(recorder, "interrupted"))
            raise
        finally:
            vigil.rest()
            self.answered()
            if self.turn is not None:
                self.turn.give_back()

    async def _exchange(self, recorder: ExchangeRecorder, request: Request) -> Exchange:
        try:
            connection, conversation = await self._connect(recorder)
            reader = conversation.begin(request)
            if reader is not None:
                recorder.expect(reader)
            recorder.request_bytes = len(request.content)
            recorder.body_sent_bytes = len(request.body)
            if self._session.half_close and not self._address.secure and self._link.http != "2":
                await connection.end_sending()
            ending, error = await self._receive(connection, conversation, recorder)
        except ConnectionLost as lost:
            ended_ns = self._clock.now()
            self._note_dialling(recorder)
            last_words = self._conversation.last_words if self._conversation else None
            self.close()
            error = f"{lost.error}; {last_words}" if last_words else lost.error
            return recorder.ended(lost.ending, ended_ns, error=error)
        ended_ns = self._clock.now()
        connection.poll()
        fin_seen = connection.eof_ns is not None
        exchange = recorder.ended(ending, ended_ns, error=error, fin_seen=fin_seen)
        if self._session.connection == "fresh" or not conversation.reusable(recorder):
            self.close()
        return exchange

    async def _receive(
        self, connection: Connection, conversation: Conversation, recorder: ExchangeRecorder
    ) -> tuple[Ending, str | None]:
        """Feed the recorder until the answer is over; raises ConnectionLost where it breaks off."""
        while True:
            recorder.written_ns = conversation.written_ns
            while (read := connection.take_read()) is not None:
                await self._take(read, conversation, recorder)
            if conversation.ending is not None:
                return conversation.ending
            if recorder.finished:
                return ("broken" if recorder.broken else "framed"), None
            if connection.eof_ns is not None:
                recorder.eof(connection.eof_ns)
                return "fin", conversation.last_words
            if connection.lost is not None:
                raise connection.lost
            await connection.change()

    async def _take(
        self, read: Read, conversation: Conversation, recorder: ExchangeRecorder
    ) -> None:
        recorder.read(read)
        conversation.keep_up()
        if self.on_read is not None:
            self.on_read(recorder.round_number, read)
        if recorder.token_seen:
            self.answered()
            if self.turn is not None:
                self.turn.answered()
        if not recorder.finished:
            # A flood must not keep the deadline from ending the round.
            await asyncio.sleep(0)

    async def _connect(self, recorder: ExchangeRecorder) -> tuple[Connection, Conversation]:
        """The kept connection where it is still good, else a new one."""
        kept, facts = self._kept(recorder)
        if kept is not None and self._conversation is not None:
            recorder.connection = facts
            return kept, self._conversation
        recorder.connection = replace(facts, ordinal=self._dialer.opened + 1)
        try:
            connection = await self._dialer.dial()
        finally:
            self._note_dialling(recorder)
        self._connection = connection
        recorder.secured_ns = connection.secured_ns
        recorder.connection = replace(
            recorder.connection,
            local_port=connection.local_port,
            addresses_tried=connection.addresses_tried,
        )
        http, secure = self._link.http, self._address.secure
        self._conversation = conversation_on(connection, http, secure=secure)
        return connection, self._conversation

    def _kept(self, recorder: ExchangeRecorder) -> tuple[Connection | None, ConnectionFacts]:
        """The kept connection and its facts, or None and the facts of the one that will be."""
        fresh = ConnectionFacts(ordinal=0, request_number=1, age_s=0.0, idle_s=0.0, local_port=None)
        kept = self._connection
        if kept is None or self._conversation is None:
            return None, fresh
        kept.poll()
        unsolicited = self._conversation.idle()
        closed = kept.eof_ns is not None or kept.lost is not None or self._conversation.over
        if closed or unsolicited:
            self.close()
            return None, replace(fresh, closed_while_idle=closed, unsolicited_bytes=unsolicited)
        begun_ns = recorder.begun_ns
        return kept, ConnectionFacts(
            ordinal=kept.ordinal,
            request_number=kept.requests + 1,
            age_s=seconds_between(kept.connected_ns, begun_ns),
            idle_s=seconds_between(kept.last_byte_ns, begun_ns),
            local_port=kept.local_port,
            addresses_tried=kept.addresses_tried,
        )

    def _note_dialling(self, recorder: ExchangeRecorder) -> None:
        if recorder.connection is None or recorder.connection.request_number == 1:
            recorder.resolved_ns = self._dialer.resolved_ns
            recorder.connected_ns = self._dialer.connected_ns

    def _given_up(self, recorder: ExchangeRecorder, given_up: GivenUp) -> Exchange:
        ended_ns = self._clock.now()
        held_up = self._conversation.held_up if self._conversation else None
        if self._connection is not None and self._connection.reads:
            recorder.unread_since(self._connection.reads[-1].stamp_ns)
        self.close()
        return recorder.ended("given-up", ended_ns, given_up=given_up, error=held_up)
