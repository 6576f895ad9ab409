"""The load generator says when it was the limit."""

from __future__ import annotations

from array import array
from typing import Any

from exonerate.core.workload.instrument import InstrumentFold
from exonerate.core.workload.result_blocks import KERNEL_STAMPS, RequestRecord


def facts(**changes: Any) -> dict[str, Any]:
    """A worker that had nothing to complain about in ten seconds."""
    fields: dict[str, Any] = {
        "begun_ns": 0,
        "ended_ns": 10 * 10**9,
        "cpu_s": 0.5,
        "sending_lag_ns": 0,
        "sent": 10,
        "events": 1000,
        "resident_kib": 30_000,
        "connections": 4,
        "resent": 0,
        "in_flight_peak": 4,
    }
    return {**fields, **changes}


def report(*workers: dict[str, Any], open_loop: bool = False, late_us: int = 50) -> Any:
    """What the instrument says after ten requests of one second."""
    fold = InstrumentFold()
    for _ in range(10):
        fold.add(
            RequestRecord(
                begun_ns=0,
                ended_ns=10**9,
                events=100,
                reads=100,
                censored=5,
                flags=KERNEL_STAMPS,
                lateness_ns_max=late_us * 1000,
                gaps_ns=array("I", [1] * 100),
                lateness_us=array("H", [late_us] * 100),
            )
        )
    return fold.report(workers, open_loop=open_loop)


def test_a_client_with_time_to_spare_binds_nothing() -> None:
    """A worker that sleeps most of the time leaves the result valid."""
    found = report(facts())
    assert not found["client_bound"]
    assert found["cpu_share"] == 0.05
    assert found["lag_ms_p99"] == 0.05
    assert found["censored_share"] == 0.05


def test_a_full_core_binds_the_result() -> None:
    """One of two workers at its limit is enough."""
    found = report(facts(), facts(cpu_s=9.5))
    assert found["client_bound"]
    assert "95%" in found["why"]


def test_requests_that_go_out_late_bind_a_closed_loop() -> None:
    """A lane that idles because the client was busy is not the service's doing."""
    found = report(facts(sending_lag_ns=10**9))
    assert found["client_bound"]
    assert "late by 10.0%" in found["why"]


def test_an_open_loop_is_bound_by_lateness_itself() -> None:
    """A mean of 50 ms after the intended times is another load than the asked one."""
    assert report(facts(sending_lag_ns=5 * 10**8), open_loop=True)["client_bound"]
    assert not report(facts(sending_lag_ns=10**6), open_loop=True)["client_bound"]


def test_late_reads_bind_nothing() -> None:
    """The kernel's stamps do not care when they are read; the lateness is shown."""
    found = report(facts(), late_us=40_000)
    assert not found["client_bound"]
    assert found["lag_ms_p50"] == 40.0


def test_a_moment_is_not_judged() -> None:
    """A run of a tenth of a second is mostly starting up."""
    assert not report(facts(ended_ns=10**8, cpu_s=0.099))["client_bound"]
