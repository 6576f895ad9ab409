"""Scenarios: parts, faults, a victim, and the culprit that is to be found. Format: docs/lab.md.

Theory of operation
-------------------
A scenario file is read once as plain tables (`Template`). For every run its variables are drawn
from the seed, ports are handed in, and text such as `$n` or `${url.engine}` is replaced; only then
are the tables checked and built (`Scenario`). So whatever a file can write can vary.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from exonerate.errors import ExonerateError
from exonerate.lab.tables import WrongTable, build, nearest, read_tables

Tables: TypeAlias = Mapping[str, object]
PartKind: TypeAlias = Literal["llamacpp", "scripted", "faulty-proxy", "program"]
HOST = "127.0.0.1"
ENGINE_ROLES = ("engine", "prefill", "decode")
VARIABLE = re.compile(r"\$(?:\{([a-z][\w.-]*)\}|([a-z]\w*))")
DECOY_NAMES = ("ingress", "gateway", "sidecar", "mesh", "egress")
DRAWING = ("vary", "choose", "decoys", "ports")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process of the path, in the order from the client inwards.

    `settings` are the engine's flags (llamacpp), its script (scripted) or the rules (faulty-proxy).
    A `program` is started with `argv` after `files` were written; it is ready when it listens, or
    when `ready` answers. `hidden` parts are on the path but not in the deployment file.
    `open_files` is the process's limit of file descriptors (0: the usual one). `namespace` is the
    network namespace it runs in (made by the scenario's `setup`), `address` where it listens then.
    `host` is a name that URLs have instead of the address, for scenarios with `names_at`. `cpu` is
    the one processor that it may use. `log` names its log in the deployment file: a proxy's line a
    request, an engine's own output; `watchdog_s` says there when an engine's watchdog speaks.
    """

    name: str
    kind: PartKind
    role: Literal["proxy", "router", "prefill", "decode", "engine"] | None = None
    hidden: bool = False
    upstream: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    ready: str | None = None
    open_files: int = 0
    namespace: str | None = None
    address: str = "127.0.0.1"
    host: str | None = None
    cpu: int | None = None
    log: bool = False
    watchdog_s: float = 0.0
    metrics: bool = True

    @property
    def is_engine(self) -> bool:
        """Whether it is the end of the path."""
        return self.kind in ("llamacpp", "scripted") or self.role in ENGINE_ROLES

    @property
    def hop_role(self) -> str:
        """The role that the deployment file gives it."""
        return self.role or ("engine" if self.is_engine else "proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusation:
    """A layer, a class and the hops."""

    layer: str
    kind: str = field(metadata={"key": "class"})
    hops: tuple[str, ...]
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFault:
    """A culprit; `also` are other answers that are as right."""

    layer: str
    kind: str = field(metadata={"key": "class"})
    hops: tuple[str, ...]
    details: Mapping[str, object] = field(default_factory=dict)
    also: tuple[Accusation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The right verdict.

    An explanation beside a culprit is an answer that is as right: some troubles are nobody's fault
    to one reader and the host's to another.
    """

    outcome: Literal["fault", "no_fault", "insufficient_evidence"]
    fault: tuple[ExpectedFault, ...] = ()
    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Other clients, which run as long as the scenario stands; `options` go to the program."""

    program: Literal["harness", "aborter", "idler", "hog"]
    at: str
    count: int = 1
    options: tuple[str, ...] = ()
    lead_s: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The victim's own program, for `locate --run`: one of ours with options, or any `argv`.

    `environ` is what the shell that it is started from has exported.
    """

    program: Literal["harness", "faulty_client"] = "harness"
    options: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One drawn scenario, ready to be staged.

    `setup` and `teardown` are shell scripts around it, for networks that have to be built.
    `names_at` is the address of the name server that the client asks. `quick` ones are short and
    need nothing installed.
    """

    id: str
    title: str
    part: tuple[Part, ...]
    expected: Expected
    symptom: Literal["hang", "slow", "truncated", "corrupted", "errors"] | None = None
    victim: Mapping[str, object] = field(default_factory=dict)
    background: tuple[Background, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    client: Client | None = None
    setup: str = ""
    teardown: str = ""
    names_at: str | None = None
    needs: tuple[str, ...] = ()
    needs_root: bool = False
    quick: bool = False
    budget_s: float = 60.0
    timers_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Template:
    """A scenario file before anything was drawn."""

    path: Path
    tables: Tables

    @property
    def id(self) -> str:
        """The scenario's id."""
        return str(self.tables.get("id", self.path.stem))

    @property
    def part_names(self) -> list[str]:
        """The names of the parts, in their order."""
        parts = self.tables.get("part", [])
        assert isinstance(parts, list)
        return [str(part["name"]) for part in parts if isinstance(part, Mapping) and "name" in part]

    @property
    def addresses(self) -> dict[str, str]:
        """The names or addresses of parts that are not called by the loopback address."""
        parts = self.tables.get("part", [])
        assert isinstance(parts, list)
        tables = [part for part in parts if isinstance(part, Mapping) and "name" in part]
        return {
            str(part["name"]): str(part.get("host", part.get("address")))
            for part in tables
            if "host" in part or "address" in part
        }

    @property
    def port_names(self) -> list[str]:
        """Everything that needs a port: the parts, and what `ports` lists."""
        extra = self.tables.get("ports", [])
        return [*self.part_names, *(map(str, extra) if isinstance(extra, list) else ())]


def read_template(path: Path) -> Template:
    """The scenario in a file, undrawn.

    Raises:
        ExonerateError: the file cannot be read or holds no parts.
    """
    tables = read_tables(path)
    if not isinstance(tables.get("part"), list):
        raise ExonerateError(
            f"`{path}`: there is no [[part]]", "see the section on scenarios in docs/lab.md"
        )
    return Template(path, tables)


def builtin_scenarios() -> list[Template]:
    """The scenarios that come with Exonerate, by id."""
    folder = Path(__file__).parent / "scenarios"
    templates = [read_template(path) for path in folder.glob("*.toml")]
    return sorted(templates, key=lambda template: _natural(template.id))


def find_template(name: str) -> Template:
    """The scenario of an id, or in the file of a path.

    Raises:
        ExonerateError: there is none.
    """
    if name.endswith(".toml"):
        return read_template(Path(name))
    known = {template.id.lower(): template for template in builtin_scenarios()}
    if name.lower() not in known:
        raise ExonerateError(f"there is no scenario `{name}`", "see `exonerate lab list`")
    return known[name.lower()]


def drawn_once(template: Template) -> Scenario:
    """The scenario of any seed, for what does not vary: its title, and what it needs."""
    return draw(template, seed=1, ports=dict.fromkeys(template.port_names, 1))


def _natural(name: str) -> list[tuple[str, int]]:
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", name)]


def draw(template: Template, *, seed: int, ports: Mapping[str, int], folder: str = ".") -> Scenario:
    """The scenario of one run: the same seed draws the same values.

    Raises:
        ExonerateError: the file holds something that cannot be.
    """
    rng = random.Random(f"{template.id} {seed}")
    try:
        values = _drawn_values(template.tables, rng)
        addresses = template.addresses
        for name, port in ports.items():
            values[f"port.{name}"] = port
            values[f"url.{name}"] = f"http://{addresses.get(name, HOST)}:{port}"
        values |= {"seed": seed, "python": sys.executable, "folder": folder}
        plain = {key: item for key, item in template.tables.items() if key not in DRAWING}
        filled = _filled(plain, values)
        scenario = build(Scenario, filled, "scenario", {str: _text})
        _check(scenario)
    except WrongTable as error:
        raise ExonerateError(
            f"`{template.path}`: {error}", "see the section on scenarios in docs/lab.md"
        ) from error
    return scenario


def decoys_of(template: Template, seed: int) -> dict[int, str]:
    """Neutral proxies to put into the path of this run: index among the parts -> name."""
    limit = template.tables.get("decoys", 0)
    if not isinstance(limit, int) or not limit:
        return {}
    rng = random.Random(f"decoys {template.id} {seed}")
    names = rng.sample(DECOY_NAMES, rng.randint(0, min(limit, len(DECOY_NAMES))))
    engine_at = len(template.part_names) - 1
    return {rng.randint(0, engine_at): name for name in names}


def _drawn_values(tables: Tables, rng: random.Random) -> dict[str, object]:
    values: dict[str, object] = {}
    vary = tables.get("vary", {})
    if not isinstance(vary, Mapping):
        raise WrongTable("vary must be a table")
    for name in sorted(vary):
        values[name] = _drawn(vary[name], f"vary.{name}", rng)
    rows = tables.get("choose", [])
    if rows:
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise WrongTable("choose must be a list of tables: write [[choose]]")
        values |= rows[rng.randrange(len(rows))]
    return values


def _drawn(choice: object, where: str, rng: random.Random) -> object:
    if isinstance(choice, list) and choice:
        return choice[rng.randrange(len(choice))]
    if isinstance(choice, Mapping) and set(choice) == {"low", "high"}:
        low, high = choice["low"], choice["high"]
        if isinstance(low, int) and isinstance(high, int):
            return rng.randint(low, high)
        if isinstance(low, int | float) and isinstance(high, int | float):
            return round(rng.uniform(low, high), 2)
    raise WrongTable(f"{where} must be a list, or a table with `low` and `high`")


def _filled(value: object, values: Mapping[str, object]) -> object:
    """The value with its variables replaced; a text that is one variable takes its type."""
    if isinstance(value, Mapping):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if not isinstance(value, str):
        return value
    whole = VARIABLE.fullmatch(value)
    if whole is not None:
        return _variable(whole, values)
    return VARIABLE.sub(lambda found: str(_variable(found, values)), value)


def _variable(found: re.Match[str], values: Mapping[str, object]) -> object:
    name = found[1] or found[2]
    if name not in values:
        # Configuration files of other programs have dollars of their own, such as nginx's $host.
        return found[0]
    return values[name]


def _text(value: object) -> str:
    """A text, or a number that a variable put where a text belongs."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is not a text")
    return str(value)


def _check(scenario: Scenario) -> None:
    names = [part.name for part in scenario.part]
    if len(set(names)) != len(names):
        raise WrongTable("scenario.part: two parts have the same name")
    if not scenario.part[-1].is_engine:
        raise WrongTable("scenario.part: the last part must be an engine")
    mentioned = [part.upstream for part in scenario.part if part.upstream is not None]
    mentioned += [background.at for background in scenario.background]
    mentioned += [hop for fault in scenario.expected.fault for hop in fault.hops if hop != "client"]
    for name in mentioned:
        if name not in names:
            raise WrongTable(f"scenario: there is no part `{name}`{nearest(name, names)}")
