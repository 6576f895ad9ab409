"""What packets showed, written down and read again."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.support.wire_packets import Talk

from exonerate.core.wire.packets.connections import PacketTable
from exonerate.core.wire.packets.seen import (
    Capture,
    End,
    PacketConnection,
    Turn,
    capture_from_json,
    capture_to_json,
)

captures = st.builds(
    Capture,
    connections=st.lists(
        st.builds(
            PacketConnection,
            turns=st.lists(st.builds(Turn), max_size=2).map(tuple),
            ends=st.lists(st.builds(End), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)


@given(captures)
def test_a_capture_is_read_again_as_it_was(capture: Capture) -> None:
    """Without loss, through JSON."""
    assert capture_from_json(json.loads(json.dumps(capture_to_json(capture)))) == capture


def test_what_is_usual_takes_no_room() -> None:
    """A quiet connection is a line."""
    one = Talk(PacketTable([8000])).opened()
    written = capture_to_json(Capture(since_ns=0, until_ns=9, connections=(one.seen(),)))
    assert "ends" not in json.dumps(written)


def test_a_field_of_a_later_version_is_ignored() -> None:
    """As in the rest of the ledger."""
    value = {**capture_to_json(Capture(since_ns=1, until_ns=2)), "later": 1}
    assert capture_from_json(value) == Capture(since_ns=1, until_ns=2)


def test_a_capture_that_missed_something_is_not_whole() -> None:
    """Then what was not seen means nothing."""
    assert Capture(since_ns=1, until_ns=2).whole
    assert not Capture(since_ns=1, until_ns=2, dropped=1).whole
    assert Capture(since_ns=1, until_ns=2).covers(1, 2)
    assert not Capture(since_ns=1, until_ns=2).covers(0, 2)
