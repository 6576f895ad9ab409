"""How failing rounds ended: who ended them, in which phase, and after which time."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from exonerate.core.diagnosis.facts import Round
from exonerate.core.instant import seconds_between

REPEATS_MIN = 3
"""Fewer failures show no regularity."""
SILENCE_S_MIN = 0.4
"""A shorter pause before the end is the pace of the tokens, not a silence."""
AT_ONCE_S = 0.3
TOLERANCE_S, TOLERANCE_SHARE = 0.25, 0.08
TRANSPORT_DEFECTS = frozenset(
    {"invalid-utf8", "invalid-json", "framing-in-body", "duplicated-event", "text-after-finish"}
)


def ended_by(round_: Round) -> str:
    """Who ended the exchange, from its end code."""
    names = {"c": "us", "h": "hop", "n": "network"}
    return names.get(round_.exchange.end[:1], "nobody")


def phase(round_: Round) -> str:
    """How far the answer had come."""
    if round_.exchange.first_token_ns is not None:
        return "after-token"
    return "before-head" if round_.exchange.first_byte_ns is None else "before-token"


def silence_s(round_: Round) -> float:
    """Seconds without a byte of the answer before the end."""
    exchange = round_.exchange
    last = exchange.begun_ns
    if exchange.arrivals_ms:
        last = exchange.begun_ns + int(exchange.arrivals_ms[-1] * 1e6)
    return seconds_between(last, exchange.ended_ns)


def ended_after(rounds: Sequence[Round]) -> str | None:
    """What the endings have in common: the same silence, the same total time, neither, or at once.

    None below `REPEATS_MIN` endings. A silence that is the whole time counts as a silence: which
    of two timers it was cannot be told without an answer that flows.
    """
    if len(rounds) < REPEATS_MIN:
        return None
    totals = [round_.total_s for round_ in rounds]
    silences = [silence_s(round_) for round_ in rounds]
    if median(totals) < AT_ONCE_S:
        return "at-once"
    if median(silences) >= SILENCE_S_MIN and _alike(silences):
        return "constant-silence"
    return "constant-total" if _alike(totals) else "varying"


def defect_kind(rounds: Sequence[Round]) -> str | None:
    """Whether what is wrong with the content is a token of a template or damage on the way."""
    defects = {defect for round_ in rounds for defect in round_.exchange.content.defects}
    if not defects:
        return None
    if defects & TRANSPORT_DEFECTS:
        return "transport"
    return "special-token" if "special-token" in defects else None


def _alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= max(TOLERANCE_S, TOLERANCE_SHARE * median(values))
