"""Idle connections that use up a process's file descriptors."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from exonerate.lab.processes import start_program


def test_connections_are_opened_and_stay(tmp_path: Path) -> None:
    """As many connections as asked for arrive, send nothing, and stay open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        argv = [sys.executable, "-m", "exonerate.lab.idler", "--base-url", url]
        with start_program([*argv, "--count", "5", "--pause", "0"], log=tmp_path / "log"):
            server.settimeout(60)
            held = [server.accept()[0] for _ in range(5)]
            for connection in held:
                connection.setblocking(False)
            silent = 0
            for connection in held:
                try:
                    assert connection.recv(1) != b""
                except BlockingIOError:
                    silent += 1
            assert silent == 5
        for connection in held:
            connection.close()
