"""The launch script of the lab's engine: what an operator would have written, with its knobs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HEADER = """\
#!/usr/bin/env bash
# Serves {alias} on 127.0.0.1:{port}. The deployment file names this script as a service.
set -euo pipefail

# Tuning: measured on this host, see the benchmark document before changing a line.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchScript:
    """What the script starts and which variables it exports, in this order."""

    python: str
    model: Path
    port: int
    alias: str = "smollm2"
    exports: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)


def launch_script_text(script: LaunchScript) -> str:
    """A bash script that exports the knobs and becomes (`exec`) the embedded engine."""
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in script.exports.items()
    )
    command = [shlex.quote(script.python), "-m exonerate.lab.embedded_engine"]
    options = {"--model": str(script.model), "--port": str(script.port), "--alias": script.alias}
    lines = [f"{flag} {shlex.quote(value)}" for flag, value in {**options, **script.flags}.items()]
    body = "exec " + " \\\n  ".join([" ".join(command), *lines]) + "\n"
    return HEADER.format(alias=script.alias, port=script.port) + exports + "\n" + body


def write_launch_script(path: Path, script: LaunchScript) -> Path:
    """Write the script, executable; returns its path."""
    path.write_text(launch_script_text(script))
    path.chmod(0o755)
    return path
