"""One small GET, for metrics pages and health checks; never for probes.

The standard library's client runs in a thread: these pages are read a few times a second at
most, and no timing is taken from them beyond "how long did the page take".
"""

from __future__ import annotations

import asyncio
import http.client
from urllib.parse import urlsplit

from exonerate.core.ports import Page
from exonerate.core.version import USER_AGENT

BODY_LIMIT = 8 << 20


async def get_page(url: str, *, timeout_s: float) -> Page:
    """GET `url`; a failure is an observation and comes back in `error`."""
    try:
        return await asyncio.wait_for(
            asyncio.to_thread(_get, url, timeout_s), timeout=2 * timeout_s + 1
        )
    except TimeoutError:
        return Page(None, "", f"no answer within {timeout_s:g} s")


def _get(url: str, timeout_s: float) -> Page:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    assert parts.hostname is not None
    connection = kind(parts.hostname, parts.port, timeout=timeout_s)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("GET", target, headers={"User-Agent": USER_AGENT})
        answer = connection.getresponse()
        text = answer.read(BODY_LIMIT).decode("utf-8", "replace")
        return Page(answer.status, text, None, tuple(answer.getheaders()))
    except TimeoutError:
        return Page(None, "", f"no answer within {timeout_s:g} s")
    except (OSError, http.client.HTTPException) as error:
        return Page(None, "", str(error) or type(error).__name__)
    finally:
        connection.close()
