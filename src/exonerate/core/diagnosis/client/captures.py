"""Requests of the victim in a HAR (version 1.2) or in a tap's recording (`exonerate.tap/1`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from exonerate.core.diagnosis.client.victim_shape import NS_PER_S, SentRequest, sent_of
from exonerate.core.json_access import at, count_at, number_at, object_of, parse_json, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.wire.request_reader import asks_for_stream
from exonerate.core.wire.tapped import (
    COMPLETION_PATHS,
    TappedExchange,
    tapped_exchange_from_json,
    tapped_exchange_to_json,
)

RECORDING = "exonerate.tap/1"
ENTRIES_MAX = 20_000


def requests_in(capture: Json) -> list[SentRequest]:
    """What the capture shows of the victim's requests to a model, in order."""
    if text_at(capture, "schema") == RECORDING:
        tapped = [_tapped(row) for row in _items(at(capture, "exchanges"))]
        found = [sent_of(one) for one in tapped if one is not None and one.is_completion]
    else:
        entries = _items(at(capture, "log", "entries"))[:ENTRIES_MAX]
        found = [one for entry in entries if (one := _har_entry(entry)) is not None]
    return sorted(found, key=lambda one: one.begun_ns)


def recording(exchanges: Sequence[TappedExchange]) -> JsonObject:
    """The recording of a tap as a file."""
    return {
        "schema": RECORDING,
        "exchanges": [tapped_exchange_to_json(one) for one in exchanges],
    }


def _tapped(row: Json) -> TappedExchange | None:
    try:
        return tapped_exchange_from_json(object_of(row))
    except (AssertionError, KeyError, TypeError, ValueError):
        # Somebody else's file: what cannot be read is no request.
        return None


def _har_entry(entry: Json) -> SentRequest | None:
    url = str(at(entry, "request", "url") or "")
    path = "/" + url.partition("://")[2].partition("/")[2].partition("?")[0]
    begun_ns = _instant_ns(text_at(entry, "startedDateTime"))
    if begun_ns is None or not path.rstrip("/").endswith(COMPLETION_PATHS):
        return None
    posted = at(entry, "request", "postData", "text")
    text = posted if isinstance(posted, str) else ""
    body = object_of(parse_json(text))
    usage = _usage(entry)
    status = count_at(entry, "response", "status") or 0
    took_ms = number_at(entry, "time") or 0.0
    return SentRequest(
        begun_ns=begun_ns,
        ended_ns=begun_ns + round(took_ms * 1e6),
        path=path,
        body_bytes=len(text.encode()) or count_at(entry, "request", "bodySize") or 0,
        request_number=None,
        stream=asks_for_stream(body),
        model=text_at(body, "model"),
        max_tokens=count_at(body, "max_tokens") or count_at(body, "max_completion_tokens"),
        prompt_tokens=count_at(usage, "prompt_tokens"),
        completion_tokens=count_at(usage, "completion_tokens"),
        answered=200 <= status < 300,
    )


def _usage(entry: Json) -> JsonObject:
    """What the server counted, where the answer was kept and is not a stream."""
    content = at(entry, "response", "content", "text")
    return object_of(at(parse_json(content) if isinstance(content, str) else None, "usage"))


def _instant_ns(text: str | None) -> int | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return round(moment.timestamp() * 1000) * (NS_PER_S // 1000)


def _items(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []
