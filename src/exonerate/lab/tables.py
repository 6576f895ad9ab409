"""Tables of TOML and JSON files into frozen dataclasses, with errors that name file and key.

A field whose name cannot be a Python name says so in its metadata: `field(metadata={"key": ...})`.
"""

from __future__ import annotations

import difflib
import json
import tomllib
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from exonerate.errors import ExonerateError

T = TypeVar("T")
Converters = Mapping[object, Callable[[object], object]]


class WrongTable(Exception):
    """A key or a value that cannot be; says where inside the file."""


def read_tables(path: Path) -> dict[str, object]:
    """The tables of a TOML file, or of a JSON file when its name ends so."""
    try:
        text = path.read_text()
        loaded: dict[str, object] = (
            json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        )
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be read: {error.strerror}", "check the path and its permissions"
        ) from error
    except ValueError as error:
        raise ExonerateError(
            f"`{path}` is not well-formed: {error}", "correct the line that is named"
        ) from error
    if not isinstance(loaded, dict):
        raise ExonerateError(
            f"`{path}` holds no table at its top", "see docs/lab.md for the format"
        )
    return loaded


def build(kind: type[T], table: object, where: str, converters: Converters) -> T:
    """An instance of a dataclass from a table; unknown keys and wrong types are refused.

    `converters` says how the types that are not plain are read.
    """
    if not isinstance(table, Mapping):
        raise WrongTable(f"{where} must be a table")
    hints = get_type_hints(kind)
    items = {
        item.metadata.get("key", item.name): item
        for item in fields(kind)  # type: ignore[arg-type]  # T is a dataclass here
    }
    for key in table:
        if key not in items:
            raise WrongTable(f"{where}.{key} is not known{nearest(str(key), list(items))}")
    for key, item in items.items():
        required = item.default is MISSING and item.default_factory is MISSING
        if required and key not in table:
            raise WrongTable(f"{where}.{key} is missing")
    place = _Place(where, converters)
    values = {
        items[key].name: _value(hints[items[key].name], value, place.inside(f".{key}"))
        for key, value in table.items()
    }
    return kind(**values)


def nearest(word: str, known: list[str]) -> str:
    """A suggestion to put behind an error about an unknown word."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(sorted(known))}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a file a value stands, and how special types are read."""

    where: str
    converters: Converters

    def inside(self, step: str) -> _Place:
        return _Place(self.where + step, self.converters)


def _value(hint: Any, value: object, place: _Place) -> object:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint is object:
        return value
    if hint in place.converters:
        return _converted(place.converters[hint], value, place)
    if is_dataclass(hint):
        return build(hint, value, place.where, place.converters)  # type: ignore[arg-type]  # a class
    if get_origin(hint) is not None:
        return _composed(hint, value, place)
    return _scalar(hint, value, place)


def _scalar(hint: type, value: object, place: _Place) -> object:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise WrongTable(f"{place.where} is {value!r}; it must be of type {hint.__name__}")
    return value


def _composed(hint: Any, value: object, place: _Place) -> object:
    """A literal, a mapping or a tuple."""
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise WrongTable(f"{place.where} is {value!r}; it must be one of {get_args(hint)}")
        return value
    if get_origin(hint) is Mapping:
        if not isinstance(value, Mapping):
            raise WrongTable(f"{place.where} must be a table")
        inner = get_args(hint)[1]
        return {
            str(key): _value(inner, item, place.inside(f".{key}")) for key, item in value.items()
        }
    if not isinstance(value, list):
        raise WrongTable(f"{place.where} must be a list")
    inner = get_args(hint)[0]
    return tuple(_value(inner, item, place.inside(f"[{n}]")) for n, item in enumerate(value))


def _converted(convert: Callable[[object], object], value: object, place: _Place) -> object:
    try:
        return convert(value)
    except (ValueError, TypeError) as error:
        raise WrongTable(f"{place.where}: {error}") from error
