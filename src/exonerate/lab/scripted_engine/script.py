"""What the scripted engine does, as data; read from TOML or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, TypeAlias

from exonerate.errors import ExonerateError
from exonerate.lab.compare import Compare, read_compare
from exonerate.lab.tables import WrongTable, build, nearest, read_tables

Names: TypeAlias = Literal["sglang", "vllm"]
"""Whose metrics and log lines the engine has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWhen:
    """What must be true when a request gets its slot; what is None does not matter."""

    request_in_process: Compare | None = None
    request_on_connection: Compare | None = None
    prompt_tokens: Compare | None = None
    running: Compare | None = None
    aborts: Compare | None = None
    uptime_s: Compare | None = None
    stream: bool | None = None
    tools: bool | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """An error answer instead of a completion."""

    status: int = 429
    message: str = "the engine refuses this request"
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A pause in mid-answer."""

    after_tokens: int = 3
    seconds: float = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """From here on the scheduler does nothing more, for anybody; the front end lives on.

    After `watchdog_s` a line like a watchdog's goes to stderr (0: never). With `freezes_counters`
    its counters stay as they are, as where the scheduler's process has stopped.
    """

    after_tokens: int = 0
    watchdog_s: float = 0.0
    freezes_counters: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The front end reads the request and forgets it: no counter ever shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrupt:
    """Tokens come out wrong, while at least `while_running` requests run.

    `garbage` are made-up words, `loop` repeats one word, `foreign` is text of another request.
    `reword` is no damage: other words that make as much sense, as another order of adding numbers
    gives them.
    """

    how: Literal["garbage", "loop", "foreign", "reword"] = "garbage"
    after_tokens: int = 0
    while_running: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialToken:
    """A token of the chat template shows in the text."""

    text: str = "<|im_end|>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """Prefill and decode take `factor` times as long."""

    factor: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The engine closes in mid-answer."""

    after_tokens: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The process ends in mid-answer."""

    after_tokens: int = 3


Misbehaviour: TypeAlias = (
    Status | Silence | Stuck | Lost | Corrupt | SpecialToken | Slow | Cut | Crash
)

MISBEHAVIOURS: dict[str, type[Misbehaviour]] = {
    "status": Status,
    "silence": Silence,
    "stuck": Stuck,
    "lost": Lost,
    "corrupt": Corrupt,
    "special-token": SpecialToken,
    "slow": Slow,
    "cut": Cut,
    "crash": Crash,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """When `when` holds for a request, it gets `do`."""

    do: Misbehaviour
    when: FaultWhen = FaultWhen()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineScript:
    """How the engine behaves; the default is a healthy one.

    `echo` answers with the prompt's own last words, at once: the known-good control.
    `prefill_tokens_per_s` of 0 means that prompts cost no time; `prefix_cache` makes a prompt cost
    only what it does not share with an earlier one. `framing` "close" ends an answer by closing.
    `gauge_lag_s`: so long the gauges stay those of the last step, as SGLang's do while it is idle.
    `half_close` is what the client's FIN means: its leaving, or only the end of its request.
    """

    model: str = "scripted"
    names: Names = "vllm"
    echo: bool = False
    max_running: int = 8
    first_byte_s: float = 0.02
    prefill_tokens_per_s: float = 0.0
    prefix_cache: bool = False
    token_s: float = 0.01
    answer_tokens: int = 48
    idle_close_s: float = 0.0
    close_after_stream: bool = False
    framing: Literal["chunked", "close"] = "chunked"
    heartbeat_s: float = 0.0
    half_close: Literal["abort", "answer"] = "abort"
    leak_slot_on_abort: bool = False
    notice_abort: bool = True
    gauge_lag_s: float = 0.0
    seed: int = 1
    faults: tuple[Fault, ...] = ()


def read_script(path: Path) -> EngineScript:
    """The script in a file.

    Raises:
        ExonerateError: the file cannot be read, or holds something that cannot be.
    """
    try:
        return parse_script(read_tables(path))
    except WrongTable as error:
        raise ExonerateError(
            f"`{path}`: {error}", "see the section on the scripted engine in docs/lab.md"
        ) from error


def parse_script(tables: Mapping[str, object]) -> EngineScript:
    """The script that parsed tables describe; `[[fault]]` tables hold `when` and `do`."""
    faults = tables.get("fault", [])
    if not isinstance(faults, list):
        raise WrongTable("fault must be a list of tables: write [[fault]]")
    if "faults" in tables:
        raise WrongTable("faults is not known; did you mean [[fault]]?")
    plain = {key: value for key, value in tables.items() if key != "fault"}
    script = build(EngineScript, plain, "script", {})
    read = tuple(_fault(table, f"fault[{index}]") for index, table in enumerate(faults))
    values = {item.name: getattr(script, item.name) for item in fields(script)}
    return EngineScript(**{**values, "faults": read})


def _fault(table: object, where: str) -> Fault:
    if not isinstance(table, Mapping) or set(table) - {"when", "do"} or "do" not in table:
        raise WrongTable(f"{where} must be a table with `do` and, if wanted, `when`")
    do = table["do"]
    options = {"action": do} if isinstance(do, str) else do
    if not isinstance(options, Mapping) or not isinstance(options.get("action"), str):
        raise WrongTable(f"{where}.do must be a name, or a table with `action`")
    name = str(options["action"])
    if name not in MISBEHAVIOURS:
        known = list(MISBEHAVIOURS)
        raise WrongTable(f"{where}.do: there is no `{name}`{nearest(name, known)}")
    rest = {key: value for key, value in options.items() if key != "action"}
    return Fault(
        do=build(MISBEHAVIOURS[name], rest, f"{where}.do", {}),
        when=build(FaultWhen, table.get("when", {}), f"{where}.when", {Compare: read_compare}),
    )
