"""Our own request ids: the only ones that are ever kept."""

from __future__ import annotations

import re

_OWN = re.compile(r"exonerate-[0-9a-f]{16}")


def own_request_id(value: object) -> str | None:
    """The value when it is an `x-request-id` of a probe of ours."""
    return value if isinstance(value, str) and _OWN.fullmatch(value) else None
