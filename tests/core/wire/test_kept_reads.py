"""What was kept of an answer is the same whether it lies loose or packed."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.kept_reads import NO_STAMP, KeptReads, wake_at

OFFSET_NS = 10**18


@given(st.lists(st.binary(min_size=1, max_size=9), max_size=12), st.sets(st.integers(0, 12)))
def test_packing_changes_nothing(contents: list[bytes], packed_after: set[int]) -> None:
    """Wherever reads are packed in between, bytes and times come out in the order they came."""
    reads = KeptReads()
    stamps = [10**12 + 1000 * number for number in range(len(contents))]
    for number, (content, stamp) in enumerate(zip(contents, stamps, strict=True)):
        timespec = struct.pack("@qq", *divmod(stamp + OFFSET_NS, 10**9))
        reads.keep(content, timespec, wake_at(stamp - 1, stamp + 1))
        if number in packed_after:
            reads.pack()
    assert reads.contents() == contents
    assert reads.whole() == b"".join(contents)
    assert reads.byte_count() == len(reads.whole())
    assert reads.last_stamp_ns(OFFSET_NS) == (stamps[-1] if stamps else 0)
    times = reads.times(OFFSET_NS)
    assert [times.at(read) for read in range(times.number)] == stamps


def test_one_read_without_a_stamp_is_told() -> None:
    """A single read that the kernel did not stamp makes the whole answer count as unstamped."""
    reads = KeptReads()
    reads.keep(b"x", struct.pack("@qq", 5, 5), wake_at(1, 2))
    assert reads.stamped
    reads.keep(b"y", NO_STAMP, wake_at(2, 3))
    assert not reads.stamped
