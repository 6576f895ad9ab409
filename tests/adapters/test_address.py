"""URLs of hops."""

from __future__ import annotations

import pytest

from exonerate.adapters.address import Address, parse_address
from exonerate.errors import ExonerateError


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8000", Address("127.0.0.1", 8000, False)),
        ("https://api.example.com/base/", Address("api.example.com", 443, True, "/base")),
        ("http://[::1]:80/", Address("::1", 80, False)),
    ],
)
def test_a_url_names_host_port_and_base(url: str, address: Address) -> None:
    """Default ports, IPv6 brackets and base paths are understood."""
    assert parse_address(url) == address


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x", "http://", "http://x:99999"])
def test_what_is_no_url_is_refused_with_an_example(url: str) -> None:
    """The operator is told what a URL looks like."""
    with pytest.raises(ExonerateError) as raised:
        parse_address(url)
    assert "http://127.0.0.1" in raised.value.hint


def test_the_host_header_names_a_port_only_where_needed() -> None:
    """Default ports are left out, IPv6 hosts are bracketed."""
    assert parse_address("http://x:80").authority == "x"
    assert parse_address("http://[::1]:81").authority == "[::1]:81"


def test_endpoints_go_under_the_base_path() -> None:
    """A hop mounted under a path is addressed there."""
    assert parse_address("http://x/base").target("/v1/models") == "/base/v1/models"
