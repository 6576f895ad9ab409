"""Which code and which scenario made a result, so that a stale one is seen to be stale."""

from __future__ import annotations

import functools
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.version import VERSION

PACKAGE = Path(__file__).resolve().parents[1]
DECIDING = ("core", "adapters", "jobs", "lab/faulty_proxy", "lab/scripted_engine")
"""The folders whose code can change what a scenario does or what is said about it."""
SHOWN = 12


@dataclass(frozen=True, slots=True)
class Provenance:
    """`code` is a digest of the deciding code; `commit` names it for people, where git knows."""

    version: str
    code: str
    commit: str


@functools.cache
def provenance() -> Provenance:
    """Of the code that runs now."""
    digest = hashlib.sha256()
    for folder in DECIDING:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode())
            digest.update(path.read_bytes())
    return Provenance(VERSION, digest.hexdigest()[:SHOWN], _commit())


def file_digest(path: Path) -> str:
    """Of a scenario's file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:SHOWN]


def _commit() -> str:
    """The commit of the checkout that the code lies in, `+` behind it when files differ."""
    git = ["git", "-C", str(PACKAGE)]
    try:
        found = subprocess.run(
            [*git, "describe", "--always", "--abbrev=9", "--exclude=*", "--dirty=+"],
            capture_output=True,
            text=True,
            check=False,
        )
        tracked = subprocess.run(
            [*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=False
        )
    except FileNotFoundError:
        return ""
    # An installed copy may lie inside the checkout of something else.
    return found.stdout.strip() if found.returncode == 0 and tracked.returncode == 0 else ""
