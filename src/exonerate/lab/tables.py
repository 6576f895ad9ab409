"""Tables of TOML and JSON files into frozen dataclasses, with errors that name file and key."""

from __future__ import annotations

import difflib
import json
import tomllib
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
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
    known = [item.name for item in fields(kind)]  # type: ignore[arg-type]  # T is a dataclass here
    for key in table:
        if key not in known:
            raise WrongTable(f"{where}.{key} is not known{nearest(str(key), known)}")
    for item in fields(kind):  # type: ignore[arg-type]  # T is a dataclass here
        required = item.default is MISSING and item.default_factory is MISSING
        if required and item.name not in table:
            raise WrongTable(f"{where}.{item.name} is missing")
    values = {
        str(key): _value(hints[str(key)], value, f"{where}.{key}", converters)
        for key, value in table.items()
    }
    return kind(**values)


def nearest(word: str, known: list[str]) -> str:
    """A suggestion to put behind an error about an unknown word."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(sorted(known))}"


def _value(hint: Any, value: object, where: str, converters: Converters) -> object:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint in converters:
        return _converted(converters[hint], value, where)
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise WrongTable(f"{where} is {value!r}; it must be one of {get_args(hint)}")
        return value
    if get_origin(hint) is tuple:
        return _sequence(get_args(hint)[0], value, where, converters)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise WrongTable(f"{where} is {value!r}; it must be of type {hint.__name__}")
    return value


def _converted(convert: Callable[[object], object], value: object, where: str) -> object:
    try:
        return convert(value)
    except ValueError as error:
        raise WrongTable(f"{where}: {error}") from error


def _sequence(hint: Any, value: object, where: str, converters: Converters) -> object:
    if not isinstance(value, list):
        raise WrongTable(f"{where} must be a list")
    return tuple(
        _value(hint, item, f"{where}[{index}]", converters) for index, item in enumerate(value)
    )
