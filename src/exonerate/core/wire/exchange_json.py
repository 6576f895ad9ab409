"""Exchanges as JSON and back, without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from exonerate.core.json_types import JsonObject
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange


def exchange_to_json(exchange: Exchange) -> JsonObject:
    """The exchange as a JSON object whose keys are the field names."""
    return asdict(exchange)


def exchange_from_json(value: JsonObject) -> Exchange:
    """The exchange again; fields that a later version added or an earlier lacked are ignored."""
    taken = _known(Exchange, value)
    taken["connection"] = ConnectionFacts(**_known(ConnectionFacts, _nested(value, "connection")))
    content = _known(ContentFacts, _nested(value, "content"))
    for name in ("defects", "code_words", "text_prefixes"):
        content[name] = tuple(content.get(name, ()))
    taken["content"] = ContentFacts(**content)
    taken["arrivals_ms"] = tuple(taken.get("arrivals_ms", ()))
    taken["headers"] = dict(taken.get("headers", {}))
    return Exchange(**taken)


def _known(kind: type, value: JsonObject) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: item for name, item in value.items() if name in names}


def _nested(value: JsonObject, name: str) -> JsonObject:
    nested = value.get(name)
    return nested if isinstance(nested, Mapping) else {}
