"""What the events of the played scenes say, as typed facts; nothing is concluded here.

Outcomes of a round
-------------------
``ok`` complete; ``slow`` complete, but its first token came later than the stall limit of the
scene; ``hang`` given up while silent; ``cut`` the body ended before its framing's end, or in an
error event; ``lost-ending`` the body ended well but the stream never said that it was done;
``refused`` an HTTP status of 4xx, ``server-error`` one of 5xx or 408; ``no-answer`` the connection
was closed before any byte came; ``no-connect``; ``corrupt`` complete with defects in its content;
``unfinished`` we were interrupted, which says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from exonerate.core.case.records import Record
from exonerate.core.diagnosis.beside import Beside, has_counters, read_beside
from exonerate.core.diagnosis.sense import FOREIGN, GARBLED, garbled, loops, with_text_defects
from exonerate.core.instant import seconds_between
from exonerate.core.json_access import number_at
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event, ProbeSession, Scene
from exonerate.core.scene_json import event_from_json, scene_from_json
from exonerate.core.wire.exchange import Exchange
from exonerate.core.wire.exchange_json import exchange_from_json

Outcome: TypeAlias = Literal[
    "ok", "slow", "hang", "cut", "lost-ending", "refused", "server-error", "no-answer",
    "no-connect", "corrupt", "unfinished",
]  # fmt: skip

CONTENT_FAULTS = frozenset(
    {"invalid-utf8", "invalid-json", "framing-in-body", "duplicated-event", "special-token",
     "text-after-finish", "invalid-coding", FOREIGN, GARBLED}
)  # fmt: skip
ERROR_EVENT = "error-event"
OTHER_HTTP = frozenset({"speaks-http2", "not-http2"})
UNREAD = frozenset({"undecodable-coding", "oversized-body"})
"""What such an answer said is not known, so that nothing can be missed in it."""

VICTIM_SHAPED = ("victim@", "control-")
"""How the names of sessions begin that copy the victim: alone, or beside a varied one."""


@dataclass(frozen=True, slots=True)
class Round:
    """One exchange with its outcome."""

    exchange: Exchange
    outcome: Outcome

    @property
    def wait_s(self) -> float:
        """Until the first token, or until the end when none came."""
        seen = self.exchange.first_token_ns or self.exchange.ended_ns
        return seconds_between(self.exchange.begun_ns, seen)

    @property
    def total_s(self) -> float:
        """From the intent to send until the end."""
        return seconds_between(self.exchange.begun_ns, self.exchange.ended_ns)


@dataclass(frozen=True, slots=True)
class Session:
    """One probe session as it went."""

    scene: str
    plan: ProbeSession
    rounds: tuple[Round, ...]
    during_stall: str | None
    """Name of the session whose stall made this one start, if one did."""

    @property
    def hop(self) -> str:
        """Where the session entered."""
        return self.plan.hop

    @property
    def victim_shaped(self) -> bool:
        """Whether this session copied the victim, alone or as the control of a variation."""
        return self.plan.name.startswith(VICTIM_SHAPED)

    @property
    def failed(self) -> Round | None:
        """The first round that was not answered as it should."""
        answered = ("ok", "slow", "unfinished")
        return next((r for r in self.rounds if r.outcome not in answered), None)

    @property
    def waiting(self) -> Round | None:
        """The round to look at the rest of the world during: the failed one, else a slow one."""
        slow = (round_ for round_ in self.rounds if round_.outcome == "slow")
        return self.failed or next(slow, None)

    @property
    def conclusive(self) -> bool:
        """Whether the session says anything: it failed, or it finished a round."""
        return any(round_.outcome != "unfinished" for round_ in self.rounds)


@dataclass(frozen=True, slots=True)
class CounterSample:
    """One reading of an engine's counters; `values` is None where the page did not answer."""

    scene: str
    activity: str
    hop: str
    at_ns: int
    values: Mapping[str, float] | None
    age_s: float = 0.0
    """How long the page took: what it says can be that much older than its stamp."""


@dataclass(frozen=True, slots=True)
class SocketSample:
    """Sockets of this host that talk to one hop, at one moment."""

    scene: str
    hop: str
    at_ns: int
    rows: tuple[JsonObject, ...] | None
    process_seen: bool = False
    """Whether the hop's own process could be looked into, so that `up` rows are all there are."""
    processes: tuple[str, ...] = ()
    """Pid and start time of each process that listens at the hop, as far as it could be seen."""


