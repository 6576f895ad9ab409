"""One small GET, for metrics pages and health checks; never for probes.

The standard library's client runs in a thread: these pages are read a few times a second at
most, and no timing is taken from them beyond "how long did the page take". A page that trickles
in for ever would keep its thread, and with it the program, so its connection is cut at the limit.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from urllib.parse import urlsplit

from exonerate.adapters.address import Address, parse_address
from exonerate.adapters.link import Link
from exonerate.adapters.tls import tls_context, tls_problem
from exonerate.core.ports import Page
from exonerate.core.version import USER_AGENT

BODY_LIMIT = 8 << 20


async def get_page(
    url: str, *, timeout_s: float, cas: Mapping[str, str] = MappingProxyType({})
) -> Page:
    """GET `url`; a failure is an observation and comes back in `error`.

    `cas`: host and port -> file of the certificates that count there instead of the system's.
    """
    fetch = _Fetch(url, timeout_s, cas)
    try:
        async with asyncio.timeout(2 * timeout_s + 1):
            return await asyncio.to_thread(fetch.page)
    except TimeoutError:
        return _late(timeout_s)
    finally:
        fetch.cut()


class _Fetch:
    """One GET in a thread, which another thread can cut off."""

    def __init__(self, url: str, timeout_s: float, cas: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._connection = connection_to(parse_address(url), timeout_s=timeout_s, cas=cas)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout_s = timeout_s
        self._is_cut = False
        self._socket: socket.socket | None = None
        self._local_port: int | None = None

    def page(self) -> Page:
        """The page, or why there is none."""
        connection = self._connection
        try:
            connection.connect()
            self._socket = connection.sock  # the answer takes it away from the connection
            self._local_port = connection.sock.getsockname()[1]
            if self._is_cut:
                return _late(self._timeout_s)
            connection.request("GET", self._target, headers={"User-Agent": USER_AGENT})
            answer = connection.getresponse()
            content = answer.read(BODY_LIMIT)
            if len(content) == BODY_LIMIT:
                # It would take seconds to understand, a few times a second, and is no such page.
                return Page(None, "", f"it is longer than {BODY_LIMIT >> 20} MiB")
            text = content.decode("utf-8", "replace")
            return Page(answer.status, text, None, tuple(answer.getheaders()), self._local_port)
        except TimeoutError:
            return _late(self._timeout_s)
        except ssl.SSLError as error:
            return Page(None, "", tls_problem(error))
        except (OSError, http.client.HTTPException, ValueError) as error:
            # ValueError: a host name or a target that cannot be put into a request.
            return Page(None, "", str(error) or type(error).__name__)
        finally:
            connection.close()

    def cut(self) -> None:
        """End the exchange wherever it is; does nothing to one that has ended."""
        self._is_cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def connection_to(
    address: Address, *, timeout_s: float, cas: Mapping[str, str] = MappingProxyType({})
) -> http.client.HTTPConnection:
    """A connection of the standard library, not yet open; `cas` as for `get_page`."""
    if not address.secure:
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    context = tls_context(Link(ca=cas.get(address.authority)))
    return http.client.HTTPSConnection(
        address.host, address.port, timeout=timeout_s, context=context
    )


def _late(timeout_s: float) -> Page:
    return Page(None, "", f"no answer within {timeout_s:g} s")
