"""How a hop is reached, as the deployment says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.adapters.link import Link, check_load, link_of
from exonerate.core.deployment.model import Hop
from exonerate.core.deployment.parse import parse_deployment
from exonerate.errors import ExonerateError

TEXT = """\
[deployment]
model = "m"

[[hop]]
name = "edge"
role = "proxy"
url = "https://edge.example:8443"
%s
"""


def hop_with(line: str) -> Hop:
    """The hop of a deployment with one more line."""
    return parse_deployment(TEXT % line, path="exonerate.toml", folder="/srv").hops[0]


def test_a_hop_of_which_nothing_is_said_is_asked_like_clients_do() -> None:
    """HTTP/1.1 and the system's certificates."""
    link = link_of(hop_with(""), "/srv")
    assert link == Link()
    assert link.protocols() == ["http/1.1"]


@pytest.mark.parametrize(
    ("http", "offered"), [("1.1", ["http/1.1"]), ("2", ["h2"]), ("auto", ["h2", "http/1.1"])]
)
def test_the_deployment_chooses_what_is_offered(http: str, offered: list[str]) -> None:
    """Only `auto` leaves the choice to the hop."""
    assert link_of(hop_with(f'http = "{http}"'), "/srv").protocols() == offered


def test_a_certificate_lies_beside_the_deployment_file(tmp_path: Path) -> None:
    """Its path begins in the folder of the file, whatever folder the command runs in."""
    assert link_of(hop_with('ca = "ca.pem"'), tmp_path).ca == str(tmp_path / "ca.pem")
    assert link_of(hop_with('ca = "/etc/ca.pem"'), tmp_path).ca == "/etc/ca.pem"


def test_another_version_is_refused_with_its_line() -> None:
    """A number, or a version that there is not, names what would be right."""
    for wrong in ("2", '"3"', '"h2"'):
        with pytest.raises(ExonerateError, match=r'exonerate\.toml:8: .*one of "1.1", "2", "auto"'):
            hop_with(f"http = {wrong}")


def test_load_is_not_sent_to_a_hop_of_http2_alone() -> None:
    """The operator is told where it can go, before anything is sent."""
    check_load(Link(http="auto"))
    with pytest.raises(ExonerateError, match=r"HTTP/1\.1") as caught:
        check_load(Link(http="2"))
    assert "hop behind it" in caught.value.hint
