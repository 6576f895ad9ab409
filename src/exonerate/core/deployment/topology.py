"""The request path as a tree: which hops lie beyond a hop, and which are the engines."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment, Hop

ENGINE_ROLES = ("engine", "prefill", "decode")


def hop_named(deployment: Deployment, name: str) -> Hop:
    """The hop of that name; it is there, since the deployment has been checked."""
    return next(hop for hop in deployment.hops if hop.name == name)


def hop_port(hop: Hop) -> int:
    """The port that requests to the hop go to."""
    parts = urlsplit(hop.url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def hop_address(hop: Hop) -> str | None:
    """The address in the hop's URL; None where a name stands there."""
    try:
        return str(ip_address(urlsplit(hop.url).hostname or ""))
    except ValueError:
        return None


def beyond(deployment: Deployment, name: str) -> tuple[Hop, ...]:
    """Every hop between this one and the engines, engines included, nearest first."""
    found: list[Hop] = []
    names = {name}
    for hop in deployment.hops:
        if names & set(hop.behind):
            found.append(hop)
            names.add(hop.name)
    return tuple(found)


def next_hops(deployment: Deployment, name: str) -> tuple[Hop, ...]:
    """The hops directly beyond this one."""
    return tuple(hop for hop in deployment.hops if name in hop.behind)


def before(deployment: Deployment, name: str) -> tuple[Hop, ...]:
    """Every hop whose requests pass this one, this one included, outermost first."""
    return tuple(
        hop
        for hop in deployment.hops
        if hop.name == name or any(other.name == name for other in beyond(deployment, hop.name))
    )


def entry_hop(deployment: Deployment) -> Hop:
    """The outermost hop: where the victim's requests enter."""
    return deployment.hops[0]


def is_engine(hop: Hop) -> bool:
    """Whether this hop computes answers itself."""
    return hop.role in ENGINE_ROLES


def probeable(hop: Hop) -> bool:
    """Whether a plain request may be sent at this hop.

    A prefill or decode worker refuses or mangles a plain completion (SGLang answers 400 to one
    without a bootstrap room), so only its counters are read.
    """
    return hop.role not in ("prefill", "decode")
