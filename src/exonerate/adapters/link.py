"""How a hop is reached beside its address: which version of HTTP, and whose certificates count."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from exonerate.core.deployment.model import Deployment, Hop, HttpVersion
from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True)
class Link:
    """What the deployment says of a hop; the default is what clients of LLM services do.

    `http` is the version that is spoken: "2" from the first byte on, "auto" what the hop chooses
    in its TLS handshake, and 1.1 without TLS. `ca` is a file of certificates that count instead of
    the system's.
    """

    http: HttpVersion = "1.1"
    ca: str | None = None

    def protocols(self) -> list[str]:
        """What a TLS handshake offers (RFC 7301), the dearest first."""
        match self.http:
            case "2":
                return ["h2"]
            case "auto" if http2_is_there():
                return ["h2", "http/1.1"]
            case _:
                return ["http/1.1"]


USUAL = Link()
"""A hop of which nothing is said."""


def link_of(hop: Hop, folder: str | Path) -> Link:
    """The link of a hop; the paths of its deployment begin in that folder."""
    return Link(http=hop.http, ca=str(Path(folder) / hop.ca) if hop.ca else None)


def links_of(deployment: Deployment) -> dict[str, Link]:
    """The link of every hop, by its name."""
    return {hop.name: link_of(hop, deployment.folder) for hop in deployment.hops}


def check_load(link: Link) -> None:
    """Whether load can be sent over this link.

    Raises:
        ExonerateError: the hop speaks HTTP/2 only; the load generator speaks HTTP/1.1.
    """
    if link.http == "2":
        raise ExonerateError(
            'load is sent over HTTP/1.1, and the hop has `http = "2"`',
            "send it to the hop behind it, or to one that speaks HTTP/1.1 as well",
        )


def http2_is_there() -> bool:
    """The extra `h2` is installed."""
    return find_spec("h2") is not None


def check_link(link: Link) -> None:
    """Whether this installation can reach a hop like this.

    Raises:
        ExonerateError: HTTP/2 is asked for and the extra is missing.
    """
    if link.http == "2" and not http2_is_there():
        raise ExonerateError(
            'a hop has `http = "2"`, and HTTP/2 is not installed', "pip install exonerate[h2]"
        )
