"""A deployment: hops from client to engine, the victim's habits, services and knobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from exonerate.core.scene import Connection

Role: TypeAlias = Literal["proxy", "router", "prefill", "decode", "engine"]
KnobForm: TypeAlias = Literal[
    "export", "flag", "environment-file", "unit-environment", "toml", "yaml", "json"
]
HttpVersion: TypeAlias = Literal["1.1", "2", "auto"]
KnobValue: TypeAlias = str
"""Values are text, as they stand in the file; `512` in TOML is read as "512"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One addressable point on the request path.

    `behind` names the hops directly downstream of it (towards the client); empty for the first.
    """

    name: str
    role: Role
    url: str
    behind: tuple[str, ...] = ()
    kind: str | None = None
    metrics: str | None = None
    health: str | None = None
    log: str | None = None
    tap: str | None = None
    http: HttpVersion = "1.1"
    ca: str | None = None
    error_log: str | None = None
    """A second log of the same program, such as nginx's."""
    watchdog_s: float | None = None
    """An engine's: after how long without a step its watchdog is set to speak into its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """How the client that suffers behaves; every probe copies it."""

    endpoint: str = "/v1/chat/completions"
    rounds: int = 8
    think_s: float = 0.5
    stream: bool = True
    chunked: bool = False
    """Whether its request bodies come in chunks instead of with their length."""
    connection: Connection = "reuse"
    concurrency: int = 1
    prompt_tokens: int = 200
    growth_tokens: int = 150
    max_tokens: int = 32
    deadline_s: float = 20.0
    request: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    api_key_env: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process that can be started, stopped and asked whether it is ready.

    Exactly one of `start` (argument vector, run in the folder of the deployment file) and `unit`
    (a systemd unit of `manager`) is given.
    """

    name: str
    hop: str | None = None
    start: tuple[str, ...] = ()
    unit: str | None = None
    manager: Literal["system", "user"] = "system"
    ready: str | None = None
    ready_timeout_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One setting of a service; `default` is what an absent setting means."""

    name: str
    service: str
    file: str
    form: KnobForm
    values: tuple[KnobValue, ...] = ()
    default: KnobValue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Everything `exonerate.toml` says. `folder` is where relative paths start."""

    name: str
    model: str
    folder: str
    hops: tuple[Hop, ...] = ()
    victim: Victim = field(default_factory=Victim)
    services: tuple[Service, ...] = ()
    knobs: tuple[Knob, ...] = ()
