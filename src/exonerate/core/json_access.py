"""Safe ways into JSON that nobody vouches for: a missing or odd value is None, never an error."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from exonerate.core.json_types import Json, JsonObject

NUMBER_MAX = 1e15


def parse_json(text: str) -> Json:
    """The JSON value of a text, or None when it is not JSON."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def at(value: Json, *path: str | int) -> Json:
    """What lies at the end of a path of keys and positions, or None."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, Mapping) else None
        else:
            inside = isinstance(value, list | tuple) and step < len(value)
            value = value[step] if isinstance(value, list | tuple) and inside else None
    return value


def number_at(value: Json, *path: str | int) -> float | None:
    """The finite number at the end of a path, or None."""
    found = at(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if abs(found) < NUMBER_MAX and math.isfinite(found) else None


def count_at(value: Json, *path: str | int) -> int | None:
    """The count at the end of a path, or None."""
    number = number_at(value, *path)
    return int(number) if number is not None and number >= 0 else None


def text_at(value: Json, *path: str | int) -> str | None:
    """The short text or number at the end of a path as text, or None."""
    found = at(value, *path)
    if isinstance(found, str | int | float) and not isinstance(found, bool):
        return str(found)[:200]
    return None


def object_of(value: Json) -> JsonObject:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}
