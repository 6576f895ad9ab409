"""Lines of a real Envoy: response flags in our words."""

from pathlib import Path

import pytest

from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.envoy import parse_envoy

DATA = Path(__file__).parents[3] / "data" / "logs"


def told(file: str) -> dict[str | None, LogEntry]:
    """Entries by request id."""
    lines = (DATA / file).read_text().splitlines()
    return {one.request_id: one for line in lines if (one := parse_envoy(line)) is not None}


@pytest.mark.parametrize("file", ["envoy-json.log", "envoy-text.log"])
def test_both_formats_say_who_ended_it(file: str) -> None:
    """Idle stream, timer before the head, a client that left, a cut, a refusal, a passed-on 400."""
    entries = told(file)
    ends = [entries[f"exonerate-{number:016x}"].end for number in range(1, 9)]
    assert ends == ["---", "sZD", "sZH", "cFD", "cFH", "sXD", "sXK", "sXH"]
    assert all(entry.dialled for entry in entries.values())


def test_the_json_format_counts_tries_and_bytes() -> None:
    """Two retries after the first refusal; bytes that the next hop sent."""
    entries = told("envoy-json.log")
    assert entries["exonerate-0000000000000007"].attempts == 3
    assert entries["exonerate-0000000000000001"].upstream_bytes == 1503
    assert entries["exonerate-0000000000000001"].client_port == 45500


@pytest.mark.parametrize("flag", ["UH", "UO", "NR", "RL"])
def test_flags_of_its_own_refusal_mean_that_nothing_was_sent(flag: str) -> None:
    """Nobody healthy, a breaker, no route, a rate limit: Envoy itself said no."""
    line = (DATA / "envoy-json.log").read_text().splitlines()[7].replace('"-"', f'"{flag}"')
    entry = parse_envoy(line.replace('"upstream":"127.0.0.1:47595"', '"upstream":null'))
    assert entry is not None
    assert (entry.dialled, entry.end) == (False, "hXQ")
    assert entry.no_worker is (flag in ("UH", "UO"))
