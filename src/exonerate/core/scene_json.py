"""Scenes and events as JSON, and back.

Rules
-----
1. The set of activities is closed: it is the union `core.scene.Activity`, each member tagged by
   its class name in `"type"`. An unknown tag or key is refused, never skipped, because a scene
   that is read with a part missing is another scene.
2. A key that is absent means the field's default, so that scenes written before a field existed
   can still be read.
3. Reading checks every value against the annotated type of its field.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import Activity, Event, PromptRecipe, RequestRecipe, Scene, Stall
from exonerate.errors import ExonerateError

ACTIVITY_TYPES: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Activity)}
_EVENT_SCALARS: Mapping[str, type] = {"activity": str, "at_ns": int, "kind": str}
NESTED_TYPES: frozenset[type] = frozenset({Stall, PromptRecipe, RequestRecipe})


def scene_to_json(scene: Scene) -> JsonObject:
    """The scene as a JSON object; `scene_from_json` gives an equal scene back."""
    return _fields_to_json(scene)


def scene_from_json(obj: JsonObject) -> Scene:
    """The scene that the object describes.

    Raises:
        ExonerateError: an unknown activity or key, a missing key or a value of another type.
    """
    scene = _fields_from_json(Scene, obj, "scene")
    assert isinstance(scene, Scene)
    return scene


def event_to_json(event: Event) -> JsonObject:
    """The event as a JSON object; `event_from_json` gives an equal event back.

    What the system under test said and JSON cannot carry is not an error here: a number that is
    not finite becomes null, half of a surrogate pair becomes a question mark.
    """
    return {
        "activity": event.activity,
        "at_ns": event.at_ns,
        "kind": event.kind,
        "data": {key: _writable(value) for key, value in event.data.items()},
    }


def event_from_json(obj: JsonObject) -> Event:
    """The event that the object describes; raises ExonerateError as `scene_from_json` does."""
    given = _mapping(obj, "event")
    if given.keys() != _EVENT_SCALARS.keys() | {"data"}:
        raise _refusal(f"event has the keys {', '.join(given)}")
    for name, kind in _EVENT_SCALARS.items():
        _scalar(kind, given[name], f"event.{name}")
    data = _mapping(given["data"], "event.data")
    return Event(str(obj["activity"]), cast(int, obj["at_ns"]), str(obj["kind"]), data)


def _writable(value: Json) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {key: _writable(inner) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_writable(inner) for inner in value]
    return value


def _fields_to_json(value: Any) -> dict[str, Json]:
    return {
        field.name: _value_to_json(getattr(value, field.name))
        for field in dataclasses.fields(value)
    }


def _value_to_json(value: Any) -> Json:
    if type(value) in NESTED_TYPES:
        return _fields_to_json(value)
    tag = type(value).__name__
    if tag in ACTIVITY_TYPES:
        return {"type": tag, **_fields_to_json(value)}
    if isinstance(value, tuple):
        return [_value_to_json(part) for part in value]
    assert value is None or isinstance(value, bool | int | float | str), value
    return value


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _fields_from_json(kind: type, obj: object, where: str) -> object:
    given = _mapping(obj, where)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for key in given:
        if key not in fields:
            raise _refusal(f"{where} has the unknown key `{key}`")
    for name, field in fields.items():
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if required and name not in given:
            raise _refusal(f"{where} lacks the key `{name}`")
    hints = _hints(kind)
    return kind(
        **{
            name: _value_from_json(hints[name], value, f"{where}.{name}")
            for name, value in given.items()
        }
    )


def _value_from_json(hint: Any, value: object, where: str) -> object:
    if hint == Activity:
        return _activity_from_json(value, where)
    if hint in NESTED_TYPES:
        return _fields_from_json(hint, value, where)
    if hint in _SCALARS:
        return _scalar(hint, value, where)
    origin = get_origin(hint)
    if origin is None:
        raise AssertionError(f"the codec does not know the type {hint} of {where}")
    return _ORIGINS[origin](hint, value, where)


def _activity_from_json(value: object, where: str) -> object:
    given = dict(_mapping(value, where))
    tag = given.pop("type", None)
    if not isinstance(tag, str) or tag not in ACTIVITY_TYPES:
        raise _refusal(f"{where} has the unknown activity type `{tag}`")
    return _fields_from_json(ACTIVITY_TYPES[tag], given, f"{where}({tag})")


_SCALARS: Mapping[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    bool: (bool,),
    float: (float, int),
    type(None): (type(None),),
}


def _scalar(hint: Any, value: object, where: str) -> object:
    # In Python a bool is an int; in a scene it is not one.
    if not isinstance(value, _SCALARS[hint]) or (isinstance(value, bool) and hint is not bool):
        raise _refusal(f"{where} is {value!r}, not of type {hint.__name__}")
    return value


def _tuple(hint: Any, value: object, where: str) -> object:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _refusal(f"{where} is {value!r}, not a list")
    parts = get_args(hint)
    if parts[-1] is Ellipsis:
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        raise _refusal(f"{where} has {len(value)} items instead of {len(parts)}")
    return tuple(
        _value_from_json(part, item, f"{where}[{index}]")
        for index, (part, item) in enumerate(zip(parts, value, strict=True))
    )


def _literal(hint: Any, value: object, where: str) -> object:
    if value not in get_args(hint):
        raise _refusal(f"{where} is {value!r}, not one of {', '.join(map(str, get_args(hint)))}")
    return value


def _union(hint: Any, value: object, where: str) -> object:
    if value is None and type(None) in get_args(hint):
        return None
    (only,) = (part for part in get_args(hint) if part is not type(None))
    return _value_from_json(only, value, where)


_ORIGINS: Mapping[Any, Callable[[Any, object, str], object]] = {
    tuple: _tuple,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
}


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _refusal(f"{where} is {value!r}, not an object")
    return value


def _refusal(problem: str) -> ExonerateError:
    return ExonerateError(
        f"a scene in the ledger cannot be read: {problem}",
        "it was written by another version of Exonerate; read this ledger with that one",
    )
