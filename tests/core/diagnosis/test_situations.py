"""Situations in which a run must not guess."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.diagnosis.test_logged import DEPLOYMENT, PLAN, ROUND, facts
from tests.support.world import OK, Answer, World, locate_in

from exonerate.core.case.answers import objects_in
from exonerate.core.diagnosis.beside import Beside, PageSample
from exonerate.core.diagnosis.engine_process import engine_process
from exonerate.core.diagnosis.facts import (
    CounterSample,
    Facts,
    Outcome,
    Round,
    Session,
    SocketSample,
)
from exonerate.core.diagnosis.situations import (
    deep_health,
    engine_health,
    loading,
    not_seen,
    operator_problem,
    order_doubtful,
    restart_shown,
    without_shut_out,
)
from exonerate.core.scene import SampleMetrics, Scene
from exonerate.core.wire.exchange import Exchange

NS = 1_000_000_000


def seen(
    *rounds: tuple[str, Outcome, int | None], error: str | None = None, end: str = "hXK"
) -> Facts:
    """Facts with one session for each (hop, outcome, status); connections fail with that end."""
    sessions = tuple(
        Session(
            "s",
            replace(PLAN, name=f"victim@{hop}", hop=hop),
            (Round(_ended(status, error, end if outcome == "no-connect" else "---"), outcome),),
            None,
        )
        for hop, outcome, status in rounds
    )
    return replace(facts([]), sessions=sessions)


def _ended(status: int | None, error: str | None, end: str) -> Exchange:
    return replace(ROUND.exchange, status=status, error=error, end=end)


def twice(*rounds: tuple[str, Outcome, int | None]) -> Facts:
    """As `seen`, each of them two times."""
    return seen(*rounds, *rounds)


def problem(told: Facts, **victim: object) -> str | None:
    """What only the operator can put right, with this victim."""
    deployment = replace(DEPLOYMENT, victim=replace(DEPLOYMENT.victim, **victim))  # type: ignore[arg-type]  # its fields
    found = operator_problem(told, deployment)
    return None if found is None else found.problem


def test_a_missing_key_is_the_operators_affair() -> None:
    """401 where no key was given; with a key at one hop alone it may be that hop's fault."""
    told = seen(("edge", "refused", 401), ("engine", "ok", 200))
    assert problem(told) == "`edge` answers 401: it wants a key"
    assert problem(told, api_key_env="KEY") is None
    assert problem(told, headers=(("Authorization", ""),)) is None


def test_a_hop_whose_key_only_the_hop_before_it_has_is_not_examined() -> None:
    """A gateway puts in the engine's key; the victim has none, and needs none."""
    told = seen(("edge", "hang", None), ("engine", "refused", 401))
    assert problem(told) is None
    heard = without_shut_out(told, DEPLOYMENT)
    assert [s.hop for s in heard.sessions] == ["edge"]
    assert "wants a key that only the hop before it has" in not_seen(heard, DEPLOYMENT)[0]
    everywhere = seen(("edge", "refused", 401), ("engine", "refused", 401))
    assert problem(everywhere) == "`edge` answers 401: it wants a key"


def test_a_path_with_a_key_of_its_own_further_in_is_judged_without_that_hop() -> None:
    """It is well as far as it can be asked; nobody is accused of the 401, and nobody cleared."""
    world = World(lambda asked: Answer(status=401) if asked.hop == "engine" else OK)
    answer = locate_in(world)
    assert (answer["outcome"], answer["faults"]) == ("no_fault", [])
    assert [entry.get("hop") for entry in objects_in(answer, "cleared")] == ["edge", "inner"]
    assert "wants a key" in str(answer["not_examined"])


def test_a_key_that_nobody_accepts_is_the_operators_affair() -> None:
    """401 or 403 at every hop that was asked."""
    everywhere = seen(("edge", "refused", 403), ("engine", "refused", 403))
    assert "the key in `KEY` is not accepted" in str(problem(everywhere, api_key_env="KEY"))
    filtered = seen(("edge", "refused", 403), ("engine", "ok", 200))
    assert problem(filtered) is None
    assert problem(seen()) is None


