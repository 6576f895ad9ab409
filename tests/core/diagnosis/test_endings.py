"""How rounds ended, and what their endings have in common."""

from dataclasses import replace

import pytest

from exonerate.core.diagnosis.endings import (
    beat_of,
    defect_kind,
    ended_after,
    ended_by,
    error_said,
    longest_silence_s,
    phase,
    silence_s,
)
from exonerate.core.diagnosis.facts import Round
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange

CONNECTION = ConnectionFacts(ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=1)


def cut(*, total_s: float, last_token_s: float | None) -> Round:
    """A round that the hop cut after a time, with tokens until a moment."""
    arrivals = () if last_token_s is None else (100.0, last_token_s * 1000)
    exchange = Exchange(
        session="victim@edge",
        hop="edge",
        round=1,
        connection=CONNECTION,
        request_bytes=100,
        begun_ns=0,
        first_byte_ns=None if last_token_s is None else 50_000_000,
        first_token_ns=None if last_token_s is None else 100_000_000,
        ended_ns=int(total_s * 1e9),
        arrivals_ms=arrivals,
        end="hFD",
    )
    return Round(exchange, "cut")


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([cut(total_s=t + 2, last_token_s=t) for t in (0.5, 1.5, 3.0)], "constant-silence"),
        ([cut(total_s=5.0 + d, last_token_s=4.95) for d in (0.0, 0.05, 0.1)], "constant-total"),
        ([cut(total_s=t, last_token_s=t - 0.05) for t in (1.0, 3.0, 4.5)], "varying"),
        ([cut(total_s=0.01, last_token_s=None)] * 3, "at-once"),
        ([cut(total_s=3.0, last_token_s=None)] * 3, "constant-silence"),
        ([cut(total_s=2.0, last_token_s=None)] * 2, None),
    ],
)
def test_the_timer_behind_the_endings_shows_in_what_stays_the_same(
    rounds: list[Round], expected: str | None
) -> None:
    """Silence, total time, neither, or at once; two endings show nothing."""
    assert ended_after(rounds) == expected


def test_silence_is_counted_from_the_last_token() -> None:
    """Two seconds after the last of them."""
    assert silence_s(cut(total_s=3.0, last_token_s=1.0)) == pytest.approx(2.0)


def test_who_and_when_are_read_off_the_exchange() -> None:
    """The end code names who, or an error in the stream; the stamps name the phase."""
    exchange = cut(total_s=1, last_token_s=0.5).exchange
    said = replace(exchange, end="---", content=ContentFacts(defects=("error-event",)))
    assert ended_by(Round(exchange, "cut")) == "hop"
    assert ended_by(Round(said, "cut")) == "hop"
    assert ended_by(Round(replace(exchange, end="---"), "cut")) == "nobody"
    assert phase(cut(total_s=1, last_token_s=0.5)) == "after-token"
    assert phase(cut(total_s=1, last_token_s=None)) == "before-head"


def test_damage_on_the_way_is_told_from_a_leaking_template() -> None:
    """One broken character outweighs any number of template tokens."""
    clean = cut(total_s=1, last_token_s=0.5)

    def with_defects(*defects: str) -> Round:
        content = ContentFacts(defects=defects)
        return Round(replace(clean.exchange, content=content), "corrupt")

    assert defect_kind([clean]) is None
    assert defect_kind([with_defects("special-token")]) == "special-token"
    assert defect_kind([with_defects("special-token"), with_defects("invalid-utf8")]) == "transport"


def ended_at(*seconds: float) -> list[Round]:
    """Rounds that were cut at these moments of the clock."""
    clean = cut(total_s=1, last_token_s=0.5)
    return [Round(replace(clean.exchange, ended_ns=int(s * 1e9)), "cut") for s in seconds]


def test_endings_on_a_beat_give_its_period() -> None:
    """Some beats had nothing to cut; the period is found all the same."""
    assert beat_of(ended_at(5.02, 10.0, 20.05, 24.98)) == pytest.approx(5.0, abs=0.05)


def test_endings_off_the_beat_or_too_few_give_none() -> None:
    """Random moments, or three of them, show no period."""
    assert beat_of(ended_at(1.0, 7.3, 9.1, 15.9, 22.4)) is None
    assert beat_of(ended_at(5.0, 10.0, 15.0)) is None


def refused(status: int, *, total_s: float) -> list[Round]:
    """Three error answers after about so long."""
    quick = [cut(total_s=total_s + d, last_token_s=None).exchange for d in (0.0, 0.02, 0.05)]
    return [Round(replace(exchange, status=status), "server-error") for exchange in quick]


def test_an_error_answer_takes_its_time_and_is_still_at_once() -> None:
    """A router that says 503 after half a second has not waited for a timer."""
    assert ended_after(refused(503, total_s=0.45)) == "at-once"
    assert ended_after(refused(504, total_s=2.0)) == "constant-silence"
    assert error_said(refused(408, total_s=2.0)) == error_said(refused(504, total_s=2.0))


def test_the_longest_silence_that_was_survived_counts_the_first_token_too() -> None:
    """It bounds an idle timer from below."""
    round_ = cut(total_s=4.0, last_token_s=2.5)
    assert longest_silence_s(round_) == pytest.approx(2.4)
    late = replace(round_.exchange, arrivals_ms=(3000.0, 3100.0))
    assert longest_silence_s(Round(late, "ok")) == pytest.approx(3.0)
