"""Whether a rule is armed for a request, and when its trigger fires."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass

from exonerate.lab.compare import Compare, all_hold
from exonerate.lab.faulty_proxy.rules import Rule, Trigger, When
from exonerate.lab.http1 import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A whole request: its bytes as they came, and its body without framing."""

    head: Head
    body: bytes
    raw: bytes

    @property
    def is_stream(self) -> bool:
        """Whether the body asks for a streamed answer."""
        try:
            loaded = json.loads(self.body)
        except ValueError:
            return False
        return isinstance(loaded, dict) and loaded.get("stream") is True


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything a condition can ask about, at the moment the request was whole."""

    request: Request
    request_on_connection: int
    request_in_process: int
    connection_in_process: int
    connection_age_s: float
    idle_s: float
    uptime_s: float
    in_flight: int
    connections_open: int


def armed(rules: Iterable[Rule], situation: Situation, rng: random.Random) -> list[Rule]:
    """The rules that hold for this request, in their order."""
    return [rule for rule in rules if holds(rule.when, situation, rng)]


def holds(when: When, situation: Situation, rng: random.Random) -> bool:
    """Whether every part of a condition is true of the situation."""
    return _numbers_hold(when, situation) and _request_holds(when, situation, rng)


def _numbers_hold(when: When, situation: Situation) -> bool:
    pairs: list[tuple[Compare | None, float]] = [
        (when.request_on_connection, situation.request_on_connection),
        (when.request_in_process, situation.request_in_process),
        (when.connection_in_process, situation.connection_in_process),
        (when.request_bytes, len(situation.request.body)),
        (when.connection_age_s, situation.connection_age_s),
        (when.idle_s, situation.idle_s),
        (when.uptime_s, situation.uptime_s),
        (when.in_flight, situation.in_flight),
        (when.connections_open, situation.connections_open),
    ]
    return all_hold(pairs)


def _request_holds(when: When, situation: Situation, rng: random.Random) -> bool:
    request = situation.request
    checks = [
        when.content is None or when.content.encode() in request.body,
        when.path is None or request.head.path.startswith(when.path),
        when.method is None or request.head.method == when.method.upper(),
        when.chunked is None or request.head.is_chunked == when.chunked,
        when.stream is None or request.is_stream == when.stream,
    ]
    # The dice are thrown only for requests that fit, so that the seed fixes which of them fail.
    return all(checks) and (when.chance is None or rng.uniform(0, 1) < when.chance)


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far an exchange has come; moments are of the loop's clock."""

    process_started: float
    begun: float
    last_byte: float
    body_bytes: int = 0
    events: int = 0


def due_at(trigger: Trigger, progress: Progress) -> float | None:
    """The next moment at which the trigger fires by time alone, or None."""
    moments = []
    if trigger.total_s is not None:
        moments.append(progress.begun + trigger.total_s)
    if trigger.silence_s is not None:
        moments.append(progress.last_byte + trigger.silence_s)
    if trigger.every_s is not None:
        anchor = progress.process_started + trigger.phase_s
        ticks = max(0, int((progress.begun - anchor) // trigger.every_s) + 1)
        moments.append(anchor + ticks * trigger.every_s)
    return min(moments, default=None)


def counts_reached(trigger: Trigger, progress: Progress) -> bool:
    """Whether the trigger fires by what the engine has sent."""
    return (trigger.bytes is not None and progress.body_bytes >= trigger.bytes) or (
        trigger.events is not None and progress.events >= trigger.events
    )
