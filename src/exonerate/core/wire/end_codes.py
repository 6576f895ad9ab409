"""End codes: who ended an exchange first, how, and in which phase (see `exchange`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Ending: TypeAlias = Literal[
    "framed",  # the framing's own end was seen
    "fin",  # the peer sent FIN
    "reset",  # the peer sent RST
    "refused",  # the peer refused the connection or the TLS handshake
    "unreachable",  # the network or the resolver said no
    "timed-out",  # the kernel gave up retransmitting
    "broken",  # the peer broke the protocol and we closed
    "given-up",  # we closed
]

SILENCE_S_MAX = 1.0
"""We ended a *silent* exchange when nothing had come for this long, or for half of its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known when an exchange ends."""

    ending: Ending
    connected: bool
    request_written: bool
    head_seen: bool
    done_said: bool
    body_complete: bool
    status: int | None
    silent_s: float
    lasted_s: float
    fin_seen: bool = False


REGULAR = "---"
"""Nobody ended the exchange; the framing did, and the connection stays open."""


def end_code(seen: Circumstances) -> str:
    """The three letters."""
    if seen.ending in ("framed", "fin") and seen.status is not None and seen.body_complete:
        if seen.status >= 400:
            return "hX" + ("H" if seen.request_written else "B")
        return "hFE" if seen.ending == "fin" or seen.fin_seen else REGULAR
    return _who_and_what(seen) + _phase(seen)


def _who_and_what(seen: Circumstances) -> str:
    match seen.ending:
        case "fin" | "framed":
            return "hF"
        case "reset":
            return "hR"
        case "refused" | "broken":
            return "hX"
        case "unreachable":
            return "nX"
        case "timed-out":
            return "nZ"
        case "given-up":
            silent = seen.silent_s >= min(SILENCE_S_MAX, seen.lasted_s / 2)
            return "cZ" if silent else "cF"


def _phase(seen: Circumstances) -> str:
    if not seen.connected:
        return "K"
    if seen.done_said:
        return "E"
    if seen.head_seen:
        return "D"
    return "H" if seen.request_written else "B"
