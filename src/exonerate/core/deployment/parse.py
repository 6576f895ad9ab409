"""The text of `exonerate.toml` to a `Deployment`, with errors that name file, line and key."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from exonerate.core.deployment.fields import SECTIONS, FieldTable, type_name
from exonerate.core.deployment.model import Deployment, Hop, Knob, Service, Victim
from exonerate.core.deployment.toml_lines import KeyPath, key_lines
from exonerate.errors import ExonerateError

_ENGINE_ROLES = ("prefill", "decode", "engine")


def parse_deployment(text: str, *, path: str, folder: str) -> Deployment:
    """Check and read a deployment file.

    Args:
        text: what the file holds.
        path: its name, for errors.
        folder: where its relative paths start.

    Raises:
        ExonerateError: at the first thing that is wrong, with line, key and what would be right.
    """
    tables = _tables(text, path)
    reader = _Reader(path, key_lines(text))
    for name in tables:
        reader.refuse_unknown(name, SECTIONS, (name,), "section")
    sections = {name: reader.section(name, tables.get(name)) for name in SECTIONS}
    head = sections["deployment"][0] if sections["deployment"] else None
    if head is None:
        raise reader.error((), "no section `[deployment]`", "it names the model that requests ask")
    deployment = Deployment(
        name=str(head.get("name", "deployment")),
        model=str(head["model"]),
        folder=folder,
        hops=_with_places(tuple(Hop(**values) for values in sections["hop"])),
        victim=Victim(**(sections["victim"][0] if sections["victim"] else {})),
        services=tuple(Service(**values) for values in sections["service"]),
        knobs=tuple(Knob(**values) for values in sections["knob"]),
    )
    _check_references(deployment, reader)
    return deployment


def _tables(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why = str(error)
    except ValueError:
        why = "it holds a number of too many digits"
    except RecursionError:
        why = "its values are nested too deep"
    raise ExonerateError(
        f"{path}: not valid TOML: {why}", "compare with what `exonerate init` writes"
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    path: str
    lines: Mapping[KeyPath, int]

    def error(self, key: KeyPath, problem: str, hint: str) -> ExonerateError:
        place, line = self.path, self._line(key)
        if line is not None:
            place = f"{place}:{line}"
        return ExonerateError(f"{place}: {problem}", hint)

    def _line(self, key: KeyPath) -> int | None:
        while key:
            for known in (key, (*key, 0)):
                if known in self.lines:
                    return self.lines[known]
            key = key[:-1]
        return None

    def refuse_unknown(
        self, name: str, known: Mapping[str, object], where: KeyPath, what: str
    ) -> None:
        """Refuse a name that is not known; `where` is the key (or its table) that holds it."""
        if name in known:
            return
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`?" if near else _known(what, known)
        raise self.error(where, f"unknown {what} `{name}`", hint)

    def section(self, name: str, found: object) -> list[dict[str, Any]]:
        """The checked values of one section; as many as it has tables."""
        fields, repeats = SECTIONS[name]
        if found is None:
            return []
        brackets = f"[[{name}]]" if repeats else f"[{name}]"
        if isinstance(found, list) != repeats or not isinstance(found, list | dict):
            raise self.error((name,), f"`{name}` is written as `{brackets}`", "change its brackets")
        tables = found if isinstance(found, list) else [found]
        wheres: list[KeyPath] = [(name, i) if repeats else (name,) for i in range(len(tables))]
        return [self.table(t, fields, w) for t, w in zip(tables, wheres, strict=True)]

    def table(self, table: object, fields: FieldTable, where: KeyPath) -> dict[str, Any]:
        if not isinstance(table, dict):
            raise self.error(where, f"`{where[0]}` is not a table", "write its keys as `key = ...`")
        shown = str(where[0])
        values: dict[str, Any] = {}
        for key, value in table.items():
            self.refuse_unknown(key, fields, (*where, key), "key")
            right = fields[key].check(value)
            if right is not None:
                problem = f"`{shown}.{key}` is {type_name(value)}; it must be {right}"
                raise self.error((*where, key), problem, "see `exonerate init` for an example")
            values[key] = fields[key].convert(value)
        missing = [key for key, rule in fields.items() if rule.required and key not in values]
        if missing:
            raise self.error(where, f"`{shown}` lacks `{missing[0]}`", "add it to this section")
        return values


def _known(what: str, known: Mapping[str, object]) -> str:
    return "known are: " + ", ".join(known) if known else f"the file has no {what.split()[0]} yet"


def _with_places(hops: tuple[Hop, ...]) -> tuple[Hop, ...]:
    """Fill in `behind`: the previous hop, or for engines in a row the hop before the row."""
    placed: list[Hop] = []
    for hop in hops:
        if hop.behind or not placed:
            placed.append(hop)
        else:
            previous = placed[-1]
            siblings = previous.role in _ENGINE_ROLES and hop.role in _ENGINE_ROLES
            behind = previous.behind if siblings and previous.behind else (previous.name,)
            placed.append(replace(hop, behind=behind))
    return tuple(placed)


def _check_references(deployment: Deployment, reader: _Reader) -> None:
    hop_names = _unique([hop.name for hop in deployment.hops], "hop", reader)
    service_names = _unique([service.name for service in deployment.services], "service", reader)
    _unique([knob.name for knob in deployment.knobs], "knob", reader)
    for index, hop in enumerate(deployment.hops):
        if len(set(hop.behind)) < len(hop.behind):
            raise reader.error(
                ("hop", index, "behind"),
                f"hop `{hop.name}` names a hop twice in `behind`",
                "name each once",
            )
        for name in hop.behind:
            reader.refuse_unknown(name, hop_names, ("hop", index, "behind"), "hop in `behind`:")
            if name == hop.name:
                raise reader.error(
                    ("hop", index, "behind"), f"hop `{name}` is behind itself", "name another hop"
                )
    _check_path(deployment, reader)
    for index, service in enumerate(deployment.services):
        _check_service(service, index, reader, hop_names)
    for index, knob in enumerate(deployment.knobs):
        reader.refuse_unknown(knob.service, service_names, ("knob", index, "service"), "service")


def _check_path(deployment: Deployment, reader: _Reader) -> None:
    """Refuse hops that are behind one another: a request would never reach an engine."""
    behind = {hop.name: set(hop.behind) for hop in deployment.hops}
    while ready := [name for name, before in behind.items() if not before]:
        for name in ready:
            del behind[name]
        for before in behind.values():
            before.difference_update(ready)
    if not behind:
        return
    index = next(i for i, hop in enumerate(deployment.hops) if hop.name in behind)
    raise reader.error(
        ("hop", index, "behind"),
        "hops are behind each other in a circle: " + ", ".join(behind),
        "`behind` names the hop towards the client; leave it out at the first hop",
    )


def _check_service(
    service: Service, index: int, reader: _Reader, hop_names: dict[str, None]
) -> None:
    where: KeyPath = ("service", index)
    if service.hop is not None:
        reader.refuse_unknown(service.hop, hop_names, (*where, "hop"), "hop")
    if bool(service.start) == bool(service.unit):
        raise reader.error(
            where,
            f"service `{service.name}` needs exactly one of `start` and `unit`",
            'write start = ["./serve.sh"] or unit = "serve.service"',
        )


def _unique(names: list[str], section: str, reader: _Reader) -> dict[str, None]:
    seen: dict[str, None] = {}
    for index, name in enumerate(names):
        if name in seen:
            raise reader.error(
                (section, index, "name"),
                f"two sections `{section}` are called `{name}`",
                "give each its own name",
            )
        seen[name] = None
    return seen
