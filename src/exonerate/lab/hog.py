"""Programs that take processor time, as a noisy neighbour does.

python -m exonerate.lab.hog --count 8 --cpu 0
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

SPINS = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute nothing in so many processes until a signal ends them."""
    options = _parser().parse_args(arguments)
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    children = [_spinning_child() for _ in range(options.count)]
    sys.stderr.write(f"{len(children)} processes compute\n")
    sys.stderr.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return 0


def _spinning_child() -> int:
    # Blocked before the fork, so that no signal comes between it and `sigwait`.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    child = os.fork()
    if child == 0:
        # A session of its own: the kernel may share a processor out by session (autogroups), and
        # all of them together would then take no more than one program does.
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
        _spin(os.getppid())
    return child


def _spin(parent: int) -> None:
    """Spin for as long as the parent lives: a killed one must not leave a busy machine."""
    while os.getppid() == parent:
        for _ in range(SPINS):
            pass
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.hog", description="Processes that take processor time."
    )
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--cpu", type=int, metavar="N", help="the one processor they run on")
    parser.add_argument("--base-url", help="not used: it asks nobody")
    parser.add_argument("--model", help="not used")
    parser.add_argument("--seed", type=int, help="not used")
    return parser


if __name__ == "__main__":
    sys.exit(main())
