"""The parsers hold what they promise for any bytes: seeds, and what hypothesis makes of them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.targets import SEEDS, TARGETS


def changed(seed: bytes, source: random.Random) -> bytes:
    """The seed with a few bytes changed, taken out, doubled or put in."""
    content = bytearray(seed)
    for _ in range(source.randint(0, 6)):
        at = source.randrange(len(content) + 1)
        end = min(len(content), at + source.randint(0, 20))
        match source.randrange(4):
            case 0:
                content[at:end] = source.randbytes(end - at)
            case 1:
                del content[at:end]
            case 2:
                content[at:at] = content[at:end]
            case 3:
                content[at:at] = source.choice([b"\r\n", b"\n", b"\0", b"0", b":", b"data:", b" "])
    return bytes(content)


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_holds_for_its_seeds(name: str) -> None:
    """Sound input is read alike wherever it is cut."""
    for seed in SEEDS[name]:
        for step in (0, 1, 2, 6, 30, 255):
            TARGETS[name](seed[:1] + bytes([step]) + seed[2:])


@pytest.mark.parametrize("name", TARGETS)
@given(st.data())
def test_a_parser_holds_for_any_bytes(name: str, data: st.DataObject) -> None:
    """Whatever a hop sends: no exception, and no dependence on where reads were cut."""
    seed = data.draw(st.sampled_from(SEEDS[name]) | st.binary(max_size=300))
    TARGETS[name](changed(seed, data.draw(st.randoms(use_true_random=False))))