def test_a_certificate_that_is_not_trusted_is_no_fault_of_the_path() -> None:
    """It is something that was not examined, at the entry as further in."""
    why = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    for hop in ("edge", "engine"):
        told = seen((hop, "no-connect", None), error=why)
        assert problem(told) is None
        assert "its certificate is not accepted" in not_seen(told, DEPLOYMENT)[0]


def test_a_hop_that_cannot_be_reached_from_here_is_listed() -> None:
    """With what the system said."""
    told = seen(("engine", "no-connect", None), error="Connection refused")
    assert not_seen(told, DEPLOYMENT) == [
        "`engine`: cannot be reached from here (Connection refused): it was not asked directly"
    ]
    assert not_seen(seen(("engine", "ok", 200)), DEPLOYMENT) == []


def test_an_engine_that_is_loading_is_recognised() -> None:
    """It says so on its page; an engine that only answers 503 may be full."""
    page = PageSample("engine", NS, None, None, "HTTP status 503: it is loading its model")
    told = replace(seen(("engine", "server-error", 503)), beside=Beside(pages=(page,)))
    assert loading(told, "engine")
    assert "still loading" in not_seen(told, DEPLOYMENT)[0]
    assert not restart_shown(told, DEPLOYMENT, "engine")


@pytest.mark.parametrize(
    ("rounds", "shown"),
    [
        ([("edge", "no-connect", None), ("engine", "no-connect", None)], False),
        ([("edge", "hang", None), ("engine", "no-connect", None)], False),
        ([("edge", "server-error", 502), ("engine", "no-connect", None)], True),
        ([("engine", "ok", 200), ("engine", "no-connect", None)], True),
        ([("engine", "server-error", 500)], True),
        ([("engine", "server-error", 503)], False),
        ([("engine", "cut", 200)], True),
    ],
)
def test_an_engine_is_down_only_where_somebody_else_is_up(
    rounds: Sequence[tuple[str, Outcome, int | None]], shown: bool
) -> None:
    """Where everything refuses connections, it may be the way there, or this host."""
    assert restart_shown(seen(*rounds), DEPLOYMENT, "engine") is shown


@pytest.mark.parametrize(("end", "shown"), [("hXK", True), ("nXK", False), ("cZK", False)])
def test_only_a_refusal_shows_that_nobody_listens(end: str, shown: bool) -> None:
    """A name that is unknown here, or a way that swallows packets, may be open for the proxy."""
    told = seen(("edge", "server-error", 502), ("engine", "no-connect", None), end=end)
    assert restart_shown(told, DEPLOYMENT, "engine") is shown
    assert (engine_process(DEPLOYMENT.hops[-1], told) is not None) is shown


def test_a_hop_that_only_we_cannot_reach_leaves_the_path_judged() -> None:
    """What enters before it is answered: it is there, and what is missing is our way to it."""
    told = seen(("edge", "ok", 200), ("engine", "no-connect", None), error="No route to host")
    heard = without_shut_out(told, DEPLOYMENT)
    assert [s.hop for s in heard.sessions] == ["edge"]
    assert "cannot be reached from here (No route to host)" in not_seen(heard, DEPLOYMENT)[0]
    down = seen(("edge", "server-error", 502), ("engine", "no-connect", None))
    assert len(without_shut_out(down, DEPLOYMENT).sessions) == 2


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, "ok"),
        ("HTTP status 503", "fails"),
        ("no answer within 2 s", "silent"),
        ("HTTP status 503: it is loading its model", "loading"),
    ],
)
def test_the_health_page_is_read_while_a_round_waits(error: str | None, state: str) -> None:
    """It is shown with the rest, and clears nobody: many pages are shallow."""
    page = PageSample("engine", 2 * NS, None, {} if error is None else None, error)
    told = replace(seen(("engine", "hang", None)), beside=Beside(health=(page,)))
    found = engine_health(DEPLOYMENT.hops[-1], told, told.sessions)
    assert found is not None
    assert found.value == state
    late = replace(told, beside=Beside(health=(replace(page, at_ns=9 * NS),)))
    assert engine_health(DEPLOYMENT.hops[-1], late, told.sessions) is None


