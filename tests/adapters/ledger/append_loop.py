"""A program that appends to a ledger and says which records were acknowledged.

Usage: append_loop.py ADDRESS KEY_FOLDER CASE COUNT
"""

from __future__ import annotations

import sys
from pathlib import Path

from exonerate.adapters.ledger import open_ledger
from exonerate.core.instant import Instant


class StoppedClock:
    """A clock that always shows the same time."""

    def now(self) -> Instant:
        """Always zero."""
        return Instant(0)

    def wall(self) -> str:
        """Always the same."""
        return "2026-01-01T00:00:00.000000Z"


def main(address: str, key_folder: str, case: str, count: str) -> None:
    """Append `count` comments, each with some weight so that it spans pages."""
    ledger = open_ledger(
        address, clock=StoppedClock(), key_folder=Path(key_folder), lock_wait_s=60.0
    )
    for number in range(int(count)):
        record = ledger.append(
            case=case, kind="comment", body={"text": f"{number} " + "x" * 3000, "by": case}
        )
        sys.stdout.write(f"{record.seq}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
