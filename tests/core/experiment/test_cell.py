"""One cell of one restart, from its raw rows."""

from __future__ import annotations

from typing import Any

import pytest

from exonerate.core.experiment.cell import cell_run, in_flight

MS = 1_000_000
INSTRUMENT = {"cpu_s": 0.1, "cpu_share": 0.1, "lag_ms_p99": 1.0}


def cell(rows: list[list[Any]], *, concurrency: int = 2, **instrument: Any) -> Any:
    """A `cell` event with those rows."""
    return {
        "concurrency": concurrency,
        "begun_ns": 0,
        "ended_ns": max((row[2] for row in rows), default=0),
        "rows": rows,
        "instrument": {**INSTRUMENT, **instrument},
    }


def closed_loop(requests: int, *, concurrency: int, step_ms: int = 100) -> list[list[Any]]:
    """Requests of equal length, always `concurrency` of them in flight."""
    rows = []
    for number in range(requests):
        begun = number // concurrency * step_ms * MS
        rows.append([begun, begun + MS, begun + step_ms * MS, 10, "ok"])
    return rows


def test_throughput_is_tokens_over_the_window() -> None:
    """Eight requests of ten tokens in 0.4 s are 200 tokens/s."""
    run = cell_run(cell(closed_loop(8, concurrency=2)))
    assert run.tokens_per_s == pytest.approx(200.0)
    assert (run.requests, run.failed, run.tokens_per_request) == (8, 0, 10.0)
    assert run.latency_s_mean == pytest.approx(0.1)


def test_failed_requests_bring_no_tokens_and_are_counted_by_their_end() -> None:
    """The tokens of a request that broke off are not output anybody got."""
    rows = closed_loop(8, concurrency=2)
    rows[0][4], rows[1][4], rows[2][4] = "hXT", "hXT", "hFE"
    run = cell_run(cell(rows))
    assert run.tokens_per_s == pytest.approx(125.0)
    assert run.ends == {"hXT": 2, "hFE": 1}


def test_a_cell_where_nothing_ended_well_has_no_throughput() -> None:
    """Without one good request the value is zero, not an error."""
    rows = closed_loop(4, concurrency=2)
    for row in rows:
        row[1], row[4] = None, "hXT"
    run = cell_run(cell(rows))
    assert (run.tokens_per_s, run.tokens_per_request, run.failed) == (0.0, 0.0, 4)
    assert cell_run(cell([])).requests == 0


def test_little_sees_how_many_were_in_flight() -> None:
    """A full loop shows its concurrency; requests of half the length show half of it."""
    rows = closed_loop(16, concurrency=4)
    assert in_flight(rows, 4) == pytest.approx(4.0)
    half = [[row[0], row[1], row[0] + 50 * MS, *row[3:]] for row in rows]
    assert in_flight(half, 4) == pytest.approx(2.0)


def test_few_requests_cannot_tell_how_many_were_in_flight() -> None:
    """With fewer than two rounds of the loop nothing is claimed."""
    assert in_flight(closed_loop(7, concurrency=4), 4) is None
    assert in_flight([[0, 1, 2, 1, "ok"], [0, 1, 2, 1, "ok"]], 1) is None


def test_an_instrument_that_judges_itself_is_believed() -> None:
    """The load generator's own word counts; without one a full core does."""
    rows = closed_loop(8, concurrency=2)
    own = cell_run(cell(rows, client_bound=True, why="requests went out late"))
    assert (own.client_bound, own.client_why) == (True, "requests went out late")
    assert cell_run(cell(rows, cpu_share=0.95)).client_bound
    assert not cell_run(cell(rows, cpu_share=0.95, client_bound=False)).client_bound
    assert not cell_run(cell(rows)).client_bound


def test_a_long_cell_is_judged_for_its_steady_state() -> None:
    """Two hundred seconds of equal requests are steady; a short cell cannot tell."""
    long = cell_run(cell(closed_loop(4000, concurrency=2)))
    assert long.steadiness is not None
    assert long.steadiness.kind == "steady"
    assert cell_run(cell(closed_loop(40, concurrency=2))).steadiness is None
