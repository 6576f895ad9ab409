"""Lists inside JSON answers as typed lists; entries of another type are left out."""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.json_access import at, number_at
from exonerate.core.json_types import Json, JsonObject


def objects_at(value: Json, *path: str | int) -> list[JsonObject]:
    """The objects of the list at the end of a path."""
    return [entry for entry in _list(value, *path) if isinstance(entry, Mapping)]


def texts_at(value: Json, *path: str | int) -> list[str]:
    """The texts of the list at the end of a path."""
    return [entry for entry in _list(value, *path) if isinstance(entry, str)]


def numbers_at(value: Json, *path: str | int) -> list[float]:
    """The numbers of the list at the end of a path."""
    found = [number_at(entry) for entry in _list(value, *path)]
    return [number for number in found if number is not None]


def _list(value: Json, *path: str | int) -> list[Json]:
    found = at(value, *path)
    return list(found) if isinstance(found, list | tuple) else []
