"""A mark of the process that runs an experiment, so that another can see whether it still does."""

from __future__ import annotations

import os
import platform

from exonerate.adapters.process_table import ProcessIdentity, identity_of, is_alive


def own_mark() -> str:
    """Host, pid, start and boot of this process, in one text without spaces inside a part."""
    identity = identity_of(os.getpid())
    assert identity is not None
    return f"{platform.node()} {identity.pid} {identity.start_ticks} {identity.boot_id}"


def owner_is_alive(mark: str) -> bool:
    """Whether the process of the mark still lives; one on another host is taken to."""
    host, pid, start_ticks, boot_id = mark.rsplit(" ", 3)
    if host != platform.node():
        return True
    return is_alive(ProcessIdentity(int(pid), int(start_ticks), boot_id))
