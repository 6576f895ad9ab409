"""Performs probe sessions, and obeys the triggers that fire while one of their rounds waits."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from exonerate.adapters.link import USUAL, Link
from exonerate.adapters.player import ActivityFailed, Stage, Waiting, is_background, seconds_since
from exonerate.adapters.prober import StallWatch, play_session
from exonerate.adapters.request import victim_body
from exonerate.adapters.turns import Turn
from exonerate.core.diagnosis.aside import at_round
from exonerate.core.instant import NS_PER_S
from exonerate.core.scene import Activity, ProbeSession, Stall
from exonerate.core.wire.exchange import Exchange
from exonerate.core.wire.exchange_json import exchange_from_json, exchange_to_json

BESIDE_POLL_S = 0.1
ROWS_DONE_S = 6.0
"""So long may requests that filled a wait go on after it: cut short, they would be sent again."""
SILENT_SHARE = 0.5
"""A round that waits this share of the stall limit already tells others that it waits."""


class ProbePerformer:
    """Plays `ProbeSession`s.

    Args:
        folder: where the victim's own request body lies.
        urls: hop name -> URL as the operator wrote it; a recorded scene may hold it redacted.
        headers: the victim's own headers, which no scene holds.
        links: hop name -> how it is reached.
    """

    def __init__(
        self,
        folder: Path,
        urls: Mapping[str, str],
        headers: tuple[tuple[str, str], ...],
        *,
        links: Mapping[str, Link],
    ) -> None:
        self._folder = folder
        self._urls = urls
        self._headers = headers
        self._links = links

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """Send the rounds; a round that is given up or fails is an event, not an error."""
        assert isinstance(activity, ProbeSession)
        await stage.watched()
        activity = self._as_written(activity)
        run = _ProbeRun(activity, stage)
        trigger = stage.triggers.get(activity.name)
        watch = run.watch(trigger) if trigger else None
        place = stage.lanes.place(activity)
        # A wait for whose sake nobody is asked is nobody else's concern.
        run.watched = trigger is not None and bool(trigger.play)
        await play_session(
            activity,
            clock=stage.clock,
            emit=run.on_exchange,
            stall=watch,
            give_up=run.give_up if trigger else None,
            body=victim_body(self._folder, activity.request.body_ref),
            link=self._links.get(activity.hop, USUAL),
            turn=Turn(stage.turns) if activity.in_turn else None,
            place=place,
            enough=run.enough,
            asked=run.on_asked,
            answered=run.on_answered,
        )
        if place is not None and place.turned_away and not run.begun:
            raise ActivityFailed("nothing sent: others were under way in its lane")
        if not run.last_was_complete:
            raise ActivityFailed("a round did not complete")

    def _as_written(self, activity: ProbeSession) -> ProbeSession:
        request = replace(activity.request, headers=(*activity.request.headers, *self._headers))
        return replace(activity, url=self._urls.get(activity.hop, activity.url), request=request)


class _ProbeRun:
    """One session while it is played."""

    def __init__(self, session: ProbeSession, stage: Stage) -> None:
        self._session = session
        self._stage = stage
        self._ended_rounds: dict[int, asyncio.Event] = defaultdict(asyncio.Event)
        self.last_was_complete = False
        self._asked = False
        self._answered = asyncio.Event()
        self.give_up = asyncio.Event()
        self.watched = False

    @property
    def begun(self) -> bool:
        """Whether any round was sent, and is over."""
        return bool(self._ended_rounds)

    def on_exchange(self, exchange: Exchange) -> None:
        self._ended_rounds[exchange.round].set()
        self.last_was_complete = exchange.complete
        if not exchange.complete:
            self._stage.failed_rounds.setdefault(self._session.name, exchange.round)
        self._stage.emit(self._session.name, "exchange", exchange_to_json(exchange))
        state = "ok" if exchange.complete else f"failed ({exchange.end})"
        self._stage.progress(f"{self._session.name} round {exchange.round}: {state}", None)

    async def enough(self, round_number: int) -> bool:
        """Whether those that this session is compared with failed in that round or before.

        While one of them still waits in such a round, more of this session would only be load.
        """
        names = self._session.no_longer_than
        for name in names:
            waiting = self._stage.waiting.get(name)
            if waiting is not None and waiting.round <= round_number:
                await waiting.ended.wait()
        last = self._session.first_round + self._session.rounds - 1
        if self._session.behind is not None and round_number < last:
            await self._stage.headway.until_sent(self._session.behind, round_number + 1)
        failed = self._stage.failed_rounds
        return any(failed.get(name, math.inf) <= round_number for name in names)

    def watch(self, trigger: Stall) -> StallWatch:
        """What the waiting of a round sets off."""
        due = (trigger.after_s, self.on_stall)
        if trigger.beside:
            # A side probe: whether others are slow is said by the victim's own shape.
            return StallWatch((due,), self.nothing_asked)
        silent = (trigger.after_s * SILENT_SHARE, self.on_silence)
        return StallWatch((silent, due), self.nothing_asked)

    def nothing_asked(self) -> bool:
        """Whether no wait so far had anything asked for its sake: a later one may have it.

        A first answer that is late because everything is cold must not use that up.
        """
        trigger = self._stage.triggers[self._session.name]
        return not self._asked or not trigger.play

    def on_asked(self, round_number: int) -> None:
        self._stage.headway.sent(self._session.name, round_number)
        if self.watched:
            self._answered = self._stage.unanswered[self._session.hop] = asyncio.Event()

    def on_answered(self) -> None:
        self._answered.set()

    def on_silence(self, round_number: int) -> None:
        ended = self._ended_rounds[round_number]
        waiting = Waiting(round_number, ended)
        self._stage.waiting[self._session.name] = waiting
        # It may have fallen silent after the first token.
        self._stage.unanswered[self._session.hop] = ended

    def on_stall(self, round_number: int) -> None:
        trigger = self._stage.triggers[self._session.name]
        if not trigger.beside:
            self.on_silence(round_number)
        self._stage.emit(
            self._session.name, "stalled", {"round": round_number, "after_s": trigger.after_s}
        )
        text = f"{self._session.name} round {round_number}: silent for {trigger.after_s:.1f} s"
        self._stage.progress(f"{text}; looking at everything else", None)
        self._stage.start(self._look_around(trigger, round_number))

    async def _look_around(self, trigger: Stall, round_number: int) -> None:
        """Watch as long as the round waits; ask, and give it up when the answers say so."""
        ended = self._ended_rounds[round_number]
        watches = [activity for activity in trigger.play if is_background(activity)]
        probes = [
            at_round(a, round_number) if isinstance(a, ProbeSession) else a
            for a in trigger.play
            if not is_background(a)
        ]
        single = [a.name for a in probes if isinstance(a, ProbeSession) and not a.after]
        # An earlier wait, which was over before anything was sent, may have done without them.
        self._stage.lanes.want(single)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._play(watches))
            asking = group.create_task(self._ask(trigger, probes, ended))
            await ended.wait()
            watching.cancel()
            # Nor is anything sent for its sake that has waited for others until now.
            self._stage.lanes.turn_away(single)
            # Once it was answered, what was asked for its sake would only hold the engine.
            if not self._asked or self.last_was_complete:
                asking.cancel()

    async def _play(self, activities: Sequence[Activity]) -> None:
        # Begun inside the task: a round may end before the task does anything.
        await self._stage.play_more(activities)

    async def _ask(self, trigger: Stall, probes: Sequence[Activity], ended: asyncio.Event) -> None:
        stalled_ns = self._stage.clock.now()
        if not await self._worth_asking(trigger, probes):
            return
        self._asked = True
        if await self._told_past(trigger, probes, stalled_ns, ended):
            return
        rows = [p for p in probes if p.after]
        here = [p for p in probes if not p.after and getattr(p, "hop", "") == self._session.hop]
        past = [probe for probe in probes if probe not in here and probe not in rows]
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self._play(here))
            going_on = group.create_task(self._play(rows))
            await self._stage.play_more(past)
            if not past:
                # At the innermost hop there is nothing else to compare with.
                await asking
            await self._give_up_in_time(trigger, stalled_ns, ended)
            await ended.wait()
            # What only fills the wait is not waited for, but for a moment in which it may be done.
            await asyncio.wait([going_on], timeout=ROWS_DONE_S)
            going_on.cancel()

    async def _told_past(
        self, trigger: Stall, probes: Sequence[Activity], stalled_ns: int, ended: asyncio.Event
    ) -> bool:
        """Give the round up where the same request hung past this hop, and all was asked there.

        Not where nobody was answered past the hop after that: then nothing shows what normal is.
        """
        past = {p.hop for p in probes if isinstance(p, ProbeSession)} - {self._session.hop}
        inside = [exchange for exchange in self._exchanges() if exchange.hop in past]
        hung = [exchange.begun_ns for exchange in inside if exchange.given_up != "no"]
        good = [e for e in inside if e.given_up == "no" and e.first_token_ns is not None]
        if trigger.give_up_ratio is None or not hung:
            return False
        if not any(exchange.begun_ns > min(hung) for exchange in good):
            return False
        told = replace(trigger, play=(), beside=tuple(past), look_s=0.0)
        await self._give_up_in_time(told, stalled_ns, ended)
        return True

    async def _give_up_in_time(self, trigger: Stall, stalled_ns: int, ended: asyncio.Event) -> None:
        """End the waiting round once it has waited out of all proportion to good answers."""
        silence_s = self._longest_silence_s(trigger, stalled_ns)
        while silence_s is None and trigger.beside and not ended.is_set():
            await asyncio.sleep(BESIDE_POLL_S)
            silence_s = self._longest_silence_s(trigger, stalled_ns)
        if trigger.give_up_ratio is None or silence_s is None:
            return
        waited_s = trigger.after_s + seconds_since(self._stage.clock, stalled_ns)
        remaining_s = max(trigger.look_s, trigger.give_up_ratio * silence_s - waited_s)
        try:
            await asyncio.wait_for(ended.wait(), remaining_s)
        except TimeoutError:
            self.give_up.set()

    async def _worth_asking(self, trigger: Stall, probes: Sequence[Activity]) -> bool:
        """Wait while asking would only add load to an engine that is slow for everybody.

        While the victim's shape waits past this hop as well, that says it already, be it that it
        has just been sent. After it was answered late there, this round, which may have queued
        behind it, gets as long again. Where nothing lies past this hop, one more stall limit; and
        nobody is asked once the session that this one is compared with has failed: how this one
        ends is all that is still wanted.
        """
        past = {p.hop for p in probes if isinstance(p, ProbeSession)} - {self._session.hop}
        stalled_ns = self._stage.clock.now()
        if not past and probes:
            await asyncio.sleep(trigger.after_s)
            failed = self._stage.failed_rounds
            return not any(name in failed for name in self._session.no_longer_than)
        for event in self._unanswered_at(past):
            await event.wait()
        waited_s = seconds_since(self._stage.clock, stalled_ns)
        if waited_s > trigger.after_s * SILENT_SHARE and not self._given_up_past(past):
            await asyncio.sleep(max(trigger.after_s, waited_s))
        return True

    def _unanswered_at(self, hops: set[str]) -> list[asyncio.Event]:
        """What is set when the watched rounds that wait at these hops wait no longer."""
        waits = (event for hop, event in self._stage.unanswered.items() if hop in hops)
        return [event for event in waits if not event.is_set()]

    def _given_up_past(self, hops: set[str]) -> bool:
        """Whether a round at one of these hops was given up: there is no answer to queue behind."""
        return any(
            event.kind == "exchange"
            and event.data["hop"] in hops
            and event.data["given_up"] != "no"
            for event in self._stage.events
        )

    def _longest_silence_s(self, trigger: Stall, stalled_ns: int) -> float | None:
        """The usual longest silence in good answers to compare with; None until there are any.

        Compared is with the probes asked meanwhile past the hop, which must all have been answered,
        and with the victim's shape there; at the innermost hop with those asked at it; where
        nothing is asked meanwhile, with what was sent beside the waiting round, or else with the
        rounds of the session itself that went well.
        """
        # Rows that fill the wait are not waited for.
        probes = [a for a in trigger.play if isinstance(a, ProbeSession) and not a.after]
        past = [p for p in probes if p.hop != self._session.hop]
        asked = {probe.name for probe in past or probes}
        if not probes and not trigger.beside:
            asked = {self._session.name}
        hops = {probe.hop for probe in past}
        begun_ns = stalled_ns - int(trigger.after_s * NS_PER_S)
        answered = [
            exchange
            for exchange in self._exchanges()
            if exchange.given_up == "no"
            and exchange.first_token_ns is not None
            and (
                exchange.session in asked
                or exchange.hop in hops
                or (exchange.hop in trigger.beside and exchange.first_token_ns > begun_ns)
            )
        ]
        if not answered or asked - {e.session for e in answered}:
            return None
        return median(e.longest_silence_s for e in answered)

    def _exchanges(self) -> list[Exchange]:
        return [exchange_from_json(e.data) for e in self._stage.events if e.kind == "exchange"]
