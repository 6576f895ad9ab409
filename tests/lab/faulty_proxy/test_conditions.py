"""Conditions over situations, and the moments of triggers."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from exonerate.lab.compare import Compare
from exonerate.lab.faulty_proxy.conditions import (
    Progress,
    Request,
    Situation,
    counts_reached,
    due_at,
    holds,
)
from exonerate.lab.faulty_proxy.rules import Trigger, When
from exonerate.lab.http1 import make_head

REQUEST = Request(
    head=make_head("POST /v1/chat/completions HTTP/1.1", (("Content-Length", "32"),)),
    body=b'{"stream": true, "prompt": "abc"}',
    raw=b"",
)
SITUATION = Situation(
    request=REQUEST,
    request_on_connection=4,
    request_in_process=10,
    connection_in_process=2,
    connection_age_s=31.0,
    idle_s=2.5,
    uptime_s=100.0,
    in_flight=3,
    connections_open=5,
)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (When(), True),
        (When(request_on_connection=Compare("==", 4)), True),
        (When(request_on_connection=Compare("every", 3)), False),
        (When(request_in_process=Compare("every", 5)), True),
        (When(connection_age_s=Compare(">", 30), idle_s=Compare("<", 2)), False),
        (When(in_flight=Compare(">=", 3), connections_open=Compare("<=", 5)), True),
        (When(uptime_s=Compare(">=", 100.5)), False),
        (When(request_bytes=Compare(">", 32), content="abc"), True),
        (When(content="xyz"), False),
        (When(path="/v1/completions"), False),
        (When(path="/v1/", method="post", stream=True, chunked=False), True),
        (When(stream=False), False),
    ],
)
def test_conditions(when: When, expected: bool) -> None:
    """A rule is armed when every part of its condition is true."""
    assert holds(when, SITUATION, random.Random(1)) is expected


def test_chance_is_seeded_and_thrown_only_for_fitting_requests() -> None:
    """The same seed picks the same requests, and requests that do not fit use up no throw."""
    when = When(chance=0.5, in_flight=Compare("==", 3))
    first, second = random.Random(5), random.Random(5)
    other = replace(SITUATION, in_flight=1)
    plain = [holds(when, SITUATION, first) for _ in range(20)]
    mixed = []
    for _ in range(20):
        assert not holds(when, other, second)
        mixed.append(holds(when, SITUATION, second))
    assert plain == mixed
    assert 4 <= sum(plain) <= 16


def test_moments() -> None:
    """Timers count from the request, from the last byte, and from the start of the process."""
    progress = Progress(process_started=100.0, begun=107.0, last_byte=109.0)
    assert due_at(Trigger(), progress) is None
    assert due_at(Trigger(total_s=5), progress) == 112.0
    assert due_at(Trigger(silence_s=2), progress) == 111.0
    assert due_at(Trigger(total_s=5, silence_s=2), progress) == 111.0
    assert due_at(Trigger(every_s=5), progress) == 110.0
    assert due_at(Trigger(every_s=5, phase_s=3), progress) == 108.0
    assert due_at(Trigger(every_s=5, phase_s=30), progress) == 130.0


def test_counts() -> None:
    """Triggers by bytes and events fire when so much has come from the engine."""
    progress = Progress(process_started=0, begun=0, last_byte=0, body_bytes=99, events=3)
    assert counts_reached(Trigger(events=3), progress)
    assert not counts_reached(Trigger(bytes=100), progress)
    assert not counts_reached(Trigger(total_s=1), progress)
