"""Content codings are undone in bounded steps."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd
from hypothesis import example, given
from hypothesis import strategies as st

from exonerate.core.wire.coding import (
    PLAIN_BYTES_STEP,
    CodingError,
    Decoder,
    accepted_codings,
    decoder_of,
    unreadable,
)


def raw_deflate(plain: bytes) -> bytes:
    """Deflate without the zlib wrapper, as some servers send it."""
    return zlib.compress(plain)[2:-4]


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli.compress),
    ("zstd", zstd.compress),
]
codings = st.sampled_from(CODINGS)


def decoder(name: str) -> Decoder:
    """The decoder of a coding that is known."""
    found = decoder_of(name)
    assert found is not None
    return found


def pieces_of(body: bytes, step: int) -> list[bytes]:
    """The body cut at every `step` bytes."""
    return [body[at : at + step] for at in range(0, len(body), step)]


def decoded(undo: Decoder, pieces: list[bytes]) -> bytes:
    """All the plain bytes of these pieces."""
    return b"".join(plain for piece in pieces for plain in undo.decode(piece))


@example(b"\x00\x00", ("deflate", raw_deflate), 1)
@given(st.binary(max_size=5000), codings, st.integers(1, 50))
def test_compressed_bodies_come_back(
    plain: bytes, coding: tuple[str, Callable[[bytes], bytes]], step: int
) -> None:
    """Whatever the coding and wherever it is cut, the plain bytes come back."""
    undo = decoder(coding[0])
    assert decoded(undo, pieces_of(coding[1](plain), step)) == plain
    assert undo.whole


@given(st.binary(min_size=1, max_size=2000), codings, st.data())
def test_a_body_that_is_cut_is_not_whole(
    plain: bytes, coding: tuple[str, Callable[[bytes], bytes]], data: st.DataObject
) -> None:
    """A compressed body that lacks its end gives what it holds, and says that it was cut."""
    body = coding[1](plain)
    undo = decoder(coding[0])
    cut = data.draw(st.integers(1, len(body) - 1))
    assert plain.startswith(decoded(undo, [body[:cut]]))
    assert not undo.whole


@given(codings, st.lists(st.binary(max_size=60), max_size=6))
def test_garbage_is_an_error_of_the_coding_and_nothing_else(
    coding: tuple[str, Callable[[bytes], bytes]], pieces: list[bytes]
) -> None:
    """Whatever a hop sends under the name of a coding, nothing but that is raised."""
    try:
        decoded(decoder(coding[0]), pieces)
    except CodingError:
        return


@pytest.mark.parametrize(("name", "compress"), CODINGS)
def test_a_bomb_comes_in_bounded_steps(name: str, compress: Callable[[bytes], bytes]) -> None:
    """A small body that inflates to very much never makes one very large piece."""
    sizes = [len(part) for part in decoder(name).decode(compress(bytes(20 * PLAIN_BYTES_STEP)))]
    assert sum(sizes) == 20 * PLAIN_BYTES_STEP
    # The library of br doubles its buffer before it looks at the limit.
    assert max(sizes) <= PLAIN_BYTES_STEP * (2 if name == "br" else 1)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_several_members_are_one_body(name: str) -> None:
    """Hops that compress event by event send one member after the other; all are read."""
    compress = dict(CODINGS)[name]
    body = compress(b"one ") + compress(b"two ") + compress(b"three")
    for step in (1, 7, len(body)):
        undo = decoder(name)
        assert decoded(undo, pieces_of(body, step)) == b"one two three"
        assert undo.whole


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_bytes_in_another_coding_are_named(name: str) -> None:
    """Garbage under the name of a coding, or after its end, is an error of the coding."""
    with pytest.raises(CodingError):
        decoded(decoder(name), [b"\xff\xff\xff\xff not compressed at all, whatever is said"])
    with pytest.raises(CodingError):
        decoded(decoder(name), [dict(CODINGS)[name](b"plain") + b"and what does not belong"])


def test_a_window_that_no_browser_would_give_is_refused() -> None:
    """A zstd frame that asks for more memory than the coding allows is an error of the coding."""
    wide = {zstd.CompressionParameter.window_log: 27}
    frame = zstd.ZstdCompressor(options=wide)
    body = frame.compress(b"x" * 100, frame.FLUSH_BLOCK)
    with pytest.raises(CodingError):
        decoded(decoder("zstd"), [body])


@pytest.mark.parametrize(
    ("name", "known"),
    [(None, True), ("identity", True), ("br", True), (" ZSTD", True), ("gzip, br", False)],
)
def test_only_known_codings_have_a_decoder(name: str | None, known: bool) -> None:
    """What cannot be undone is said to be so."""
    assert (decoder_of(name) is not None) == known


def test_without_the_extra_br_and_zstd_are_neither_offered_nor_undone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hop that sends one of them all the same is told from one that garbles, with a way out."""
    assert accepted_codings() == "gzip, deflate, br, zstd"
    for module in ("brotli", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    assert accepted_codings() == "gzip, deflate"
    assert decoder_of("br") is None
    assert decoder_of("zstd") is None
    assert "exonerate[codecs]" in unreadable("br")
    assert "exonerate[codecs]" not in unreadable("compress")


@pytest.mark.parametrize("first", range(9))
def test_a_frame_that_promises_more_than_it_holds_reads_alike_however_it_was_cut(
    first: int,
) -> None:
    """The library refuses it in one piece and takes it in two; a client meets both cuts."""
    frame = b"\x28\xb5\x2f\xfd\x20\xd7\x05\x00\x00"
    cut, whole = decoder("zstd"), decoder("zstd")
    assert decoded(cut, [frame[:first], frame[first:]]) == decoded(whole, [frame])
    assert cut.whole == whole.whole
