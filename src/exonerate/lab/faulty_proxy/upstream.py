"""Connections to the engine: kept per client connection, looked at before they are used again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

from exonerate.lab.duplex import Duplex
from exonerate.lab.faulty_proxy.rules import Upstream


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine listens."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Address:
        """The address in a URL."""
        parts = urlsplit(url)
        return cls(parts.hostname or "127.0.0.1", parts.port or 80)


class UpstreamLost(Exception):
    """The engine could not be reached."""


class EngineConnections:
    """The one kept engine connection of a client connection."""

    def __init__(self, settings: Upstream, changed: asyncio.Event) -> None:
        self._settings = settings
        self._changed = changed
        self._kept: Duplex | None = None

    async def checked_out(self, address: Address) -> tuple[Duplex, bool]:
        """A connection, and whether it has carried a request before."""
        kept, self._kept = self._kept, None
        if kept is not None:
            blind = self._settings.stale != "retry"
            if blind or not kept.gone:
                kept.received_bytes = 0
                return kept, True
            kept.close()
        return await self.fresh(address), False

    async def fresh(self, address: Address) -> Duplex:
        """A new connection.

        Raises:
            UpstreamLost: refused, or not answered in time.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._settings.connect_timeout_s):
                _, duplex = await loop.create_connection(
                    lambda: Duplex(self._changed), address.host, address.port
                )
        except (OSError, TimeoutError) as error:
            raise UpstreamLost(str(error) or "timed out") from error
        return duplex

    def keep(self, duplex: Duplex) -> None:
        """Take back a connection whose answer is whole."""
        if self._settings.reuse and self._kept is None and not duplex.incoming:
            self._kept = duplex
        else:
            duplex.close()

    def close(self) -> None:
        """Close what is kept."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None