@dataclass(frozen=True, slots=True)
class ControlSample:
    """One try of the known-good control on this host."""

    echo_ms: float
    work_ms: float
    work_cpu_ms: float
    load: float
    processors: int
    steal: float | None
    scene: str = ""
    served: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """By port: seconds that the processes behind it have run, and waited for a processor."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything seen so far in one run."""

    scenes: tuple[Scene, ...]
    sessions: tuple[Session, ...]
    counters: tuple[CounterSample, ...]
    sockets: Mapping[tuple[str, str], tuple[SocketSample, ...]]
    """Readings by scene and hop, in the order of their stamps."""
    own_ports: frozenset[int]
    """Local ports of every connection that we used: probes, and readings of metrics pages."""
    began_ns: int
    ended_ns: int
    controls: tuple[ControlSample, ...] = ()
    beside: Beside = field(default_factory=Beside)
    """What logs, admin pages, health pages and taps showed."""
    shut_out: tuple[Session, ...] = ()
    """Not among `sessions`, since they lacked a key that a hop before theirs has."""

    @property
    def elapsed_s(self) -> float:
        """From the first stamp of the run to the last one."""
        return seconds_between(self.began_ns, self.ended_ns)


def read_facts(records: Sequence[Record]) -> Facts:
    """The facts of one run's records."""
    scenes: dict[str, Scene] = {}
    sessions: list[Session] = []
    counters: list[CounterSample] = []
    sockets: list[SocketSample] = []
    stamps: list[int] = []
    page_ports: set[int] = set()
    everything: list[Event] = []
    controls: list[ControlSample] = []
    for record in records:
        body = record.body
        if record.kind == "scene_planned":
            scene = scene_from_json(_object(body["scene"]))
            scenes[scene.id] = scene
        elif record.kind == "scene_played":
            scene = scenes[str(body["scene"])]
            events = [event_from_json(_object(event)) for event in _items(body["events"])]
            stamps.extend(event.at_ns for event in events)
            everything.extend(events)
            sessions.extend(_sessions(scene, events))
            counters.extend(_counters(scene.id, events))
            page_ports.update(_page_ports(events))
            sockets.extend(_sockets(scene.id, events))
            controls.extend(_controls(scene.id, events))
    return Facts(
        scenes=tuple(scenes.values()),
        sessions=tuple(_looping_marked(sessions)),
        counters=tuple(counters),
        sockets=_by_scene_and_hop(sockets),
        own_ports=_own_ports(sessions) | page_ports,
        began_ns=min(stamps, default=0),
        ended_ns=max(stamps, default=0),
        beside=read_beside(everything),
        controls=tuple(controls),
    )


def _looping_marked(sessions: Sequence[Session]) -> list[Session]:
    """The sessions again; an answer that loops is corrupt where all others were obedient."""
    places = [
        (s, number) for s, session in enumerate(sessions) for number in range(len(session.rounds))
    ]
    looping = {places[at] for at in loops([sessions[s].rounds[n].exchange for s, n in places])}
    if not looping:
        return list(sessions)
    return [
        replace(
            session,
            rounds=tuple(
                Round(garbled(round_.exchange), "corrupt") if (s, n) in looping else round_
                for n, round_ in enumerate(session.rounds)
            ),
        )
        for s, session in enumerate(sessions)
    ]


def outcome_of(exchange: Exchange, stall_s: float | None, tokens_max: int = 0) -> Outcome:
    """How one exchange went; `stall_s` is the wait above which an answer counts as slow."""
    if exchange.given_up == "interrupted":
        return "unfinished"
    if no_common_language(exchange):
        return "unfinished"
    if exchange.connected_ns is None and exchange.connection.request_number == 1:
        return "no-connect"
    if exchange.given_up != "no":
        return "hang"
    if exchange.status is None:
        return "no-answer"
    if exchange.status >= 400:
        # 408 is what litellm says when the next hop took too long.
        return "server-error" if exchange.status >= 500 or exchange.status == 408 else "refused"
    return _outcome_of_answer(exchange, stall_s, tokens_max)


def no_common_language(exchange: Exchange) -> bool:
    """The probe never came to ask: TLS was refused on either side, or another HTTP is spoken.

    That is seldom what the victim meets, and no class of fault is about it.
    """
    handshake = exchange.end == "hXK" and exchange.connected_ns is not None
    return handshake or exchange.error in OTHER_HTTP


def _outcome_of_answer(exchange: Exchange, stall_s: float | None, tokens_max: int) -> Outcome:
    if CONTENT_FAULTS & set(exchange.content.defects):
        return "corrupt"
    content = exchange.content
    if not exchange.body_complete or ERROR_EVENT in content.defects:
        # All the text was there: what is missing is the ending alone.
        whole = content.finish_reason is not None or 0 < tokens_max <= content.meaningful_events
        return "lost-ending" if whole and not content.done_seen else "cut"
    if not exchange.content.done_seen:
        return "unfinished" if UNREAD & set(content.defects) else "lost-ending"
    first = exchange.first_token_ns or exchange.ended_ns
    if stall_s is not None and seconds_between(exchange.begun_ns, first) > stall_s:
        return "slow"
    return "ok"


