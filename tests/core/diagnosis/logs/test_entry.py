"""The words that all logs are put into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.diagnosis.logs.entry import (
    LogEntry,
    address_of,
    entry_from_json,
    entry_to_json,
    number_of,
    own_id,
    path_of,
    port_of,
)


@given(
    st.builds(
        LogEntry,
        program=st.just("nginx"),
        is_request=st.booleans(),
        status=st.none() | st.integers(100, 599),
        dialled=st.none() | st.booleans(),
        attempts=st.integers(0, 9),
        begun_s=st.none() | st.floats(0, 2e9),
    )
)
def test_an_entry_survives_the_ledger(entry: LogEntry) -> None:
    """What is written is what is read."""
    assert entry_from_json(entry_to_json(entry)) == entry


def test_ids_of_others_are_not_kept() -> None:
    """Only ours has a form that nobody else's has."""
    assert own_id("exonerate-0123456789abcdef") == "exonerate-0123456789abcdef"
    assert own_id("sk-secret-0123456789abcdef") is None


def test_a_query_is_no_part_of_a_path() -> None:
    """It may hold a key."""
    assert path_of("/v1/chat?key=secret") == "/v1/chat"
    assert path_of("http://elsewhere/") is None


@pytest.mark.parametrize("text", ["-", "", "nan", "-1", "inf", "1e400", None, True, [], "x" * 400])
def test_what_is_no_number_is_none(text: object) -> None:
    """Logs write dashes, and worse."""
    assert number_of(text) is None


def test_addresses_and_ports() -> None:
    """With and without brackets; other digits are no port."""
    assert address_of("[::1]:80") == "::1:80"
    assert address_of("behind") is None
    assert port_of("10.0.0.1:8080") == 8080
    assert port_of("٣:٣٣") is None
    assert port_of("1:99999") is None
