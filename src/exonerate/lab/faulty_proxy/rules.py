"""The grammar of faults as data: a rule is a condition and an action.

A condition has two parts. What is known when the request is whole (`When`) decides whether the rule
is armed for this exchange. A trigger (`Trigger`), where there is one, lets the action wait for a
moment inside the exchange; without a trigger it acts at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from exonerate.lab.compare import Compare


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """What must be true of a request; what is None does not matter."""

    request_on_connection: Compare | None = None
    request_in_process: Compare | None = None
    connection_in_process: Compare | None = None
    request_bytes: Compare | None = None
    connection_age_s: Compare | None = None
    idle_s: Compare | None = None
    uptime_s: Compare | None = None
    in_flight: Compare | None = None
    connections_open: Compare | None = None
    content: str | None = None
    path: str | None = None
    method: str | None = None
    chunked: bool | None = None
    stream: bool | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The moment inside an exchange at which an armed action fires: the first that comes.

    `total_s` counts from the whole request, `silence_s` from the last byte of the engine,
    `every_s` ticks on the process's own clock (`phase_s` after its start), `bytes` and `events`
    count what the engine has sent of the body.
    """

    total_s: float | None = None
    silence_s: float | None = None
    every_s: float | None = None
    phase_s: float = 0.0
    bytes: int | None = None
    events: int | None = None

    @property
    def at_once(self) -> bool:
        """Whether there is nothing to wait for."""
        moments = (self.total_s, self.silence_s, self.every_s, self.bytes, self.events)
        return all(moment is None for moment in moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swallow:
    """The request enters and nothing ever leaves; the connection stays open.

    With `forward` the engine gets the request, and its answer is swallowed.
    """

    forward: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Nothing passes any more, in either direction; both connections stay open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """FIN to both sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """RST to the client, FIN to the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An error answer of the proxy's own; when an answer has begun, the stream is closed instead.

    `reply` is the body; empty means an HTML page as proxies write it.
    """

    status: int = 503
    reply: str = ""
    close: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The request, or the whole answer, is held back for some time."""

    seconds: float
    what: Literal["request", "answer"] = "request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """Copies of the request go to the engine; none is cancelled, the first that answers is used.

    The next copy is sent whenever `after_s` has passed without a byte of an answer.
    """

    copies: int = 2
    after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Misroute:
    """The request goes to another address than the configured one."""

    upstream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepUpstream:
    """The client's leaving is not passed on; the engine's answer is read to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """The answer is held until it is whole and leaves in one burst.

    With `window_s` it leaves in portions instead: what came within each window, together. An answer
    longer than `limit_bytes` leaves whenever so much has gathered.
    """

    window_s: float | None = None
    limit_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """The answer passes at no more than this rate."""

    bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseEnding:
    """`data: [DONE]` and the terminal chunk are left out; then FIN.

    `finish` also drops the event that carries the finish reason.
    """

    finish: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InventEnding:
    """A well-formed ending is made up and the rest of the engine's answer thrown away."""

    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptText:
    """Every `every`-th event is damaged.

    `utf8` breaks the last byte of each multi-byte character (and puts half a character into text
    that has none); `flip` exchanges one letter of the text; the JSON stays well-formed.
    """

    how: Literal["utf8", "flip"] = "utf8"
    every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakFraming:
    """The lines with the chunk sizes become part of the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatEvents:
    """Every `every`-th event of the stream is sent twice."""

    every: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DropEvents:
    """Every `every`-th event of the stream is left out."""

    every: int = 5


Action: TypeAlias = (
    Swallow
    | Stall
    | Close
    | Reset
    | Refuse
    | Delay
    | Duplicate
    | Misroute
    | KeepUpstream
    | Buffer
    | Throttle
    | LoseEnding
    | InventEnding
    | CorruptText
    | LeakFraming
    | RepeatEvents
    | DropEvents
)

ACTIONS: dict[str, type[Action]] = {
    "swallow": Swallow,
    "stall": Stall,
    "close": Close,
    "reset": Reset,
    "refuse": Refuse,
    "delay": Delay,
    "duplicate": Duplicate,
    "misroute": Misroute,
    "keep-upstream": KeepUpstream,
    "buffer": Buffer,
    "throttle": Throttle,
    "lose-ending": LoseEnding,
    "invent-ending": InventEnding,
    "corrupt-text": CorruptText,
    "leak-framing": LeakFraming,
    "repeat-events": RepeatEvents,
    "drop-events": DropEvents,
}
"""How actions are called in a file."""

AT_A_MOMENT = (Swallow, Stall, Close, Reset, Refuse, InventEnding)
"""The actions that can wait for a trigger; the others shape a whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When `when` holds for a request, do `action`, at once or when `trigger` fires."""

    name: str
    action: Action
    when: When = field(default_factory=When)
    trigger: Trigger = field(default_factory=Trigger)


@dataclass(frozen=True, slots=True, kw_only=True)
class Downstream:
    """How client connections are kept.

    `idle_close_s` and `requests_per_connection` of 0 mean never; the latter closes after the nth
    answer, announced by `Connection: close` unless `announce` is off. `half_close` is what the end
    of the client's sending side means: passed on to the engine, or the client's leaving.
    """

    idle_close_s: float = 0.0
    requests_per_connection: int = 0
    announce: bool = True
    half_close: Literal["pass", "abort"] = "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """How engine connections are kept, one per client connection.

    `stale` is what happens when a kept connection turns out to be closed: the request is sent again
    on a fresh one, answered by 502, or lost in silence. Only `retry` looks before it sends.
    """

    reuse: bool = True
    stale: Literal["retry", "fail", "hang"] = "retry"
    connect_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Everything a rules file says; the default is a neutral proxy."""

    rules: tuple[Rule, ...] = ()
    downstream: Downstream = field(default_factory=Downstream)
    upstream: Upstream = field(default_factory=Upstream)
    seed: int = 1
