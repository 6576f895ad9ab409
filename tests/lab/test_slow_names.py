"""A name server that knows every name and is late with IPv6."""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exonerate.lab.processes import Ready, free_ports, start_program
from exonerate.lab.slow_names import AAAA, A, answer_to, kind_of


def question(kind: int, identity: int = 7) -> bytes:
    """A question about `a.lab`, as a resolver writes it (RFC 1035, 4.1)."""
    head = struct.pack("!HHHHHH", identity, 0x0100, 1, 0, 0, 0)
    return head + b"\x01a\x03lab\x00" + struct.pack("!HH", kind, 1)


def test_a_question_for_an_address_is_answered_with_one() -> None:
    """The answer repeats the number and the question, and carries the address."""
    answer = answer_to(question(A), A, "127.0.0.1")
    assert struct.unpack_from("!HHHH", answer) == (7, 0x8580, 1, 1)
    assert answer.endswith(b"\x7f\x00\x00\x01")


def test_there_is_no_ipv6_address() -> None:
    """The answer to AAAA is that there is none, not that the name is unknown."""
    answer = answer_to(question(AAAA), AAAA, "127.0.0.1")
    assert struct.unpack_from("!HHHH", answer) == (7, 0x8580, 1, 0)


@given(st.binary(max_size=80))
def test_nothing_that_comes_breaks_it(message: bytes) -> None:
    """Any bytes are a question or they are not; every cut of a question is none."""
    kind_of(message)
    whole = question(A)
    assert kind_of(whole) == A
    assert all(kind_of(whole[:size]) is None for size in range(len(whole)))


def test_answers_about_ipv6_come_after_those_about_ipv4(tmp_path: Path) -> None:
    """Asked first and answered last: the delay is only for AAAA."""
    port, ready = free_ports(2)
    argv = [sys.executable, "-m", "exonerate.lab.slow_names", "--host", "127.0.0.1"]
    argv += ["--port", str(port), "--ready-port", str(ready), "--delay-aaaa", "2"]
    listening = Ready(url=f"tcp://127.0.0.1:{ready}")
    with (
        start_program(argv, log=tmp_path / "log", ready=listening),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking,
    ):
        asking.settimeout(60)
        for kind, identity in ((AAAA, 1), (A, 2)):
            asking.sendto(question(kind, identity), ("127.0.0.1", port))
        numbers = [struct.unpack_from("!H", asking.recv(512))[0] for _ in range(2)]
    assert numbers == [2, 1]
