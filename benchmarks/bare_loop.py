"""The physical limit for a Python client: epoll, `recvmsg`, keep the bytes and the stamps.

    python benchmarks/bare_loop.py URL_PORT REQUESTS CONCURRENCY [BATCH_SECONDS [ordinary]]

Without BATCH_SECONDS it is the plain loop: it sleeps in epoll only and reads whatever is there as
soon as it wakes. With it, it sleeps that long after each round of reads, as the load worker does.
It takes the load worker's priority unless told to stay an ordinary process; a busy engine is then
left running for longer, and more sockets are ready at each wake-up.
No events are counted, no framing is checked, nothing is written: an answer ends when its bytes
look like the end. Prints one line of JSON with the CPU time of the loop alone.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import socket
import struct
import sys
import time

SO_TIMESTAMPNS = 35
BODY = json.dumps(
    {
        "model": "mock",
        "messages": [{"role": "user", "content": "hello " * 40}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
    }
).encode()
REQUEST = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
)


def main() -> None:
    """Play the load and print what it cost."""
    gc.disable()
    if sys.argv[5:] != ["ordinary"]:
        # As the load worker does: otherwise the busier one of the two is woken less often.
        _hurry()
    port, requests, concurrency = (int(text) for text in sys.argv[1:4])
    batch_s = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    timespec = struct.Struct("qq").unpack
    epoll = select.epoll()
    receive, contents, stamps, sockets = {}, {}, {}, {}
    for _ in range(concurrency):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        fd = sock.fileno()
        epoll.register(fd, select.EPOLLIN)
        receive[fd], contents[fd], stamps[fd], sockets[fd] = sock.recvmsg, [], [], sock
    before = resource.getrusage(resource.RUSAGE_SELF)
    begun = time.monotonic()
    left, live, received, reads = requests - concurrency, concurrency, 0, 0
    for sock in sockets.values():
        sock.send(REQUEST)
    while live:
        ready = epoll.poll(1.0)
        now = time.monotonic_ns()
        for fd, _ in ready:
            content, ancillary, _, _ = receive[fd](65536, 64)
            if ancillary:
                seconds, nanoseconds = timespec(ancillary[0][2])
                stamp = seconds * 1_000_000_000 + nanoseconds
            else:
                stamp = now
            contents[fd].append(content)
            stamps[fd].append(stamp)
            if content[-5:] == b"0\r\n\r\n":
                reads += len(contents[fd])
                received += sum(map(len, contents[fd]))
                contents[fd], stamps[fd] = [], []
                if left > 0:
                    left -= 1
                    sockets[fd].send(REQUEST)
                else:
                    epoll.unregister(fd)
                    sockets[fd].close()
                    live -= 1
        if batch_s and ready:
            time.sleep(batch_s)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    took_s = time.monotonic() - begun
    print(json.dumps({"cpu_s": cpu_s, "took_s": took_s, "reads": reads, "bytes": received}))


def _hurry() -> None:
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


if __name__ == "__main__":
    main()
