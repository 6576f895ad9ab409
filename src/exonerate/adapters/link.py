"""How a hop is reached beside its address: which version of HTTP, and whose certificates count."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias

from exonerate.errors import ExonerateError

HttpVersion: TypeAlias = Literal["1.1", "2", "auto"]


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
