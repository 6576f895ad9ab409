"""The proof of chunk sizes for streams that come read by read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.kept_reads import NO_STAMP, KeptReads, wake_at
from exonerate.core.wire.stream_digest import sizes_hold

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(length: int, said: int) -> bytes:
    """A chunk of this length that says another one."""
    return b"%x\r\n%s\r\n" % (said, (b"d" * length)[:-2] + b"\n\n")


def holds(contents: list[bytes], *, head_apart: bool) -> bool:
    """What the proof says of an answer that came in these reads."""
    reads = KeptReads()
    for content in [HEAD, *contents] if head_apart else [HEAD + contents[0], *contents[1:]]:
        reads.keep(content, NO_STAMP, wake_at(0, 1))
    return sizes_hold(reads, len(HEAD))


@given(st.lists(st.integers(3, 5000), min_size=2, max_size=20), st.data())
def test_one_wrong_size_among_many_is_found(lengths: list[int], data: st.DataObject) -> None:
    """A hop that miscounts a single chunk, wherever it is, does not go unnoticed."""
    right = [chunk(length, length) for length in lengths]
    end = chunk(10, 10) + chunk(12, 12) + b"0\r\n\r\n"
    wrong_at = data.draw(st.integers(0, len(right) - 1))
    wrong_by = data.draw(st.sampled_from([-1, 1, 16]))
    wrong = list(right)
    wrong[wrong_at] = chunk(lengths[wrong_at], lengths[wrong_at] + wrong_by)
    assert not holds([*wrong, end], head_apart=True)
    assert holds([*right, end], head_apart=True) == (max(lengths) < 4096)


def test_a_wrong_size_at_the_end_is_found() -> None:
    """The chunks that share the last read are looked at one by one."""
    assert holds([chunk(9, 9), chunk(8, 8) + b"0\r\n\r\n"], head_apart=True)
    assert not holds([chunk(9, 9), chunk(8, 9) + b"0\r\n\r\n"], head_apart=True)
    assert not holds([chunk(9, 9), chunk(8, 8)], head_apart=True)
