"""A scene: what shall be done to the world, as data, before anything is done.

Theory of operation
-------------------
A pure `decide` returns a `Scene`. The job writes it into the ledger (intent), the one player
performs it and returns `Event`s stamped on one monotonic clock, the job writes those down too,
and `decide` is asked again. So everything that touched the world can be read, and refolded,
from the ledger.

Activities of a scene run in one task group. Each begins `start_s` after the scene began, or after
every activity named in `after` has ended well; when one of those failed, the activity is skipped
and says so in an event of kind ``skipped``. A probe session can also wait for others to be over,
however they ended (`once_over`). A `Stall` trigger starts more activities while a probe
is waiting for its answer. A `background` activity ends with the last one that is not; one that a
trigger started ends with the round that stalled.

Rules: a scene holds no secret (headers and prompts are recipes or references), every activity
carries its own limit in time, and unknown kinds are refused by the codec in `scene_json`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from exonerate.core.json_types import JsonObject

Connection: TypeAlias = Literal["reuse", "fresh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRecipe:
    """How the prompt of each round is made: seeded, so that it can be made again.

    `prompt_tokens` counts the first round; every later round adds `growth_tokens` of history.
    `salt` keeps a prefix cache from being hit by accident: equal salts share their prefix.
    """

    seed: int
    prompt_tokens: int
    growth_tokens: int = 0
    salt: str = ""
    code_word: bool = False
    """Open with a word that stands in no other prompt, and ask for it (`wire.code_words`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecipe:
    """One request as the victim sends it; the body is made from the prompt recipe.

    `body_ref` names a JSON file with the victim's own body; `api_key_env` names the environment
    variable that holds the key. Neither value ever enters a scene.
    """

    path: str
    model: str
    prompt: PromptRecipe
    max_tokens: int
    stream: bool = True
    ignore_eos: bool = False
    """Ask for an answer of full length; vLLM, SGLang and llama.cpp know the field."""
    api_key_env: str | None = None
    body_ref: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    chunked: bool = False
    """The body goes in chunks (`Transfer-Encoding: chunked`) instead of with its length."""
    body_bytes: tuple[int, ...] = ()
    """Round i sends a body of exactly `body_bytes[i - 1]` bytes; later rounds as the last one.

    What is missing is filled with spaces before the closing brace of the JSON, which costs no
    prompt tokens; what is too much is cut from the prompt, history first.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSession:
    """Rounds sent one after the other at one hop, as the victim sends them.

    Emits one event of kind ``exchange`` for each round that was begun.
    A round that waits longer than `deadline_s` is given up and its connection is closed.
    """

    name: str
    hop: str
    url: str
    request: RequestRecipe
    rounds: int
    connection: Connection
    think_s: float
    deadline_s: float
    stop_after_failure: bool = True
    pauses_s: tuple[float, ...] = ()
    """Silence before rounds 2, 3, ... instead of `think_s`; later rounds as the last one."""
    first_round: int = 1
    """The number of the first round, which decides how long its history is."""
    no_longer_than: tuple[str, ...] = ()
    """End after the round in whose number one of these sessions failed: the rest tells nothing."""
    behind: str | None = None
    """Send no later round before that session has sent its own of this number, or is over."""
    in_turn: bool = False
    """Wait with each request until no other session that takes turns waits for its first token."""
    lane: str | None = None
    """Of the sessions in one lane so few requests are under way at a time; None: in no lane."""
    lane_width: int = 1
    """How many requests that is; the same for all sessions of a lane."""
    lane_taken: Literal["wait", "leave"] = "wait"
    """Where they are under way: wait until one of them is over, or send nothing more."""
    half_close: bool = False
    """End the sending side after each request, to see who minds; never set otherwise."""
    tcp_keepalive_s: float | None = None
    """Seconds of silence between TCP keep-alive probes on the socket; None: none are sent."""
    accept_encoding: str | None = None
    """What the requests offer instead of the codings that can be undone here."""
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    once_over: tuple[str, ...] = ()
    """Activities that must be over before this one begins, however they ended."""

    def pause_before_s(self, round_number: int) -> float:
        """The silence before a round; none before the first."""
        if round_number == 1:
            return 0.0
        if not self.pauses_s:
            return self.think_s
        return self.pauses_s[min(round_number - 1, len(self.pauses_s)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMetrics:
    """The metrics page of a hop, read `count` times, `every_s` apart.

    Emits ``metrics`` events: `{"hop", "age_s", "values": {canonical name: number}}` or
    `{"hop", "error"}`.
    """

    name: str
    hop: str
    url: str
    count: int = 3
    every_s: float = 0.25
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSockets:
    """TCP byte counters of every local socket that talks to `host:port`, read repeatedly.

    Emits ``sockets`` events: `{"hop", "rows": [...] | null}`, or `{"hop", "same": true}` when
    nothing changed since the last one; see `adapters.sockets` for a row.
    """

    name: str
    hop: str
    host: str
    port: int
    count: int = 3
    every_s: float = 0.25
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPackets:
    """What packets on this host show of every connection to these ports, while the others run.

    Emits one ``packets`` event at the end (see `core.wire.packets.seen`). Of what the packets say
    nothing is kept but request ids and code words of our own.
    """

    name: str
    ports: tuple[int, ...]
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLog:
    """What is appended to a hop's log from now on; the place is kept from scene to scene.

    Emits ``log`` events: `{"hop", "wall_s", "entries": [...], "lines", "unknown_lines",
    "skipped_bytes"}` (see `core.diagnosis.logs.entry`), or `{"hop", "error"}` once. `engine`: the
    hop is an engine, and its log tells of its health; then also `engine`, a list of
    `{"word", "lasted_s", "times"}` (see `core.diagnosis.logs.engine`).
    """

    name: str
    hop: str
    path: str
    kind: str | None = None
    every_s: float = 0.25
    bytes_max: int = 4 << 20
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = True
    engine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchGpus:
    """The GPUs of this host, and what its kernel says of them.

    Emits ``gpus`` events: `{"gpus": [...], "error", "kernel": [{"word", "code", "bus", "age_s"}],
    "kernel_unread"}` (see `core.diagnosis.gpu_readings`); none where the tool for it is not there.
    """

    name: str
    count: int
    every_s: float
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A known-good engine on this host: an exchange that is answered at once, and a bit of work.

    Emits one ``control`` event for each try: `{"echo_ms", "work_ms", "work_cpu_ms", "load",
    "processors", "steal", "served"}`. Where this is slow as well, the host is, and nobody's timing
    tells. `served` has, for each of `ports` that a process of this host listens on, the seconds
    that it and its children have computed so far and those that they have waited for a processor.
    """

    name: str
    count: int
    ports: tuple[int, ...] = ()
    every_s: float = 1.0
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCell:
    """Closed-loop load at one concurrency: the unit of a benchmark and of an A/B.

    Emits one ``cell`` event: concurrency, window start and end, one row per request.
    `warmup_requests` are sent first and are not in the rows.
    """

    name: str
    hop: str
    url: str
    request: RequestRecipe
    concurrency: int
    requests: int
    deadline_s: float
    warmup_requests: int = 0
    time_limit_s: float = 120.0
    start_s: float = 0.0
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapFile:
    """Replace a file by the bytes of a stored blob, if it still has the expected hash.

    Emits ``swapped`` (`{"path", "from_sha256", "to_sha256", "method"}`) or ``failed``.
    """

    name: str
    path: str
    expected_sha256: str
    target_sha256: str
    start_s: float = 0.0
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartService:
    """Stop a service, start it again and wait until it is ready.

    Emits ``restarted`` (`{"service", "pid", "ready_s"}`) or ``failed``.
    """

    name: str
    service: str
    start_s: float = 0.0
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSetting:
    """What each process of a service got: environment and command line, one setting of it.

    Emits ``setting`` (`{"service", "processes": [{"pid", "value" | null}]}`) or ``failed``.
    """

    name: str
    service: str
    setting: str
    form: str
    start_s: float = 0.0
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """A neutral recorder before a hop: it listens on this host and passes every byte on.

    Emits one ``tap_exchange`` for each request that crossed and one ``tap_connection`` for each
    connection (see `core.wire.tapped`). Ends after `connections` connections (0: no limit), after
    `time_limit_s`, or as a background activity with the others.
    """

    name: str
    hop: str
    listen_port: int
    upstream_url: str
    connections: int = 0
    time_limit_s: float = 86_400.0
    start_s: float = 0.0
    after: tuple[str, ...] = ()
    background: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgram:
    """The victim's own program, run to its end with its requests sent to a tap.

    What is run is the operator's and may hold secrets, so that it is not part of the scene; `shown`
    is its name. Emits ``program_started``, ``program_sampled`` (its sockets and threads, whenever
    they changed and at least every second) and ``program_ended``.
    """

    name: str
    shown: str
    tap_port: int
    time_limit_s: float
    sample_every_s: float = 0.2
    start_s: float = 0.0
    after: tuple[str, ...] = ()


Activity: TypeAlias = (
    ProbeSession
    | SampleMetrics
    | WatchSockets
    | WatchPackets
    | ReadLog
    | WatchGpus
    | Control
    | LoadCell
    | SwapFile
    | RestartService
    | ReadSetting
    | Tap
    | RunProgram
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """When a round of `session` has waited longer than `after_s`, play more activities, once.

    Where the round was answered before anything could be asked, the next wait plays them.

    With `give_up_ratio` the waiting round is given up, provisionally, once every probe among those
    activities has been answered, the rest of the world has been watched for `look_s` more, and the
    wait is longer than this many times the longest silence in a good answer; without it, only the
    deadline of the session ends the wait. `beside` names the hops whose answers while the round
    waits are compared with, where nothing is asked for that.
    """

    session: str
    after_s: float
    play: tuple[Activity, ...]
    give_up_ratio: float | None = None
    look_s: float = 0.0
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Activities and triggers, played together on one clock."""

    id: str
    why: str
    activities: tuple[Activity, ...]
    triggers: tuple[Stall, ...] = ()
    time_limit_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Event:
    """One raw observation: which activity saw what, when (monotonic nanoseconds)."""

    activity: str
    at_ns: int
    kind: str
    data: JsonObject = field(default_factory=dict)
