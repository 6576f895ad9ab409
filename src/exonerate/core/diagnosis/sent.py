"""How much was asked in a run: requests, and how many of them at a time."""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.diagnosis.facts import Facts, Round


def requests_sent(facts: Facts) -> int:
    """How many requests were begun, whatever came of them."""
    return len(_rounds(facts))


def requests_at_once(facts: Facts) -> dict[str, int]:
    """By hop at which they entered: the most requests of ours that were under way together."""
    asked: dict[str, list[Round]] = {}
    for round_ in _rounds(facts):
        asked.setdefault(round_.exchange.hop, []).append(round_)
    return {hop: most_at_once(rounds) for hop, rounds in asked.items()}


def most_at_once(rounds: Sequence[Round]) -> int:
    """The most of these requests that were under way at the same moment."""
    changes = sorted(
        change
        for round_ in rounds
        # One that ends as another begins is not beside it.
        for change in ((round_.exchange.begun_ns, 1), (round_.exchange.ended_ns, -1))
    )
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _rounds(facts: Facts) -> list[Round]:
    return [r for s in (*facts.sessions, *facts.shut_out) for r in s.rounds]
