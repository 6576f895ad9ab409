"""`python -m exonerate.lab.faulty_proxy --listen 127.0.0.1:8080 --upstream URL [--rules FILE]`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from exonerate.errors import ExonerateError
from exonerate.lab.faulty_proxy.parse import read_behaviour
from exonerate.lab.faulty_proxy.rules import Behaviour
from exonerate.lab.faulty_proxy.server import FaultyProxy, Serving, open_log
from exonerate.lab.faulty_proxy.upstream import Address


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal ends the process; returns a status only when it could not start."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    options = _parser().parse_args(arguments)
    host, _, port = options.listen.rpartition(":")
    try:
        proxy = FaultyProxy(
            Serving(
                host=host.strip("[]") or "127.0.0.1",
                port=int(port),
                engine=Address.of(options.upstream),
                behaviour=_source(options.rules),
                log=open_log(options.log),
            )
        )
        asyncio.run(proxy.serve(_say))
    except ExonerateError as error:
        sys.stderr.write(f"error: {error.problem}\n\nhint: {error.hint}\n")
    except OSError as error:
        sys.stderr.write(f"error: cannot serve on {options.listen}: {error.strerror}\n")
        sys.stderr.write("\nhint: choose another port with `--listen`\n")
    return 2


def _source(path: Path | None) -> Callable[[], Behaviour]:
    return Behaviour if path is None else lambda: read_behaviour(path)


def _say(url: str) -> None:
    sys.stderr.write(f"serving on {url}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.faulty_proxy",
        description="A reverse proxy that is neutral until a rule tells it to misbehave.",
        epilog="SIGHUP reads the rules again. The grammar of rules: docs/lab.md.",
    )
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--upstream", required=True, metavar="URL")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="TOML, or JSON by its name")
    parser.add_argument("--log", type=Path, metavar="FILE", help="one JSON line per request")
    return parser


if __name__ == "__main__":
    sys.exit(main())
