"""What one look suggests: states are named, nobody is convicted, and no log line is kept."""

import json
from typing import Any

import pytest

from exonerate.core.diagnosis.snapshot import log_signals, recorded, suggestions

QUIET: dict[str, Any] = {
    "local": "127.0.0.1",
    "local_port": 5,
    "peer": "127.0.0.1",
    "peer_port": 8080,
    "state": "ESTABLISHED",
    "unread_bytes": 0,
    "unsent_bytes": 0,
    "retransmits": 0,
    "stood_still": True,
}


def looked(process: dict[str, Any] | None = None, hop: dict[str, Any] | None = None) -> Any:
    """A snapshot of one process and one hop, quiet but for what is given."""
    own = {"pid": 7, "is": ["given"], "program": "agent", "cpu_share": 0.0, "threads": []}
    entry = {"hop": "edge", "accept_queue": 0, "accept_queue_limit": 128, "log_tail": []}
    return {
        "schema": "exonerate.snapshot/1",
        "processes": [{**own, "sockets": [QUIET], **(process or {})}],
        "hops": [{**entry, **(hop or {})}],
        "not_seen": [],
    }


def socket(**facts: Any) -> dict[str, Any]:
    """A process with one remarkable socket."""
    return {"sockets": [QUIET, {**QUIET, **facts}]}


def test_a_quiet_look_suggests_nothing() -> None:
    """Idle connections and sleeping threads are no news."""
    assert suggestions(looked()) == []


@pytest.mark.parametrize(
    ("process", "fits"),
    [
        (socket(unread_bytes=900), "client-deadlock"),
        (socket(state="CLOSE_WAIT"), "pool-exhausted"),
        (socket(unsent_bytes=10, retransmits=4), "silent-drop"),
        (socket(unsent_bytes=10), "scheduler-stuck"),
        (socket(state="SYN_SENT"), "env-proxy"),
        ({"open_files": 99, "open_files_limit": 100}, "fd-exhausted"),
        ({"threads": [{"waits_in": "futex_do_wait"}]}, "client-deadlock"),
        ({"cpu_share": 0.99}, "host-starved"),
    ],
)
def test_each_remarkable_state_names_the_classes_that_it_fits(
    process: dict[str, Any], fits: str
) -> None:
    """And says what would decide."""
    (found,) = suggestions(looked(process))
    assert fits in found.fits
    assert "agent 7" in found.about
    assert found.decide


def test_what_moved_between_the_looks_is_not_remarkable() -> None:
    """Unread bytes of a connection that gets on are no sign of anything."""
    assert suggestions(looked(socket(unread_bytes=900, stood_still=False))) == []


def test_an_accept_queue_and_a_log_speak_of_their_hop() -> None:
    """A log is quoted by what it means, and not believed."""
    hop = {"accept_queue": 3, "log_tail": ["x upstream timed out (110) while reading", "fine"]}
    queue, log = suggestions(looked(hop=hop))
    assert queue.about == log.about == "edge"
    assert "fd-exhausted" in queue.fits
    assert log.fits == ()


def test_the_case_keeps_what_a_log_means_and_none_of_its_lines() -> None:
    """Engines write prompts into their logs."""
    lines = ["prompt: my secret diary", "socket() failed (24: Too many open files)"]
    kept = recorded(looked({"stack": ["secret diary"]}, {"log_tail": lines}))
    assert "diary" not in json.dumps(kept)
    assert kept["hops"][0]["log_signals"] == {"too many open files": 1}  # type: ignore[index,call-overload]  # JSON
    assert log_signals(None) == {}


LOST: dict[str, Any] = {"client_port": 7, "server": "10.0.0.3", "server_port": 8000, "near": True}


@pytest.mark.parametrize(
    ("seen", "fits"),
    [
        ({"turns": [{"begun_ns": 1, "sent_ns": 1, "unanswered": 2}]}, "silent-drop"),
        ({"opened_ns": 1, "syn_again": 2}, "silent-drop"),
        ({"answered_ns": 2, "opened_ns": 1, "server_zero_windows": 1}, "scheduler-stuck"),
        ({"ends": [{"who": "server", "how": "reset", "at_ns": 5}]}, "stale-reuse"),
        ({"ends": [{"who": "client", "how": "reset", "at_ns": 5}]}, "client-timer"),
    ],
    ids=["sent again", "no handshake", "does not read", "server resets", "client resets"],
)
def test_what_packets_showed_between_the_looks_is_named(seen: dict[str, Any], fits: str) -> None:
    """With the connection; a FIN behind an answer is no news."""
    connection: dict[str, Any] = {**LOST, "first_ns": 1, "last_ns": 9, **seen}
    packets: dict[str, Any] = {"since_ns": 0, "until_ns": 9, "connections": [connection]}
    (found,) = suggestions({**looked(), "packets": packets})
    assert fits in found.fits
    assert "10.0.0.3:8000" in found.about
    quiet = {**LOST, "first_ns": 1, "last_ns": 9, "opened_ns": 1, "answered_ns": 2}
    closed = {**quiet, "ends": [{"who": "server", "how": "fin", "at_ns": 5}]}
    assert suggestions({**looked(), "packets": {**packets, "connections": [closed]}}) == []


@pytest.mark.parametrize(
    ("gpus", "saw"),
    [
        ({"gpus": [{"index": 3, "broken": True}]}, "it cannot be used"),
        (
            {"gpus": [{"index": 3, "temperature_c": 93, "slowed": ["hw_thermal_slowdown"]}]},
            "its clocks are held down at 93 degrees: too hot (hardware)",
        ),
        (
            {"kernel": [{"word": "xid", "code": 79, "bus": "65:00", "age_s": 600.0}]},
            "Xid 79, 10 min ago: fell off the bus",
        ),
        (
            {"kernel": [{"word": "killed-for-memory", "code": 0, "age_s": 120.0}]},
            "2 min ago its kernel killed a process for want of memory",
        ),
        ({"error": "lost"}, "`nvidia-smi` cannot reach one, or did not answer"),
    ],
)
def test_gpus_that_failed_or_are_held_down_are_worth_a_look(gpus: dict[str, Any], saw: str) -> None:
    """Each says what was seen; one look convicts no GPU either."""
    (found,) = suggestions({**looked(), "gpus": gpus})
    assert found.saw == saw
    assert found.fits


@pytest.mark.parametrize(
    "gpus",
    [
        {"gpus": [{"index": 0, "busy": 1.0, "slowed": ["sw_power_cap"]}], "error": None},
        {"kernel": [{"word": "xid", "code": 79, "bus": "65:00", "age_s": 90_000.0}]},
        {"kernel": [{"word": "xid", "code": 31, "bus": "65:00", "age_s": 6.0}]},
        {"error": "failed"},
    ],
)
def test_gpus_at_work_and_old_messages_are_no_news(gpus: dict[str, Any]) -> None:
    """A power limit is reached in healthy work; a page fault is a program's own."""
    assert suggestions({**looked(), "gpus": gpus}) == []


def test_a_watchdog_that_was_only_set_up_has_not_spoken() -> None:
    """Engines say so when they start."""
    set_up = "[2026-12-01 02:47:31] Watchdog TokenizerManager initialized."
    spoke = "[2026-12-01 02:47:31] Scheduler watchdog timeout (self.watchdog_timeout=300)"
    assert log_signals([set_up, spoke]) == {"a watchdog spoke": 1}
