"""A small engine that speaks `/v1/messages` and `/v1/responses`, streamed and whole.

`python tests/support/dialect_engine.py PORT SILENCE_S`: it says nothing for so long, then answers.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = (" the", " river", " keeps", " its", " course", " and", " stones", " remain")
PACE_S = 0.05
Body = dict[str, Any]


def whole(path: str) -> Body:
    """An answer in one piece."""
    text = "".join(WORDS)
    if path.endswith("/messages"):
        return {
            "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": len(WORDS)},
        }  # fmt: skip
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    usage = {"input_tokens": 9, "output_tokens": len(WORDS)}
    return {"object": "response", "status": "completed", "output": [message], "usage": usage}


def events(path: str) -> list[Body]:
    """The same as the events of a stream."""
    if path.endswith("/messages"):
        said = [
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}}
            for word in WORDS
        ]
        last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        return [{"type": "message_start", "message": {}}, *said, last, {"type": "message_stop"}]
    said = [{"type": "response.output_text.delta", "delta": word} for word in WORDS]
    return [*said, {"type": "response.completed", "response": whole(path)}]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    silence_s = 0.0

    def do_POST(self) -> None:
        """Read the request, wait, answer."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(self.silence_s)
        self.send_response(200)
        if asked.get("stream"):
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for event in events(self.path):
                piece = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
                time.sleep(PACE_S)
            self.wfile.write(b"0\r\n\r\n")
            return
        body = json.dumps(whole(self.path)).encode()
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    Handler.silence_s = float(sys.argv[2])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
