"""The scripted engine of `paced_engine.py`, with the pages that other clients ask for.

    python benchmarks/run_peers_engine.py --port 8123 --mode step:0.01 --tokens 100

Clients look for a model list and for health before they begin, and some send `GET /metrics`. The
answers to completions are those of `paced_engine.py`; so is the note of when each event was sent.
"""

from __future__ import annotations

import argparse
import json

import paced_engine
from paced_engine import Engine, Stream, event

MODEL = "mock"
PAGES = {
    b"/v1/models": {
        "object": "list",
        "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "scripted"}],
    },
    b"/health": {},
    b"/version": {"version": "0"},
}


# One event for both endpoints: a chat client reads `delta`, one of `/v1/completions` reads `text`.
BOTH = event(
    b'"choices":[{"index":0,"delta":{"content":" hello"},"text":" hello","finish_reason":null}]'
)


class PeersEngine(Engine):
    """Serves until it is killed."""

    def page(self, stream: Stream, path: bytes) -> None:
        """The known pages, those of the counters, and 404 for every other one."""
        known = path.partition(b"?")[0]
        if known in (b"/sent", b"/stats"):
            super().page(stream, known)
            return
        body = json.dumps(PAGES.get(known, {})).encode()
        status = b"200 OK" if known in PAGES else b"404 Not Found"
        stream.sock.setblocking(True)
        stream.sock.sendall(
            b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (status, len(body), body)
        )
        stream.sock.setblocking(False)


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--mode", default="step:0.01")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--delay", type=float, default=0.05)
    options = parser.parse_args()
    paced_engine.TOKEN = BOTH
    delay_s = options.delay if options.mode != "inter" else 0.0
    PeersEngine(options.port, options.mode, options.tokens, delay_s).serve()


if __name__ == "__main__":
    main()
