"""Packets folded into connections: bytes, turns, ends, and what must not be counted twice."""

import random
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.wire_packets import BRIDGE, CABLE, CLIENT, MS, SERVER, Talk, tcp

from exonerate.core.wire.code_words import code_word
from exonerate.core.wire.packets.connections import TURNS_MAX, PacketTable
from exonerate.core.wire.packets.seen import End
from exonerate.core.wire.packets.segment import ACK, FIN, RST, SYN, TooBig, read_packet

OWN = "exonerate-0123456789abcdef"
REQUEST = b"POST /v1 HTTP/1.1\r\nx-request-id: " + OWN.encode() + b"\r\n\r\n"


def talk(**more: Any) -> Talk:
    """A connection whose handshake is over."""
    return replace(Talk(PacketTable([8000])), **more).opened()


def test_a_request_and_its_answer_are_one_turn() -> None:
    """With its id, its bytes both ways, and when they came."""
    one = talk()
    one.send(REQUEST)
    one.answer(b"HTTP/1.1 200 OK\r\n\r\n")
    one.answer(b"data: [DONE]\n\n")
    one.send()
    seen = one.seen()
    (turn,) = seen.turns
    assert (turn.ids, turn.request_bytes, turn.answer_bytes) == ((OWN,), len(REQUEST), 33)
    assert (turn.request_acked, turn.answer_acked, turn.end_seen) == (len(REQUEST), 33, True)
    assert turn.answer_stamps_ns == (turn.begun_ns + MS, turn.begun_ns + 2 * MS)
    assert (seen.client_port, seen.server, seen.server_port) == (40000, "10.0.0.3", 8000)
    assert seen.near


def test_what_is_sent_after_an_answer_begins_the_next_turn() -> None:
    """The id and the code word of each request stand in its own turn."""
    one = talk()
    word = code_word("seed")
    one.send(REQUEST)
    one.answer(b"x")
    one.send(word.encode() + b" and more")
    assert [(t.ids, t.words) for t in one.seen().turns] == [((OWN,), ()), ((), (word,))]


def test_an_interim_answer_does_not_part_a_request_from_its_body() -> None:
    """Its client waited for leave to send it."""
    one = talk()
    one.send(REQUEST)
    one.answer(b"HTTP/1.1 100 Continue\r\n\r\n")
    one.send(b"{}")
    assert [(t.request_bytes, t.answer_bytes) for t in one.seen().turns] == [(len(REQUEST) + 2, 0)]


def test_a_packet_that_is_seen_on_its_way_through_a_bridge_counts_once() -> None:
    """As does one of the loopback, which shows it leaving and arriving."""
    one = talk()
    one.send(REQUEST)
    one.vantage, one.up = BRIDGE, one.up - len(REQUEST)
    one.send(REQUEST)
    (turn,) = one.seen().turns
    assert (turn.request_bytes, turn.again) == (len(REQUEST), 0)


def test_what_is_sent_again_counts_apart() -> None:
    """And as unanswered, until the other end says anything."""
    one = talk()
    one.send(REQUEST)
    one.send(REQUEST, back=len(REQUEST))
    one.send(REQUEST, back=len(REQUEST))
    (turn,) = one.seen().turns
    assert (turn.request_bytes, turn.again, turn.unanswered) == (len(REQUEST), 2, 2)
    one.answer()
    assert one.seen().turns[0].unanswered == 0


def test_a_hole_that_is_filled_later_was_out_of_order() -> None:
    """Nobody sent anything again."""
    one = talk()
    one.up += 4
    one.send(b"efgh")
    one.up -= 8
    one.send(b"abcd")
    (turn,) = one.seen().turns
    assert (turn.request_bytes, turn.missed_bytes, turn.again) == (8, 4, 0)


def test_a_keep_alive_probe_is_no_retransmission() -> None:
    """It repeats the last byte, or none, to hear whether anybody is there."""
    one = talk()
    one.send(REQUEST)
    one.answer(b"x")
    one.up -= 1
    one.send(b"\0")
    assert [t.again for t in one.seen().turns] == [0]


def test_who_closed_first_is_told() -> None:
    """FIN and reset, by whom and when."""
    one = talk()
    one.send(REQUEST)
    one.answer(flags=FIN | ACK)
    fin_ns = one.now_ns
    one.send(flags=RST)
    assert one.seen().ends == (
        End(who="server", how="fin", at_ns=fin_ns),
        End(who="client", how="reset", at_ns=fin_ns + MS),
    )


def test_a_connection_that_nobody_answers_shows_its_tries() -> None:
    """Three SYNs, and nothing back."""
    one = Talk(PacketTable([8000]))
    for _ in range(3):
        one.send(flags=SYN)
    seen = one.seen()
    assert (seen.syn_again, seen.answered_ns, seen.turns) == (2, None, ())


