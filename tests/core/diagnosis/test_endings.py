"""How rounds ended, and what their endings have in common."""

from dataclasses import replace

import pytest

from exonerate.core.diagnosis.endings import (
    beat_of,
    defect_kind,
    ended_after,
    ended_after_at,
    ended_by,
    error_said,
    longest_silence_s,
    merely_late,
    one_ending,
    phase,
    silence_s,
    stopped_together,
)
from exonerate.core.diagnosis.facts import Round, Session
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
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
        (
            [cut(total_s=t, last_token_s=None) for t in (1.8, 1.3, 1.3, 1.4, 1.35)],
            "constant-silence",
        ),
        ([cut(total_s=t, last_token_s=None) for t in (0.8, 1.3, 1.3, 1.4, 1.35)], "varying"),
        ([cut(total_s=t, last_token_s=None) for t in (1.8, 1.3, 1.3, 1.4)], "varying"),
    ],
)
def test_the_timer_behind_the_endings_shows_in_what_stays_the_same(
    rounds: list[Round], expected: str | None
) -> None:
    """Silence, total time, neither, or at once; two show nothing, and of five one may be late."""
    assert ended_after(rounds) == expected


def whole(*, longest_silence_s: float) -> Round:
    """A whole answer with one pause in it."""
    return replace(cut(total_s=5.0, last_token_s=0.1 + longest_silence_s), outcome="ok")


@pytest.mark.parametrize(
    ("bad", "pause_s", "expected"),
    [
        ([cut(total_s=2.5, last_token_s=1.5)] * 3, 0.05, "constant-total"),
        ([cut(total_s=2.0, last_token_s=None)] * 3, 0.05, "own-silence"),
        ([cut(total_s=2.0, last_token_s=None)] * 3, 3.0, "constant-silence"),
        ([cut(total_s=t + 1, last_token_s=t) for t in (0.5, 1.5, 3.0)], 2.0, "constant-silence"),
    ],
)
def test_no_timer_of_silence_goes_off_where_nobody_is_silent(
    bad: list[Round], pause_s: float, expected: str
) -> None:
    """A box that drains a connection it has ended, or loses a request, makes a silence itself."""
    edge = [session("edge", (round_,)) for round_ in bad]
    past = [session("engine", (whole(longest_silence_s=pause_s),) * 3)]
    assert ended_after_at("edge", edge, past) == expected


def session(hop: str, rounds: tuple[Round, ...]) -> Session:
    """A session of the victim's shape."""
    recipe = RequestRecipe(
        path="/v1/chat/completions",
        model="m",
        prompt=PromptRecipe(seed=1, prompt_tokens=60),
        max_tokens=16,
    )
    plan = ProbeSession(
        name=f"victim@{hop}", hop=hop, url="http://127.0.0.1:1", request=recipe, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=5.0,
    )  # fmt: skip
    return Session("victim-1", plan, rounds, None)


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


def failed(round_: Round) -> Session:
    """A session of one round."""
    prompt = PromptRecipe(seed=1, prompt_tokens=8)
    plan = ProbeSession(
        name="victim@edge", hop="edge", url="http://127.0.0.1:1", connection="reuse", rounds=1,
        request=RequestRecipe(path="/v1/completions", model="m", prompt=prompt, max_tokens=2),
        think_s=0.0, deadline_s=9.0,
    )  # fmt: skip
    return Session("s", plan, (round_,), None)


def refused_after(total_s: float) -> Round:
    """An error answer of the hop after a silence."""
    exchange = cut(total_s=total_s, last_token_s=None).exchange
    return Round(replace(exchange, status=504), "server-error")


@pytest.mark.parametrize(
    ("refused_s", "expected"),
    [(3.0, ["cut", "cut", "ok"]), (0.2, ["cut", "server-error", "ok"])],
)
def test_a_timer_looks_the_same_before_and_after_the_head_of_the_answer(
    refused_s: float, expected: list[str]
) -> None:
    """It says 504 or closes, after the same silence; an error that comes at once is another."""
    rounds = (cut(total_s=3.05, last_token_s=None), refused_after(refused_s))
    well = Round(rounds[0].exchange, "ok")
    sessions = [failed(r) for r in (*rounds, well)]
    assert one_ending(sessions, ["cut", "server-error", "ok"]) == expected


