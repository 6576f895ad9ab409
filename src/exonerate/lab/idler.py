"""Connections that are opened and then left alone, as forgotten pools and dead tabs leave them.

python -m exonerate.lab.idler --base-url URL --count 60
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

FOREVER_S = 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the connections and hold them until a signal ends the process."""
    options = _parser().parse_args(arguments)
    parts = urlsplit(options.base_url)
    held = []
    for _ in range(options.count):
        held.append(socket.create_connection((parts.hostname or "", parts.port or 80)))
        time.sleep(options.pause)
    sys.stderr.write(f"holding {len(held)} connections\n")
    sys.stderr.flush()
    time.sleep(FOREVER_S)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.idler",
        description="Connections that are opened and then left alone.",
    )
    parser.add_argument("--base-url", required=True, metavar="URL")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.005, metavar="S")
    parser.add_argument("--model", help="not used: idle connections ask for nothing")
    parser.add_argument("--seed", type=int, help="not used")
    return parser


if __name__ == "__main__":
    sys.exit(main())
