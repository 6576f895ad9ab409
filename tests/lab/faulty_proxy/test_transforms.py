"""What the content faults do to bytes, however the bytes are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.lab.faulty_proxy.rules import (
    Action,
    CorruptText,
    DropEvents,
    LeakFraming,
    LoseEnding,
    RepeatEvents,
    Swallow,
)
from exonerate.lab.faulty_proxy.transforms import Chain, transform_for

DONE = b"data: [DONE]\n\n"


def event(text: str, finish: str | None = None) -> bytes:
    """One event of a stream with some text."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    row = {"choices": [choice]}
    return b"data: " + json.dumps(row, ensure_ascii=False).encode() + b"\n\n"


STREAM = b"".join([*(event(f"wörd {n}") for n in range(6)), event("", "stop"), DONE])


def through(action: Action, pieces: list[bytes]) -> bytes:
    """The pieces through the transformer of an action."""
    transform = transform_for(action)
    assert transform is not None
    chain = Chain([transform])
    return b"".join(map(chain.feed, pieces)) + chain.end()


def events(data: bytes) -> list[bytes]:
    """The events in some bytes."""
    return [piece + b"\n\n" for piece in data.split(b"\n\n") if piece]


def test_repeat_and_drop() -> None:
    """Every third event comes twice, or not at all; the end marker stays."""
    whole = events(STREAM)
    repeated = events(through(RepeatEvents(every=3), [STREAM]))
    assert repeated == [*whole[:3], whole[2], *whole[3:6], whole[5], *whole[6:]]
    dropped = events(through(DropEvents(every=3), [STREAM]))
    assert dropped == [*whole[:2], *whole[3:5], *whole[6:]]


def test_lose_ending() -> None:
    """The end marker is missing, and with `finish` the finish reason too."""
    assert events(through(LoseEnding(), [STREAM])) == events(STREAM)[:-1]
    assert events(through(LoseEnding(finish=True), [STREAM])) == events(STREAM)[:-2]


def test_broken_characters() -> None:
    """The last byte of a multi-byte character is damaged; pure ASCII gets half a character."""
    damaged = events(through(CorruptText(how="utf8"), [event("für")]))[0]
    assert b"f\xc3?r" in damaged
    half = events(through(CorruptText(how="utf8"), [event("plain")]))[0]
    assert b"plain\xe2\x82" in half
    with pytest.raises(UnicodeDecodeError):
        half.decode()


@given(st.text(min_size=1, max_size=30))
def test_flipped_letters_leave_json_whole(text: str) -> None:
    """A flipped letter changes the text at most, never the JSON around it."""
    damaged = through(CorruptText(how="flip"), [event(text)])
    row = json.loads(damaged.decode()[6:])
    assert len(row["choices"][0]["delta"]["content"]) == len(text)


def test_flip_really_changes() -> None:
    """A word comes out with exactly one letter exchanged."""
    damaged = through(CorruptText(how="flip"), [event("river")])
    text = json.loads(damaged.decode()[6:])["choices"][0]["delta"]["content"]
    assert sum(one != other for one, other in zip(text, "river", strict=True)) == 1


@pytest.mark.parametrize(
    "action",
    [CorruptText(how="flip", every=2), RepeatEvents(every=2), DropEvents(every=2), LoseEnding()],
)
def test_cuts_do_not_matter(action: Action) -> None:
    """Fed byte by byte, the answer comes out the same as fed at once."""
    single = [STREAM[n : n + 1] for n in range(len(STREAM))]
    assert through(action, single) == through(action, [STREAM])


def test_leaked_framing() -> None:
    """Each piece carries its chunk-size line, and the terminal chunk comes last."""
    assert through(LeakFraming(), [b"data: x\n\n", b"tail"]) == (
        b"9\r\ndata: x\n\n\r\n4\r\ntail\r\n0\r\n\r\n"
    )


def test_other_actions_leave_content_alone() -> None:
    """Actions that do not touch content have no transformer."""
    assert transform_for(Swallow()) is None
