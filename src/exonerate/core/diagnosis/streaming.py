"""The shape of a stream in time: smooth, one burst at the end, or jerky.

A burst is only seen where the same engine, asked past the hop, spreads its tokens in time, and
only where the spread is longer than what the client's own reading could have squeezed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from exonerate.core.diagnosis.facts import Round, Session
from exonerate.core.instant import NS_PER_MS

EVENTS_MIN = 4
"""Fewer arrivals have no shape."""
SPREAD_MS_MIN = 40.0
"""A reference stream shorter than this cannot show that another one was squeezed."""
BURST_FRACTION = 0.2
"""A stream is a burst when its spread is below this fraction of the reference spread."""


def stream_shape(session: Session, reference: Sequence[Session]) -> str:
    """`ok` or `burst`, comparing arrival spreads per round with sessions past the hop."""
    own = [spread for r in session.rounds if (spread := spread_ms(r)) is not None]
    other = [s for peer in reference for r in peer.rounds if (s := spread_ms(r)) is not None]
    if not own or not other or median(other) < SPREAD_MS_MIN:
        return "ok"
    return "burst" if median(own) < BURST_FRACTION * median(other) else "ok"


def spread_ms(round_: Round) -> float | None:
    """Milliseconds from the first to the last token, None where the stream has no shape."""
    arrivals = round_.exchange.arrivals_ms
    if round_.outcome not in ("ok", "slow") or len(arrivals) < EVENTS_MIN:
        return None
    return arrivals[-1] - arrivals[0]


def total_ms(round_: Round) -> float:
    """Milliseconds from the intent to send until the end."""
    return (round_.exchange.ended_ns - round_.exchange.begun_ns) / NS_PER_MS