@pytest.mark.parametrize(
    ("path", "errors", "value"),
    [
        ("/health_generate", [None, None], "ok"),
        ("/health_generate", ["no answer within 2 s"] * 2, "silent"),
        ("/health_generate", ["HTTP status 503"] * 2, "fails"),
        ("/health_generate", [None], None),
        ("/health", [None, None], None),
    ],
)
def test_a_token_made_for_the_health_page_tells_of_the_engine(
    path: str, errors: list[str | None], value: str | None
) -> None:
    """A page that only says that a front end is up tells nothing."""
    pages = tuple(
        PageSample("engine", (6 + n) * NS, None, {} if error is None else None, error)
        for n, error in enumerate(errors)
    )
    reading = SampleMetrics(name="health@engine", hop="engine", url=f"http://e{path}")
    scene = Scene(id="s", why="", activities=(reading,), time_limit_s=9.0)
    told = seen(("engine", "hang", None))
    told = replace(told, scenes=(scene,), beside=Beside(health=pages))
    waits = [replace(s, rounds=tuple(map(_long, s.rounds))) for s in told.sessions]
    found = deep_health(DEPLOYMENT.hops[-1], told, waits)
    assert (found.value if found else None) == value


def _long(round_: Round) -> Round:
    return Round(replace(round_.exchange, ended_ns=20 * NS), round_.outcome)


def test_counters_that_began_again_show_a_restart() -> None:
    """Whatever the answers were."""
    samples = tuple(
        CounterSample("s", "c", "engine", at, {"steps": n}) for at, n in ((1, 9.0), (2, 0.0))
    )
    told = replace(seen(("engine", "ok", 200)), counters=samples)
    assert restart_shown(told, DEPLOYMENT, "engine")


def test_hops_in_the_wrong_order_are_doubted() -> None:
    """What lies behind a hop cannot fail, by more than chance, where that hop never does."""
    wrong = twice(("edge", "ok", 200), ("engine", "hang", None))
    right = twice(("edge", "hang", None), ("engine", "ok", 200))
    apart = twice(("edge", "ok", 200), ("engine", "no-connect", None))
    assert order_doubtful(wrong, DEPLOYMENT)[0].startswith("`engine` fails where `edge`")
    assert order_doubtful(right, DEPLOYMENT) == []
    assert order_doubtful(apart, DEPLOYMENT) == []
    outside: list[tuple[str, Outcome, int | None]] = [("edge", "ok", 200)] * 8
    good: list[tuple[str, Outcome, int | None]] = [("engine", "ok", 200)] * 7
    bad: list[tuple[str, Outcome, int | None]] = [("engine", "hang", None)] * 6
    often, seldom = seen(*outside, *good[:2], *bad), seen(*outside, *good, bad[0])
    assert order_doubtful(often, DEPLOYMENT)
    assert order_doubtful(seldom, DEPLOYMENT) == []


def test_a_process_that_may_not_be_looked_into_is_listed() -> None:
    """It listens on this host; its own sockets belong to somebody else."""
    row = {"local_port": 8080, "up": False}
    hidden = replace(seen(), sockets={("s", "edge"): (SocketSample("s", "edge", 1, (row,)),)})
    shown = replace(
        seen(), sockets={("s", "edge"): (SocketSample("s", "edge", 1, (row,), True),)}
    )  # fmt: skip
    assert not_seen(hidden, DEPLOYMENT) == [
        "`edge`: its process may not be looked into here: its own sockets stay unseen"
    ]
    assert not_seen(shown, DEPLOYMENT) == []