def test_a_timer_that_ends_evenly_spaced_requests_is_no_beat() -> None:
    """The beat is ours: every ending came as long after its request."""
    ends = (3.0, 7.0, 11.0, 15.0, 19.0)
    exchange = cut(total_s=3.0, last_token_s=None).exchange
    rounds = [
        Round(replace(exchange, begun_ns=int((e - 3.0) * 1e9), ended_ns=int(e * 1e9)), "cut")
        for e in ends
    ]
    assert beat_of(rounds) is None


def test_a_box_that_says_it_waited_too_long_has_waited_however_short_its_timer() -> None:
    """A 504 after the same 0.85 s is a timer; one that comes in no time is a refusal."""
    assert ended_after(refused(504, total_s=0.85)) == "constant-silence"
    assert ended_after(refused(504, total_s=0.01)) == "at-once"


def stream(begun_s: float, stopped_s: float, *, well: bool = False, hung: bool = False) -> Session:
    """A session of one answer that flowed until it stopped."""
    exchange = cut(total_s=stopped_s - begun_s, last_token_s=stopped_s - begun_s).exchange
    begun_ns, waits_s = int(begun_s * 1e9), 4.0 if hung else 0.0
    exchange = replace(
        exchange,
        begun_ns=begun_ns,
        first_token_ns=begun_ns + 100_000_000,
        ended_ns=int((stopped_s + waits_s) * 1e9),
        given_up="provisional" if hung else "no",
    )
    return failed(Round(exchange, "ok" if well else "hang" if hung else "cut"))


@pytest.mark.parametrize("hung", [False, True])
def test_answers_that_began_apart_and_stopped_at_once_stopped_together(hung: bool) -> None:
    """Be they cut or left unfinished; twice here, while what was asked past the hop went on."""
    through = [
        stream(0.0, 2.0, hung=hung), stream(1.0, 2.05, hung=hung),
        stream(9.0, 11.0, hung=hung), stream(9.9, 11.1, hung=hung),
    ]  # fmt: skip
    past = [stream(1.2, 3.7, well=True), stream(10.0, 12.5, well=True)]
    assert stopped_together(through, past) == [2.0, 11.0]


@pytest.mark.parametrize(
    ("through", "past"),
    [
        ([stream(0.0, 2.0), stream(0.1, 2.05)], [stream(1.0, 3.0, well=True)]),
        ([stream(0.0, 2.0), stream(1.0, 2.05)], [stream(1.0, 2.0)]),
        ([stream(0.0, 2.0), stream(1.0, 2.0), stream(0.5, 3.0, well=True)], [stream(1.0, 4.0)]),
        ([stream(0.0, 2.0), stream(1.0, 3.0)], [stream(1.0, 4.0, well=True)]),
    ],
)
def test_no_clock_of_a_box_is_seen_in_other_endings(
    through: list[Session], past: list[Session]
) -> None:
    """As long after their beginning; past the hop as well; not all of them; or not at once."""
    assert not stopped_together(through, past)


def at(hop: str, *rounds: Round) -> Session:
    """A session of such rounds at a hop."""
    session = failed(rounds[0])
    return replace(session, rounds=rounds, plan=replace(session.plan, hop=hop))


def given_up(*, after_s: float) -> Round:
    """A round that was silent to the deadline."""
    round_ = cut(total_s=after_s, last_token_s=None)
    return Round(replace(round_.exchange, given_up="deadline", end="cZH"), "hang")


ENDED = at("edge", cut(total_s=3.0, last_token_s=None))
LATE = at("engine", whole(longest_silence_s=7.0))
SOON = at("engine", whole(longest_silence_s=0.2))
WAITED = at("engine", given_up(after_s=25.0))


@pytest.mark.parametrize(
    ("through", "past", "expected"),
    [
        ([ENDED] * 3, [LATE, LATE, WAITED], 1),
        ([ENDED] * 3, [SOON, SOON, WAITED], 0),
        ([ENDED] * 3, [LATE, WAITED], 0),
        ([ENDED] * 2, [LATE, LATE, WAITED], 0),
        ([ENDED] * 3, [LATE, LATE, at("engine", given_up(after_s=5.0))], 0),
        ([at("edge", given_up(after_s=25.0))] * 3, [LATE, LATE, WAITED], 0),
    ],
)
def test_one_that_waits_long_past_a_timer_among_others_that_come_is_late(
    through: list[Session], past: list[Session], expected: int
) -> None:
    """Not where answers come soon, where few came, or where nobody's timer ended those before."""
    assert len(merely_late(through, past)) == expected
