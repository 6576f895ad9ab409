"""A small deterministic world for the localiser: scenes in, events out, no socket anywhere.

A world is a path of hops and a rule that says how each entry answers each request. Time is
simulated; triggers, give-up ratios, counters and socket bytes follow the scene as the player would.
That a side probe may have to wait for another one in its lane is left to the tests of the player.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from exonerate.adapters.performers.probing import ROWS_DONE_S
from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.aside import at_round
from exonerate.core.diagnosis.facts import Facts, read_facts
from exonerate.core.diagnosis.judgement import Judgement, judge
from exonerate.core.diagnosis.localiser import RULES, decide
from exonerate.core.diagnosis.logs.entry import LogEntry, entry_to_json
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import (
    Control,
    Event,
    ProbeSession,
    ReadLog,
    SampleMetrics,
    Scene,
    Stall,
    WatchSockets,
)
from exonerate.core.scene_json import event_to_json, scene_to_json
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange
from exonerate.core.wire.exchange_json import exchange_from_json, exchange_to_json
from exonerate.core.wire.text_facts import text_facts
from exonerate.core.workload.prompts import own_code_word
from exonerate.core.workload.sized import round_body

NS = 1_000_000_000
HEAD_BYTES = 400
PATH = """\
[deployment]
model = "m"
[[hop]]
name = "edge"
role = "proxy"
url = "http://127.0.0.1:8080"
[[hop]]
name = "inner"
role = "proxy"
url = "http://127.0.0.1:8081"
[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:8000"
metrics = "http://127.0.0.1:8000/metrics"
[victim]
rounds = 6
think_s = 0.4
deadline_s = 12
[[service]]
name = "decode"
hop = "engine"
start = ["./serve.sh"]
[[knob]]
name = "TARGET_CTAS"
service = "decode"
file = "serve.sh"
form = "export"
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the world sees it."""

    hop: str
    on_connection: int
    begun_s: float
    idle_s: float
    connection_age_s: float
    count: int
    """How many requests have entered at this hop before, over all connections."""
    session: ProbeSession
    """The session as it was planned: framing, stream, keep-alive and what else it varies."""
    body_bytes: int
    """The size of the request's body."""
    round: int = 1
    together: int = 1
    """How many sessions of the scene run at the same time, this one included."""

    @property
    def prompt_tokens(self) -> int:
        """How long the prompt of this round is."""
        prompt = self.session.request.prompt
        return prompt.prompt_tokens + (self.round - 1) * prompt.growth_tokens

    @property
    def code_word(self) -> str:
        """The code word that the prompt asks for."""
        return own_code_word(self.session.request.prompt)

    @property
    def half_close(self) -> bool:
        """Whether the client ends its sending side after the request."""
        return self.session.half_close


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back: a complete answer, unless fields say otherwise."""

    wait_s: float = 0.15
    spread_s: float = 0.3
    drains_s: float = 0.0
    """For how long the connection stays open after the last token."""
    status: int | None = 200
    silent: bool = False
    stalls: bool = False
    """The first half of the answer comes, and then nothing more."""
    cut: bool = False
    lost_ending: bool = False
    defects: tuple[str, ...] = ()
    error: str | None = None
    """What broke a TLS handshake, or which other protocol the hop speaks; goes with status None."""
    headers: tuple[tuple[str, str], ...] = ()
    text: str = ""
    """What the answer says, where that matters."""
    unreadable: bool = False
    """Whole and in order, and no event of it holds any text."""
    reaches: str | None = None
    """For silent requests: the name of the next hop if the bytes got there."""
    lost: bool = False
    """For silent requests: no kernel acknowledges their segments."""
    name_s: float = 0.0
    handshake_s: float = 0.0
    """What a new connection takes before the request is sent."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the engine does for others all the time."""

    running: int = 0
    waiting: int = 0
    tokens_per_s: float = 0.0
    kv_usage: float | None = None
    idle: bool = False
    """Whether its scheduler counts the time as time without work."""


Rule = Callable[[Asked], Answer]
OK = Answer()
SILENT = Answer(silent=True)


@dataclass(slots=True)
class World:
    """The path, how it answers, and what its engine's counters show."""

    rule: Rule
    load: Load = Load()
    deployment: Deployment = field(
        default_factory=lambda: parse_deployment(PATH, path="test", folder="/")
    )
    sockets_visible: bool = True
    processes_visible: bool = True
    """Whether it may be seen which sockets are a hop's own."""
    log: Callable[[Exchange], LogEntry] | None = None
    """What the log of a hop says of each request that entered at it."""
    starved: float = 1.0
    """How many times its processor time the control's work takes."""
    engine_waits: float = 0.0
    """How many times as long as it runs the engine's process waits for a processor."""
    idle_close_s: float | None = None
    """After how long every entry closes a connection on which nothing is asked."""
    idle_closes: Mapping[str, float] = field(default_factory=dict)
    """The same for some entries alone."""
    complaint: str | None = None
    """The symptom that the operator names."""
    silences: list[tuple[str, int, float, float, bool]] = field(default_factory=list)
    """Where our connections waited in vain: hop, port, from, until, whether segments were lost."""
    closed: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By hop: our first connection that is over, and since when; the hop is on this host."""
    now_s: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    """Sessions of the scene under way that failed, and in which round."""
    ports: int = 40_000
    together: dict[str, int] = field(default_factory=dict)
    stalls: dict[str, Stall] = field(default_factory=dict)
    """The triggers of the scene under way, by the session that they watch."""
    lanes: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """When the lanes of the scene under way were taken."""

    def play(self, scene: Scene) -> list[Event]:
        """Every event of one scene."""
        begin_s = self.now_s
        self.failed.clear()
        self.lanes.clear()
        self.stalls = {trigger.session: trigger for trigger in scene.triggers}
        events: list[Event] = []
        sessions = [a for a in scene.activities if isinstance(a, ProbeSession)]
        ends_of: dict[str, float] = {}
        turns = Counter(session.once_over for session in sessions)
        self.together = {session.name: turns[session.once_over] for session in sessions}
        for session in sessions:
            starts_s = max([begin_s, *(ends_of[n] for n in (*session.once_over, *session.after))])
            ends_of[session.name] = self._session(
                session, self.stalls.get(session.name), starts_s, events
            )
        ends = list(ends_of.values())
        self.now_s = max(ends) + 0.1
        for watch in scene.activities:
            if isinstance(watch, WatchSockets):
                events.extend(self._sockets(watch, begin_s))
            elif isinstance(watch, ReadLog) and self.log is not None:
                events.append(self._logged(watch, events))
            elif isinstance(watch, Control):
                events.extend(self._control(watch, begin_s))
            elif isinstance(watch, SampleMetrics):
                count = min(watch.count, int((self.now_s - begin_s) / watch.every_s))
                events.extend(
                    self._metrics(watch, begin_s + n * watch.every_s) for n in range(count)
                )
        return sorted(events, key=lambda event: event.at_ns)

    def _session(
        self,
        session: ProbeSession,
        stall: Stall | None,
        begin_s: float,
        events: list[Event],
    ) -> float:
        now_s, on_connection, opened_s = begin_s + session.start_s + 0.05, 0, begin_s
        last_s = now_s
        port = self._port()
        for number in range(1, session.rounds + 1):
            now_s += session.pause_before_s(number)
            if session.lane_taken == "leave" and not self._room(session, now_s):
                return now_s
            closes_s = self.idle_closes.get(session.hop, self.idle_close_s)
            idled = closes_s is not None and now_s - last_s > closes_s
            closed = on_connection > 0 and idled
            if session.connection == "fresh" or on_connection == 0 or closed:
                on_connection, opened_s, port = 0, now_s, self._port()
            on_connection += 1
            count = self.counts.get(session.hop, 0)
            self.counts[session.hop] = count + 1
            asked = Asked(
                session.hop,
                on_connection,
                now_s,
                now_s - last_s,
                now_s - opened_s,
                count,
                session,
                len(round_body(session.request, number)),
                number,
                self.together.get(session.name, 1),
            )
            answer = self.rule(asked)
            if on_connection == 1:
                ready_s = answer.name_s + answer.handshake_s
                answer = replace(answer, wait_s=answer.wait_s + ready_s)
            waited_s = answer.wait_s + answer.spread_s + answer.drains_s
            given_up = "no"
            if answer.silent or answer.stalls or answer.wait_s > session.deadline_s:
                waited_s, given_up = session.deadline_s, "deadline"
            if (stall is not None and min(answer.wait_s, waited_s) > stall.after_s) or (
                stall is not None and (answer.silent or answer.stalls)
            ):
                waited_s, given_up = self._stall(asked, stall, now_s, (waited_s, given_up), events)
            exchange = _exchange(session, asked, answer, (now_s, waited_s, given_up, port, number))
            facts = replace(exchange.connection, closed_while_idle=closed)
            exchange = replace(exchange, connection=facts)
            if given_up != "no":
                self.silences.append((session.hop, port, now_s, now_s + waited_s, answer.lost))
            if session.lane is not None:
                self.lanes.setdefault(session.lane, []).append((now_s, now_s + waited_s))
            now_s += waited_s
            last_s = now_s
            event = Event(session.name, int(now_s * NS), "exchange", exchange_to_json(exchange))
            events.append(event)
            if not exchange.complete:
                self.failed.setdefault(session.name, number)
            if not exchange.complete and session.stop_after_failure:
                break
            if any(self.failed.get(n, number + 1) <= number for n in session.no_longer_than):
                break
        self.closed.setdefault(session.hop, (port, now_s))
        return now_s

    def _room(self, session: ProbeSession, at_s: float) -> bool:
        """Whether there is room in the session's lane at that moment."""
        spans = self.lanes.get(session.lane or "", [])
        return sum(begun <= at_s < ended for begun, ended in spans) < session.lane_width

    def _stall(
        self,
        asked: Asked,
        stall: Stall,
        begun_s: float,
        planned: tuple[float, str],
        events: list[Event],
    ) -> tuple[float, str]:
        at_s = begun_s + stall.after_s
        silence_s, answered_s, all_answered = 0.0, at_s, True
        for hop in stall.beside[-1:]:
            beside = self.rule(replace(asked, hop=hop, begun_s=at_s))
            silence_s, all_answered = beside.wait_s, not beside.silent
        plain = [a for a in stall.play if isinstance(a, ProbeSession) and not a.after]
        past = [a for a in plain if a.hop != asked.hop]
        ends_of: dict[str, float] = {}
        rows: list[Event] = []
        for activity in stall.play:
            if isinstance(activity, ProbeSession):
                unasked = self.failed.keys() & {*activity.after} or {*activity.after} - {*ends_of}
                if activity.after and (planned[1] == "no" or unasked):
                    # What is asked for the sake of a wait ends with its answer.
                    continue
                side: list[Event] = []
                before = (*activity.after, *activity.once_over)
                starts_s = max([at_s, *(ends_of[name] for name in before)])
                probe = at_round(activity, asked.round)
                end_s = self._session(probe, self.stalls.get(activity.name), starts_s, side)
                ends_of[activity.name] = end_s
                (rows if activity.after else events).extend(side)
                if activity not in (past or plain):
                    continue
                silences = [exchange_from_json(e.data).longest_silence_s for e in side]
                silence_s = max([silence_s, *silences])
                answered_s = max(answered_s, end_s)
                all_answered = all_answered and all(
                    event.data["first_token_ns"] is not None for event in side
                )
        ending = planned
        if stall.give_up_ratio is not None and all_answered and planned[1] != "no":
            looked_s = answered_s - begun_s + stall.look_s
            provisional_s = max(looked_s, stall.give_up_ratio * silence_s)
            ending = (provisional_s, "provisional") if provisional_s < planned[0] else planned
        events.extend(self._until(rows, begun_s + ending[0] + ROWS_DONE_S))
        return ending

    def _until(self, rows: list[Event], limit_s: float) -> Iterator[Event]:
        """What filled a wait, as far as it came soon enough after it."""
        limit_ns = int(limit_s * NS)
        for event in rows:
            exchange = exchange_from_json(event.data)
            if exchange.begun_ns >= limit_ns or exchange.ended_ns > limit_ns:
                self.failed.pop(event.activity, None)
            if exchange.ended_ns <= limit_ns:
                yield event
            elif exchange.begun_ns < limit_ns:
                cut = replace(
                    exchange, ended_ns=limit_ns, given_up="interrupted", body_complete=False
                )
                yield Event(event.activity, limit_ns, "exchange", exchange_to_json(cut))

    def _metrics(self, activity: SampleMetrics, at_s: float) -> Event:
        loaded = self.load.running + self.load.waiting > 0
        # What is asked of an engine that has work waits in its queue, and counts there.
        ours = sum(h == activity.hop and b < at_s <= e for h, _, b, e, _ in self.silences)
        values = {
            "running": float(self.load.running),
            "waiting": float(self.load.waiting + (ours if loaded else 0)),
            "generated_tokens": 100.0 + int(self.load.tokens_per_s * at_s),
        }
        if self.load.idle:
            values["idle_s"] = at_s
        if self.load.kv_usage is not None:
            values["kv_usage"] = self.load.kv_usage
        return Event(
            activity.name, int(at_s * NS), "metrics", {"hop": activity.hop, "values": values}
        )

    def _sockets(self, watch: WatchSockets, begin_s: float) -> list[Event]:
        found = []
        at_s = begin_s
        while at_s < self.now_s:
            rows = self._rows(watch, at_s) if self.sockets_visible else None
            data: JsonObject = {"hop": watch.hop, "rows": rows}
            if self.processes_visible and rows is not None and watch.hop != "engine":
                data = {**data, "processes": [f"{watch.port}:1"]}
            found.append(Event(watch.name, int(at_s * NS), "sockets", data))
            at_s += watch.every_s
        return found

    def _logged(self, watch: ReadLog, events: Sequence[Event]) -> Event:
        assert self.log is not None
        asked = [exchange_from_json(e.data) for e in events if e.kind == "exchange"]
        entries = [entry_to_json(self.log(e)) for e in asked if e.hop == watch.hop]
        data: JsonObject = {"hop": watch.hop, "wall_s": self.now_s, "entries": list(entries)}
        return Event(watch.name, int(self.now_s * NS), "log", data)

    def _control(self, control: Control, begin_s: float) -> list[Event]:
        tries = int((self.now_s - begin_s) / control.every_s)
        data: JsonObject = {
            "echo_ms": 0.4, "work_ms": 15.0 * self.starved, "work_cpu_ms": 15.0, "load": 3.0,
            "processors": 2, "steal": 0.0,
        }  # fmt: skip
        found = []
        for number in range(tries):
            run_s = 0.2 * number
            served = {"8000": {"run_s": run_s, "wait_s": run_s * self.engine_waits}}
            at_ns = int((begin_s + number * control.every_s) * NS)
            told: JsonObject = {**data, "served": served}
            found.append(Event(control.name, at_ns, "control", told))
        return found

    def _rows(self, watch: WatchSockets, at_s: float) -> list[JsonObject]:
        """Our own ends of the connections to a hop on which a request waits at that moment.

        And the hop's end of one that is over, as it shows where the hop is on this host.
        """
        port, over_s = self.closed.get(watch.hop, (0, self.now_s))
        over: JsonObject = {
            "up": False, "peer": None, "accepted": True, "state": "TIME_WAIT",
            "local_port": watch.port, "peer_port": port, "received_bytes": 0, "sent_bytes": 0,
            "unread_bytes": 0,
        }  # fmt: skip
        waiting: list[JsonObject] = [
            {
                "up": False, "peer": None, "accepted": True, "state": "ESTABLISHED",
                "local_port": port, "peer_port": watch.port, "received_bytes": 0,
                "sent_bytes": 0 if lost else 1_000_000, "unread_bytes": 0,
                "in_a_row": 3 if lost else 0,
            }
            for hop, port, begun_s, ended_s, lost in self.silences
            if hop == watch.hop and begun_s < at_s <= ended_s
        ]  # fmt: skip
        return [*waiting, over] if over_s < at_s else waiting

    def _port(self) -> int:
        self.ports += 1
        return self.ports


def _exchange(
    session: ProbeSession, asked: Asked, answer: Answer, when: tuple[float, float, str, int, int]
) -> Exchange:
    begun_s, took_s, given_up, port, number = when
    begun = int(begun_s * NS)
    ended = int((begun_s + took_s) * NS)
    ok = answer.status == 200 and (given_up == "no" or answer.stalls)
    first = int((begun_s + answer.wait_s) * NS) if ok else None
    spread_ms = answer.spread_s * 1000
    arrivals = tuple(answer.wait_s * 1000 + spread_ms * i / 7 for i in range(8)) if ok else ()
    arrivals = () if answer.unreadable else arrivals[: 4 if answer.stalls else None]
    whole = ok and not answer.cut and not answer.stalls
    told = text_facts(answer.text if ok else "")
    return Exchange(
        session=session.name,
        hop=session.hop,
        round=number,
        connection=ConnectionFacts(
            ordinal=number if session.connection == "fresh" else 1,
            request_number=asked.on_connection,
            age_s=asked.connection_age_s,
            idle_s=asked.idle_s,
            local_port=port,
        ),
        request_bytes=asked.body_bytes + HEAD_BYTES,
        body_sent_bytes=asked.body_bytes,
        request_id=f"exonerate-{port:08x}{number:08x}",
        begun_ns=begun,
        resolved_ns=begun + int(answer.name_s * NS) if asked.on_connection == 1 else None,
        connected_ns=begun + int((answer.name_s + answer.handshake_s) * NS),
        written_ns=begun,
        first_byte_ns=first if ok else (ended if answer.status and given_up == "no" else None),
        first_token_ns=first if arrivals else None,
        ended_ns=ended,
        arrivals_ms=arrivals,
        status=answer.status if ok or given_up == "no" else None,
        headers=dict(answer.headers),
        body_complete=whole,
        content=ContentFacts(
            meaningful_events=len(arrivals),
            done_seen=whole and not answer.lost_ending,
            prompt_tokens=asked.prompt_tokens,
            text_sha256=sha256(answer.text.encode()).hexdigest() if ok and answer.text else None,
            words=told.words,
            odd_words=told.odd_words,
            longest_run=told.longest_run,
            code_words=told.code_words,
            text_prefixes=told.prefixes,
            defects=answer.defects,
        ),
        end=_end(answer, given_up, whole=whole),
        error=answer.error,
        given_up=given_up,  # type: ignore[arg-type]  # one of its words
    )


def _end(answer: Answer, given_up: str, *, whole: bool) -> str:
    if answer.error is not None:
        return "hXK"
    return "cZH" if given_up != "no" else "---" if whole else "hFD"


def locate_in(
    world: World,
    *,
    budget_s: float = 120.0,
    seed: int = 1,
    symptom: str | None = None,
    gentle: bool = False,
) -> JsonObject:
    """Run the localiser against a world until its verdict."""
    records = start_records(world, budget_s=budget_s, seed=seed, symptom=symptom, gentle=gentle)
    for _ in range(20):
        decided = decide(records)
        if isinstance(decided, Verdict):
            return decided.answer
        records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
        events = [event_to_json(event) for event in world.play(decided)]
        records.append(record(records, "scene_played", {"scene": decided.id, "events": events}))
    raise AssertionError("the localiser did not come to an end")


def start_records(
    world: World,
    *,
    budget_s: float = 120.0,
    seed: int = 1,
    symptom: str | None = None,
    gentle: bool = False,
) -> list[Record]:
    """The record that begins a run."""
    body: JsonObject = {
        "job": "locate",
        "rules": RULES,
        "seed": seed,
        "budget_s": budget_s,
        "deployment": deployment_to_json(world.deployment),
        "options": {"symptom": symptom or world.complaint, "gentle": gentle},
    }
    return [record([], "run_started", body)]


def record(records: Sequence[Record], kind: str, body: JsonObject) -> Record:
    """A record as the fold needs it; its hash is of no interest here."""
    return Record(
        seq=len(records) + 1,
        case="case",
        kind=kind,  # type: ignore[arg-type]  # one of its words
        at="2026-01-01T00:00:00Z",
        body=body,
        prev="",
        hash="",
        run="run",
    )


def judgement_after(world: World, *inquiries: Callable[[Facts], Scene], seed: int = 1) -> Judgement:
    """What is judged after the first scene of a run and after those asked for then."""
    records = start_records(world, seed=seed)
    first = decide(records)
    assert isinstance(first, Scene)
    for ask in (lambda _: first, *inquiries):
        scene = ask(read_facts(records))
        records.append(record(records, "scene_planned", {"scene": scene_to_json(scene)}))
        events = [event_to_json(event) for event in world.play(scene)]
        records.append(record(records, "scene_played", {"scene": scene.id, "events": events}))
    return judge(records, world.deployment)
