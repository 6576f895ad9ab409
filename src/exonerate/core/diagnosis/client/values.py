"""The values that signs about the client can take; defined in `signs`."""

from __future__ import annotations

from collections.abc import Mapping

CLIENT_VALUES: Mapping[str, tuple[str, ...]] = {
    "client-exit": ("well", "failed", "stopped"),
    "client-stood": ("not", "waiting", "unread", "holding", "locked", "busy", "idle"),
    "client-closes": ("never", "half", "constant", "once", "varying"),
    "client-reuse": ("sound", "after-close"),
    "client-repeats": ("no", "answered"),
    "client-route": ("tap", "env-proxy", "elsewhere", "nowhere"),
    "wire": ("ok", "errors", "bad"),
    "own-probe": ("ok", "late", "fails"),
    "half-close-probe": ("ok", "fails"),
    "idle-probe": ("kept", "closed"),
}
