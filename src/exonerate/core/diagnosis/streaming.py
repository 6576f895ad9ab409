"""The shape of a stream in time: smooth, one burst at the end, or jerky.

A burst is only seen where the same engine, asked past the hop, spreads its tokens in time, and
only where the spread is longer than what the client's own reading could have squeezed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import beyond
from exonerate.core.diagnosis.facts import Round, Session

EVENTS_MIN = 4
"""Fewer arrivals have no shape."""
SPREAD_MS_MIN = 40.0
"""A reference stream shorter than this cannot show that another one was squeezed."""
BURST_FRACTION = 0.2
"""A stream is a burst when its tokens lie closer than this fraction of the reference's distance.

Distances and not whole spreads are compared: a stream that ends too early is short, no burst."""


CLUSTER_GAP_MS = 5.0
"""Tokens that arrive closer together than this came together."""
LATE_SHARE, EARLY_SHARE, PORTIONS_SHARE_MAX = 0.4, 0.2, 0.1
SMOOTH_SHARE_MIN = 0.8
JERKY_FRACTION = 0.6
"""A stream is jerky when the reference is smooth and it has this share of its separate arrivals."""


def stream_shape(session: Session, reference: Sequence[Session]) -> str:
    """`ok`, `burst` or `jerky`, comparing arrivals per round with sessions past the hop.

    A copy of the victim is compared with those of its own scene: alone it is quicker than all of
    them together are, and a neighbour's load comes and goes.
    """
    if session.plan.name.startswith("victim@"):
        reference = [peer for peer in reference if peer.scene == session.scene]
    own = [r for r in session.rounds if spread_ms(r) is not None]
    other = [r for peer in reference for r in peer.rounds if spread_ms(r) is not None]
    if not own or not other or _typical_spread(other) < SPREAD_MS_MIN:
        return "ok"
    if _typical_spacing(own) < BURST_FRACTION * _typical_spacing(other) or _held_back(own, other):
        return "burst"
    smooth = median(separate_share(r) for r in other)
    if smooth >= SMOOTH_SHARE_MIN:
        merged = median(steady_share(r) for r in own) < JERKY_FRACTION * smooth
        return "jerky" if merged else "ok"
    return "ok"


def misshapen_at_once(sessions: Sequence[Session], reference: Sequence[Session]) -> bool:
    """Whether all of these sessions came in a wrong shape, from their first rounds on."""
    shapes = [
        stream_shape(replace(session, rounds=rounds), reference)
        for session in sessions
        for rounds in (session.rounds[:1], session.rounds)
    ]
    return bool(shapes) and "ok" not in shapes


def innermost(sessions: Sequence[Session], deployment: Deployment) -> list[Session]:
    """Those with a shape that entered past all others: no box that these passed has shaped them."""
    shaped = [s for s in sessions if any(spread_ms(r) is not None for r in s.rounds)]
    entered = {session.hop for session in shaped}
    ends = {h for h in entered if not entered & {b.name for b in beyond(deployment, h)}}
    return [session for session in shaped if session.hop in ends]


def _held_back(own: Sequence[Round], other: Sequence[Round]) -> bool:
    """A buffer that fills and empties: a few large portions, the first of them late.

    The first token comes after `LATE_SHARE` of the whole time, where it comes before `EARLY_SHARE`
    of it past the hop.
    """
    few = median(separate_share(r) for r in own) <= PORTIONS_SHARE_MAX
    late = median(r.wait_s / r.total_s for r in own) >= LATE_SHARE
    early = median(r.wait_s / r.total_s for r in other) <= EARLY_SHARE
    return few and late and early


def separate_share(round_: Round) -> float:
    """The share of tokens that arrived apart from the one before."""
    arrivals = round_.exchange.arrivals_ms
    apart = sum(later - earlier > CLUSTER_GAP_MS for earlier, later in pairwise(arrivals))
    return (1 + apart) / len(arrivals)


def steady_share(round_: Round) -> float:
    """The same without the tokens that came with the first one, where enough others followed.

    A box that is late once, with the head of an answer, passes the rest on as it comes; one that
    merges goes on merging.
    """
    arrivals = round_.exchange.arrivals_ms
    gaps = (later - earlier > CLUSTER_GAP_MS for earlier, later in pairwise(arrivals))
    together = next((number for number, apart in enumerate(gaps, 1) if apart), len(arrivals))
    later = arrivals[together:]
    if len(later) < EVENTS_MIN:
        return separate_share(round_)
    return separate_share(replace(round_, exchange=replace(round_.exchange, arrivals_ms=later)))


def _typical_spread(rounds: Sequence[Round]) -> float:
    return median(spread for r in rounds if (spread := spread_ms(r)) is not None)


def _typical_spacing(rounds: Sequence[Round]) -> float:
    shaped = [(r, spread) for r in rounds if (spread := spread_ms(r)) is not None]
    return median(spread / (len(r.exchange.arrivals_ms) - 1) for r, spread in shaped)


def spread_ms(round_: Round) -> float | None:
    """Milliseconds from the first to the last token, None where the stream has no shape."""
    arrivals = round_.exchange.arrivals_ms
    if round_.outcome not in ("ok", "slow") or len(arrivals) < EVENTS_MIN:
        return None
    return arrivals[-1] - arrivals[0]
