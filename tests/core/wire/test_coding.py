"""Content codings are undone in bounded steps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exonerate.core.wire.coding import PLAIN_BYTES_STEP, CodingError, decoder_of


def raw_deflate(plain: bytes) -> bytes:
    """Deflate without the zlib wrapper, as some servers send it."""
    return zlib.compress(plain)[2:-4]


@example(b"\x00\x00", ("deflate", raw_deflate), 1)
@given(
    st.binary(max_size=5000),
    st.sampled_from(
        [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate)]
    ),
    st.integers(1, 50),
)
def test_compressed_bodies_come_back(
    plain: bytes, coding: tuple[str, Callable[[bytes], bytes]], step: int
) -> None:
    """Whatever the coding and wherever it is cut, the plain bytes come back."""
    decoder = decoder_of(coding[0])
    assert decoder is not None
    body = coding[1](plain)
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    assert b"".join(part for piece in pieces for part in decoder.decode(piece)) == plain


def test_a_bomb_comes_in_bounded_steps() -> None:
    """A small body that inflates to very much never makes one very large piece."""
    decoder = decoder_of("gzip")
    assert decoder is not None
    sizes = [len(part) for part in decoder.decode(gzip.compress(bytes(20 * PLAIN_BYTES_STEP)))]
    assert sum(sizes) == 20 * PLAIN_BYTES_STEP
    assert max(sizes) <= PLAIN_BYTES_STEP


def test_bytes_in_another_coding_are_named() -> None:
    """Garbage under the name gzip is an error of the coding, nothing else."""
    decoder = decoder_of("gzip")
    assert decoder is not None
    with pytest.raises(CodingError):
        list(decoder.decode(b"\xff\xff\xff\xff not gzip"))


@pytest.mark.parametrize(("name", "known"), [(None, True), ("identity", True), ("br", False)])
def test_only_known_codings_have_a_decoder(name: str | None, known: bool) -> None:
    """What cannot be undone is said to be so."""
    assert (decoder_of(name) is not None) == known