def test_a_connection_that_is_older_than_the_capture_counts_from_there() -> None:
    """Its next request is whole; of the answer before nothing is said."""
    one = Talk(PacketTable([8000]))
    one.answer(b"the rest of an answer")
    one.send(REQUEST)
    one.answer(b"x")
    seen = one.seen()
    assert seen.opened_ns is None
    assert [(t.request_bytes, t.answer_bytes) for t in seen.turns] == [(len(REQUEST), 1)]


def test_what_a_client_has_sent_and_never_came_shows_in_its_next_number() -> None:
    """Something on its own host took it away; a FIN has a number of its own."""
    one = talk()
    one.send(REQUEST)
    one.up += 300
    one.send()
    assert one.seen().unseen_bytes == 300
    other = talk()
    other.send(REQUEST, flags=FIN | ACK)
    other.up += 1
    other.send()
    assert other.seen().unseen_bytes == 0


def test_numbers_that_begin_again_at_zero_count_on() -> None:
    """After 2^32 comes 0."""
    one = talk(up=(1 << 32) - 3)
    one.send(REQUEST)
    one.send(b"more")
    assert one.seen().turns[0].request_bytes == len(REQUEST) + 4


def test_a_router_on_the_way_makes_a_client_far() -> None:
    """What it lost would not be seen; nor what a real cable did."""
    assert not talk(hops_left=63).seen().near
    assert not talk(vantage=BRIDGE).seen().near


def test_a_connection_behind_address_translation_is_not_another_one() -> None:
    """The same first SYN between other addresses is told once."""
    table = PacketTable([8000])
    inner = Talk(table)
    outer = Talk(table, client=("10.0.9.9", 50000), vantage=BRIDGE, now_ns=inner.now_ns)
    for one in (inner, outer):
        one.opened()
        one.send(REQUEST)
    assert inner.seen().client_port == CLIENT[1]


def test_the_same_four_may_carry_another_connection_later() -> None:
    """Its SYN has another number; both are told."""
    table = PacketTable([8000])
    first = Talk(table).opened()
    first.send(flags=FIN | ACK)
    Talk(table, up=70_000, now_ns=first.now_ns).opened()
    assert [bool(c.ends) for c in table.connections(0)] == [True, False]


def test_a_window_of_zero_and_a_packet_that_did_not_fit_are_counted() -> None:
    """The reader stands still; a router said what fits."""
    one = talk()
    packet = tcp(SERVER, CLIENT, sequence=one.down, acknowledged=one.up, window=0)
    read = read_packet(packet, len(packet))
    assert read is not None
    one.table.take(read, one.now_ns, CABLE)
    ends = (bytes([10, 0, 0, 2]), 40000, bytes([10, 0, 0, 3]), 8000)
    one.table.take(TooBig(*ends, mtu=576), one.now_ns, CABLE)
    assert (one.seen().server_zero_windows, one.seen().too_big) == (1, 1)


def test_a_connection_between_two_watched_ports_waits_for_its_handshake() -> None:
    """Which end is the server could only be guessed."""
    table = PacketTable([8000, 40000])
    one = Talk(table)
    one.send(REQUEST)
    assert not list(table.connections(0))
    assert one.opened().seen().server_port == 8000


def test_what_is_too_much_is_forgotten_and_counted() -> None:
    """Connections, and turns that nobody was told of."""
    table = PacketTable([8000], connections_max=2)
    talks = [Talk(table, client=("10.0.0.2", 41000 + port), up=port * 99) for port in range(5)]
    for one in talks:
        one.opened()
    assert table.forgotten == 1
    one = talk()
    for _ in range(TURNS_MAX + 3):
        one.send(b"a")
        one.answer(b"b")
    assert (len(one.seen().turns), one.seen().turns_left_out) == (TURNS_MAX, 0)


def test_only_what_came_since_is_told() -> None:
    """Scene by scene."""
    one = talk()
    one.send(REQUEST)
    one.answer(b"x")
    since_ns = one.now_ns + 1
    assert not list(one.table.connections(since_ns))
    one.send(b"next")
    assert [t.request_bytes for t in one.seen(since_ns).turns] == [4]


@given(st.randoms(use_true_random=False), st.lists(st.binary(max_size=30), max_size=30))
def test_bytes_never_exceed_what_the_numbers_allow(
    source: random.Random, pieces: list[bytes]
) -> None:
    """Whatever order and repetition: no exception, and nothing counted twice."""
    one = talk()
    sent = 0
    for piece in pieces:
        one.send(piece)
        sent += len(piece)
        if source.random() < 0.3:
            one.send(piece, back=len(piece))
        if source.random() < 0.3:
            one.answer(piece)
    turns = one.seen().turns
    assert sum(turn.request_bytes for turn in turns) == sent
    assert all(turn.request_acked <= turn.request_bytes for turn in turns)
    assert all(turn.begun_ns <= turn.sent_ns for turn in turns)
