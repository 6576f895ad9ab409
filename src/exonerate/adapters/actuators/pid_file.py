"""Which process we started for a service, so that a later command can stop that very one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from exonerate.adapters.process_table import ProcessIdentity


def write_pid_file(path: Path, identity: ProcessIdentity) -> None:
    """Write the file whole, or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fields = {
        "pid": identity.pid,
        "start_ticks": identity.start_ticks,
        "boot_id": identity.boot_id,
    }
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(fields) + "\n")
    temporary.replace(path)


def read_pid_file(path: Path) -> ProcessIdentity | None:
    """The process of the file; None when there is no file or it cannot be understood."""
    try:
        fields = json.loads(path.read_text())
        return ProcessIdentity(
            int(fields["pid"]), int(fields["start_ticks"]), str(fields["boot_id"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        # A damaged file names nobody; the process is then found by its port.
        return None
