"""A launch script whose service answers over HTTP, for the tests of actuators."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from exonerate.core.deployment.model import Service

SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler)\\
    .serve_forever()
"""


@dataclass(frozen=True)
class Site:
    """A folder with a launch script, and the service that it starts."""

    folder: Path
    script: Path
    service: Service
    port: int

    def write(self, *lines: str, last: str = "exec") -> None:
        """Write the script: the lines, then the command that starts the server."""
        command = f"{last} {sys.executable} server.py --port {self.port} --level 3"
        self.script.write_text("\n".join(["#!/bin/bash", *lines, command, ""]))
        self.script.chmod(0o755)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A deployment folder of one service on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "server.py").write_text(SERVER)
    service = Service(
        name="engine",
        hop="engine",
        start=("./serve.sh",),
        ready=f"http://127.0.0.1:{port}/health",
        ready_timeout_s=100.0,
    )
    site = Site(tmp_path, tmp_path / "serve.sh", service, port)
    site.write("export KNOB=5")
    return site
