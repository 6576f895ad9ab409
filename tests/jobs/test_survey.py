"""Looking at hops that answer strangely."""

import asyncio
import json

import pytest

from exonerate.core.deployment.model import Hop
from exonerate.core.ports import Page
from exonerate.jobs.survey import HopView, draft_deployment, look_at_hop

HOP = Hop(name="engine", role="engine", url="http://h", metrics="http://h/metrics")


def looked_at(text: str, server: str = "nginx") -> HopView:
    """The hop when every page of it has this text."""

    async def get(url: str, *, timeout_s: float) -> Page:
        return Page(200, text, None, (("Server", server),))

    return asyncio.run(look_at_hop(HOP, get, lambda page: (None, {})))


def test_the_models_and_the_server_are_shown() -> None:
    """As the hop names them."""
    view = looked_at(json.dumps({"data": [{"id": "dsv4"}]}))
    assert (view.models, view.server, view.reachable) == (("dsv4",), "nginx", True)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"data": 3}', "[" * 100_000, "\x00"])
def test_a_model_list_that_is_none_is_empty(text: str) -> None:
    """Also one that is nested without an end."""
    assert looked_at(text).models == ()


def test_a_hop_cannot_steer_the_terminal() -> None:
    """Control letters in what it says of itself are replaced."""
    view = looked_at(json.dumps({"data": [{"id": "\x1b[31mred\ud800"}]}), server="\x1b]0;x\x07")
    assert view.models[0].isprintable()
    assert str(view.server).isprintable()


@pytest.mark.parametrize(("url", "hinted"), [("https://h:8443", True), ("http://h:8000", False)])
def test_a_hop_behind_tls_is_drafted_with_a_place_for_its_authority(url: str, hinted: bool) -> None:
    """A certificate that is not known here is seen, and the key that helps stands beside it."""

    async def get(url: str, *, timeout_s: float) -> Page:
        return Page(None, "", "the certificate is signed by nobody whom this host knows")

    text = asyncio.run(draft_deployment([url], "m", get, lambda page: (None, {})))
    assert "not reachable from here: the certificate" in text
    assert ('# ca = "ca.pem"' in text) == hinted
