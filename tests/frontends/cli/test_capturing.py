"""Which packets are asked for: ports of hops, and addresses that are not this host's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.capturing import addresses_elsewhere, capture_of

DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")


def test_only_addresses_of_other_hosts_are_watched_whole() -> None:
    """Everything that runs on this host shares its own ones; a name is no address."""
    urls = ("http://127.0.0.1:8080", "http://192.0.2.7:8080", "http://engine:8000")
    hops = [replace(hop, url=url) for hop, url in zip(DEPLOYMENT.hops, urls, strict=True)]
    assert addresses_elsewhere(replace(DEPLOYMENT, hops=tuple(hops))) == ["192.0.2.7"]


def test_nothing_is_captured_that_was_not_asked_for() -> None:
    """And more than a filter can hold is refused before anything is."""
    with capture_of(DEPLOYMENT, wanted=False) as capture:
        assert capture is None
    hops = [replace(DEPLOYMENT.hops[0], url=f"http://h:{port}") for port in range(1, 102)]
    with (
        pytest.raises(ExonerateError, match="101 ports"),
        capture_of(replace(DEPLOYMENT, hops=tuple(hops)), wanted=True),
    ):
        raise AssertionError("it was opened")