def _sessions(scene: Scene, events: Sequence[Event]) -> list[Session]:
    plans: dict[str, tuple[ProbeSession, str | None]] = {}
    for activity in scene.activities:
        if isinstance(activity, ProbeSession):
            plans[activity.name] = (activity, None)
    stall_s: dict[str, float] = {}
    for trigger in scene.triggers:
        stall_s[trigger.session] = trigger.after_s
        for activity in trigger.play:
            if isinstance(activity, ProbeSession):
                plans[activity.name] = (activity, trigger.session)
    default_stall_s = min(stall_s.values(), default=None)
    rounds: dict[str, list[Round]] = {}
    for event in events:
        if event.kind == "exchange":
            plan = plans[event.activity][0]
            exchange = with_text_defects(exchange_from_json(event.data), plan)
            tokens_max = plan.request.max_tokens
            limit_s = stall_s.get(event.activity, default_stall_s)
            outcome = outcome_of(exchange, limit_s, tokens_max)
            rounds.setdefault(event.activity, []).append(Round(exchange, outcome))
    return [
        Session(scene.id, plan, tuple(rounds[name]), during)
        for name, (plan, during) in plans.items()
        if name in rounds
    ]


def _counters(scene: str, events: Sequence[Event]) -> list[CounterSample]:
    found: list[CounterSample] = []
    for event in events:
        if event.kind != "metrics" or not has_counters(event):
            continue
        values = event.data.get("values")
        numbers = (
            {str(name): float(str(value)) for name, value in values.items()}
            if isinstance(values, Mapping)
            else None
        )
        hop = str(event.data["hop"])
        age_s = number_at(event.data, "took_s") or 0.0
        found.append(CounterSample(scene, event.activity, hop, event.at_ns, numbers, age_s))
    return found


def _page_ports(events: Sequence[Event]) -> Iterator[int]:
    """Local ports over which metrics pages, and those of an engine's state, were read."""
    for event in events:
        for name in ("local_port", "state_port") if event.kind == "metrics" else ():
            port = event.data.get(name)
            if isinstance(port, int):
                yield port


def _controls(scene: str, events: Sequence[Event]) -> Iterator[ControlSample]:
    for event in events:
        if event.kind == "control":
            steal = event.data.get("steal")
            yield ControlSample(
                echo_ms=_number(event.data["echo_ms"]),
                work_ms=_number(event.data["work_ms"]),
                work_cpu_ms=_number(event.data["work_cpu_ms"]),
                load=_number(event.data["load"]),
                processors=int(_number(event.data["processors"])),
                steal=None if steal is None else _number(steal),
                scene=scene,
                served=_served(event.data.get("served", {})),
            )


def _served(value: object) -> dict[int, tuple[float, float]]:
    return {
        int(port): (_number(_object(times)["run_s"]), _number(_object(times)["wait_s"]))
        for port, times in _object(value).items()
    }


def _sockets(scene: str, events: Sequence[Event]) -> list[SocketSample]:
    found: list[SocketSample] = []
    last: dict[str, tuple[JsonObject, ...] | None] = {}
    process: dict[str, bool] = {}
    processes: dict[str, tuple[str, ...]] = {}
    for event in events:
        if event.kind != "sockets":
            continue
        hop = str(event.data["hop"])
        if not event.data.get("same"):
            rows = event.data.get("rows")
            last[hop] = tuple(_object(r) for r in _items(rows)) if rows is not None else None
            process[hop] = bool(event.data.get("process_seen"))
            processes[hop] = tuple(map(str, _items(event.data.get("processes", ()))))
        seen, names = process.get(hop, False), processes.get(hop, ())
        sample = SocketSample(scene, hop, event.at_ns, last.get(hop), seen, names)
        found.append(sample)
    return found


def _by_scene_and_hop(
    samples: Sequence[SocketSample],
) -> dict[tuple[str, str], tuple[SocketSample, ...]]:
    grouped: dict[tuple[str, str], list[SocketSample]] = {}
    for sample in sorted(samples, key=lambda sample: sample.at_ns):
        grouped.setdefault((sample.scene, sample.hop), []).append(sample)
    return {key: tuple(group) for key, group in grouped.items()}


def _own_ports(sessions: Sequence[Session]) -> frozenset[int]:
    return frozenset(
        round_.exchange.connection.local_port
        for session in sessions
        for round_ in session.rounds
        if round_.exchange.connection.local_port is not None
    )


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _object(value: object) -> JsonObject:
    assert isinstance(value, Mapping)
    return value


def _items(value: object) -> Sequence[object]:
    assert isinstance(value, Sequence)
    return value
