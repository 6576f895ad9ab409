"""A scripted engine that knows when it sent each event.

    python benchmarks/paced_engine.py --port 8123 --mode step:0.01 --tokens 100

It speaks just enough of the chat API: every POST gets a stream of `tokens` events, one chunk
each, then finish, usage and `[DONE]`. Modes:

- `step:SECONDS`: like an engine step, every SECONDS all running streams get one event; the first
  comes at the first step that begins at least `--delay` seconds after the request;
- `inter`: no delay at all, one event for each stream in turn, so that streams interleave.

`GET /stats` gives counters and CPU time. `GET /sent` gives, for each finished request, its
`x-request-id`, the kernel's receive stamp of the request and the monotonic time just before each
event was sent, all in nanoseconds; then forgets them.
"""

from __future__ import annotations

import argparse
import json
import resource
import select
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, field

SO_TIMESTAMPNS = 35
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)
BASE = b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"mock",'


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


def event(rest: bytes) -> bytes:
    """One event of the stream, as a chunk."""
    return chunk(BASE + rest + b"}\n\n")


TOKEN = event(b'"choices":[{"index":0,"delta":{"content":" hello"},"finish_reason":null}]')
FINISH = event(b'"choices":[{"index":0,"delta":{},"finish_reason":"length"}]')
LAST = chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


@dataclass(slots=True)
class Stream:
    """One connection and the answer that it is getting."""

    sock: socket.socket
    received: bytes = b""
    request_id: str = ""
    asked_ns: int = 0
    first_ns: int = 0
    left: int = 0
    sent_ns: list[int] = field(default_factory=list)


class Engine:
    """Serves until it is killed."""

    def __init__(self, port: int, mode: str, tokens: int, delay_s: float) -> None:
        self.step_ns = int(float(mode.partition(":")[2]) * 1e9) if mode.startswith("step") else 0
        self.tokens = tokens
        self.delay_ns = int(delay_s * 1e9)
        self.epoll = select.epoll()
        self.listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.listener.setblocking(False)
        self.epoll.register(self.listener.fileno(), select.EPOLLIN)
        self.streams: dict[int, Stream] = {}
        self.running: dict[int, Stream] = {}
        self.finished: deque[tuple[str, int, list[int]]] = deque()
        self.requests = self.events = self.peak = self.late_steps = 0
        self.offset_ns = time.time_ns() - time.monotonic_ns()

    def serve(self) -> None:
        """Accept, read, and send on every step."""
        next_ns = time.monotonic_ns()
        while True:
            for fd, _ in self.epoll.poll(self.patience_s(next_ns)):
                if fd == self.listener.fileno():
                    self.accept()
                else:
                    self.read(fd)
            now = time.monotonic_ns()
            if not self.step_ns:
                self.send_round(now)
            elif now >= next_ns:
                next_ns += self.step_ns
                if now - next_ns > self.step_ns:
                    self.late_steps += 1
                    next_ns = now + self.step_ns
                self.send_round(now)

    def patience_s(self, next_ns: int) -> float:
        if not self.step_ns:
            return 0.0 if self.running else 0.1
        return max(0.0, (next_ns - time.monotonic_ns()) / 1e9)

    def accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except BlockingIOError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sock.setblocking(False)
            self.streams[sock.fileno()] = Stream(sock)
            self.epoll.register(sock.fileno(), select.EPOLLIN)

    def read(self, fd: int) -> None:
        stream = self.streams[fd]
        try:
            content, ancillary, _, _ = stream.sock.recvmsg(1 << 20, 64)
        except BlockingIOError:
            return
        except OSError:
            content, ancillary = b"", []
        if not content:
            self.drop(fd)
            return
        stream.received += content
        stream.asked_ns = time.monotonic_ns()
        if ancillary:
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            stream.asked_ns = seconds * 10**9 + nanoseconds - self.offset_ns
        head, end, body = stream.received.partition(b"\r\n\r\n")
        if not end:
            return
        lower = head.lower()
        length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if len(body) >= length:
            stream.received = body[length:]
            self.answer(stream, head, lower)

    def answer(self, stream: Stream, head: bytes, lower: bytes) -> None:
        if head.startswith(b"GET"):
            self.page(stream, head.split(b" ")[1])
            return
        if b"completions" not in head.split(b" ", 2)[1]:
            stream.sock.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        stream.request_id = lower.partition(b"x-request-id:")[2].split(b"\r\n")[0].strip().decode()
        stream.left = self.tokens
        stream.sent_ns = []
        stream.first_ns = stream.asked_ns + self.delay_ns
        stream.sock.send(HEAD)
        self.running[stream.sock.fileno()] = stream
        self.peak = max(self.peak, len(self.running))

    def send_round(self, now: int) -> None:
        """One event for each stream whose delay is over."""
        done: list[int] = []
        clock = time.monotonic_ns
        for fd, stream in self.running.items():
            if stream.first_ns > now:
                continue
            stream.sent_ns.append(clock())
            try:
                stream.sock.send(TOKEN)
                self.events += 1
                stream.left -= 1
                if not stream.left:
                    done.append(fd)
                    self.finish(stream)
            except BlockingIOError:
                stream.sent_ns.pop()
            except OSError:
                done.append(fd)
                stream.left = -1
        for fd in done:
            stream = self.running.pop(fd, None)
            if stream is not None and stream.left < 0:
                self.drop(fd)

    def finish(self, stream: Stream) -> None:
        usage = b'"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":%d}' % self.tokens
        stream.sock.send(FINISH + event(usage) + LAST)
        self.requests += 1
        self.finished.append((stream.request_id, stream.asked_ns, stream.sent_ns))

    def page(self, stream: Stream, path: bytes) -> None:
        if path == b"/sent":
            body = json.dumps(list(self.finished)).encode()
            self.finished.clear()
        else:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            body = json.dumps(
                {
                    "requests": self.requests,
                    "events": self.events,
                    "peak": self.peak,
                    "late_steps": self.late_steps,
                    "cpu_s": usage.ru_utime + usage.ru_stime,
                }
            ).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        stream.sock.setblocking(True)
        stream.sock.sendall(head + body)
        stream.sock.setblocking(False)

    def drop(self, fd: int) -> None:
        self.running.pop(fd, None)
        stream = self.streams.pop(fd, None)
        if stream is not None:
            stream.sock.close()


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--mode", default="step:0.01")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--delay", type=float, default=0.05)
    options = parser.parse_args()
    delay = options.delay if options.mode != "inter" else 0.0
    Engine(options.port, options.mode, options.tokens, delay).serve()


if __name__ == "__main__":
    main()
