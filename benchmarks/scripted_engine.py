"""Starts a scripted engine in a process of its own, and asks it for its pages."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
START_TRIES = 100
TRY_EVERY_S = 0.05
PAGE_TRIES = 3


@contextmanager
def scripted_engine(program: str, *, port: int, mode: str, tokens: int) -> Iterator[str]:
    """The engine of a program in this folder, until the block ends; gives its URL."""
    url = f"http://127.0.0.1:{port}"
    # Another program at this port would answer for the engine.
    socket.create_server(("127.0.0.1", port)).close()
    command = [sys.executable, str(FOLDER / program), "--port", str(port)]
    process = subprocess.Popen([*command, "--mode", mode, "--tokens", str(tokens)])
    try:
        page(url, "stats", tries=START_TRIES)
        yield url
    finally:
        process.kill()
        process.wait()


def page(url: str, path: str, *, tries: int = PAGE_TRIES) -> Any:
    """One of the engine's own pages; asked again while the engine is starting or very busy."""
    for _ in range(tries - 1):
        try:
            return _page(url, path)
        except OSError:
            time.sleep(TRY_EVERY_S)
    return _page(url, path)


def _page(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}/{path}", timeout=60) as answer:
        return json.load(answer)
