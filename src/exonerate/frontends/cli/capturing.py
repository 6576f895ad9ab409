"""`--packets`: the capture that stands while a command runs."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager, nullcontext

from exonerate.adapters.packet_capture import StandingCapture, open_capture
from exonerate.compose import system_clock
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import hop_address, hop_port


def capture_of(
    deployment: Deployment | None, *, wanted: bool
) -> AbstractContextManager[StandingCapture | None]:
    """Packets of the hops' ports and of their addresses elsewhere; None where not wanted.

    What else a hop on another host or in a container sends shows whether its requests go to
    somebody whom nobody named. The addresses of this host stand for everything that runs on it.

    Raises:
        ExonerateError: this process may not capture packets.
    """
    if deployment is None or not wanted:
        return nullcontext()
    ports = (hop_port(hop) for hop in deployment.hops)
    return open_capture(ports, system_clock(), addresses=addresses_elsewhere(deployment))


def addresses_elsewhere(deployment: Deployment) -> list[str]:
    """The addresses in the URLs of hops that are not this host's."""
    found = (hop_address(hop) for hop in deployment.hops)
    return [address for address in found if address is not None and not _is_ours(address)]


def _is_ours(address: str) -> bool:
    """Whether this host has the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
