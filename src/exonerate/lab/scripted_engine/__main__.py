"""`python -m exonerate.lab.scripted_engine --port N [--config FILE] [--echo]`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from exonerate.errors import ExonerateError
from exonerate.lab.scripted_engine.script import EngineScript, read_script
from exonerate.lab.scripted_engine.server import ScriptedEngine


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal ends the process; returns a status only when it could not start."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    options = _parser().parse_args(arguments)
    try:
        script = read_script(options.config) if options.config else EngineScript(echo=options.echo)
        asyncio.run(ScriptedEngine(script).serve(options.host, options.port, _say))
    except ExonerateError as error:
        sys.stderr.write(f"error: {error.problem}\n\nhint: {error.hint}\n")
    except OSError as error:
        sys.stderr.write(
            f"error: cannot serve on {options.host}:{options.port}: {error.strerror}\n"
        )
        sys.stderr.write("\nhint: choose another port with `--port`\n")
    return 2


def _say(url: str) -> None:
    sys.stderr.write(f"serving on {url}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.scripted_engine",
        description="An OpenAI-style engine that behaves as its script says.",
    )
    parser.add_argument("--port", type=int, required=True, help="listen on this port")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML, or JSON by its name")
    parser.add_argument("--echo", action="store_true", help="the known-good control")
    return parser


if __name__ == "__main__":
    sys.exit(main())
