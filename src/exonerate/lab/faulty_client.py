"""The harness with a fault of its own: the client is to blame, and everybody else is well.

    python -m exonerate.lab.faulty_client --fault pool-exhausted --pool-size 2 --base-url URL ...

| fault | what it does |
|---|---|
| `pool-exhausted` | reads each stream to its end marker and never gives the connection back |
| `pool-exhausted-on-errors` | the same, but only after an error status, which it then retries |
| `client-deadlock` | sends the request of a round and never reads the answer |
| `client-timer` | gives up after a first-byte limit and asks again on a new connection |
| `half-close` | ends its sending side right after each request |
"""

from __future__ import annotations

import argparse
import http.client
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.lab.harness import (
    Agent,
    Habits,
    RoundError,
    left,
    make_parser,
    read_habits,
    report,
    run,
    streamed_text,
)

RETRY_S = 0.1
POLL_S = 0.05
END_MARKER = b"data: [DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Numbers of the faults."""

    pool_size: int
    at_round: int
    first_byte_limit_s: float
    retries: int


class FaultyAgent(Agent):
    """An agent with one fault."""

    def __init__(self, habits: Habits, fault: Fault) -> None:
        super().__init__(habits)
        self._fault = fault
        self._leaked: list[object] = []
        self._rounds = 0

    def _read_to_marker(
        self, connection: http.client.HTTPConnection, deadline: float
    ) -> tuple[http.client.HTTPResponse, str]:
        """The answer up to its end marker; what frames the end is left unread."""
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise RoundError(f"status {response.status}")
        content = bytearray()
        while END_MARKER not in content:
            line = response.readline()
            if not line:
                break
            content += line
            left(deadline)
        return response, streamed_text(content.decode(errors="replace"))

    def _from_pool(self, deadline: float) -> http.client.HTTPConnection:
        """A connection of the pool; waits while all of them are out."""
        while len(self._leaked) >= self._fault.pool_size:
            time.sleep(min(POLL_S, left(deadline)))
        return self.new_connection()


class PoolExhausted(FaultyAgent):
    """Forgets to close streams."""

    def ask(self, deadline: float) -> str:
        """One round more, one connection less."""
        connection = self._from_pool(deadline)
        self.send_on(connection, deadline)
        response, text = self._read_to_marker(connection, deadline)
        self._leaked.append((connection, response))
        return text


class PoolExhaustedOnErrors(FaultyAgent):
    """Closes streams, but not those that began with an error."""

    def ask(self, deadline: float) -> str:
        """Retry errors until an answer comes or no connection is left."""
        while True:
            connection = self._from_pool(deadline)
            self.send_on(connection, deadline)
            try:
                _response, text = self._read_to_marker(connection, deadline)
            except RoundError:
                self._leaked.append(connection)
                time.sleep(RETRY_S)
                continue
            connection.close()
            return text


class ClientDeadlock(FaultyAgent):
    """Waits for itself at one round, with the answer in its socket."""

    def ask(self, deadline: float) -> str:
        """Up to the fatal round like any other."""
        self._rounds += 1
        if self._rounds < self._fault.at_round:
            return super().ask(deadline)
        connection = self.new_connection()
        self.send_on(connection, deadline)
        self._leaked.append(connection)
        time.sleep(left(deadline))
        raise TimeoutError


class ClientTimer(FaultyAgent):
    """Has less patience than the engine needs."""

    def ask(self, deadline: float) -> str:
        """Ask, give up, ask again, as often as allowed."""
        limit_s = self._fault.first_byte_limit_s
        for _ in range(1 + self._fault.retries):
            connection = self.new_connection()
            try:
                self.send_on(connection, min(deadline, time.monotonic() + limit_s))
                sock = connection.sock
                sock.recv(1, socket.MSG_PEEK)
                sock.settimeout(left(deadline))
                return self._read_to_marker(connection, deadline)[1]
            except TimeoutError:
                left(deadline)
            finally:
                connection.close()
        raise RoundError(f"no first byte within {limit_s:g} s, {1 + self._fault.retries} times")


class HalfClose(FaultyAgent):
    """Says after each request that it will send no more."""

    def ask(self, deadline: float) -> str:
        """One request on one connection."""
        connection = self.new_connection()
        try:
            self.send_on(connection, deadline)
            connection.sock.shutdown(socket.SHUT_WR)
            return self._read_to_marker(connection, deadline)[1]
        finally:
            connection.close()


FAULTS: dict[str, type[FaultyAgent]] = {
    "pool-exhausted": PoolExhausted,
    "pool-exhausted-on-errors": PoolExhaustedOnErrors,
    "client-deadlock": ClientDeadlock,
    "client-timer": ClientTimer,
    "half-close": HalfClose,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent with the fault that the command line names."""
    habits, options = read_habits(_parser(), arguments)
    fault = Fault(
        pool_size=options.pool_size,
        at_round=options.at_round,
        first_byte_limit_s=options.first_byte_limit,
        retries=options.retries,
    )
    return report(run(FAULTS[options.fault](habits, fault)))


def _parser() -> argparse.ArgumentParser:
    parser = make_parser()
    parser.prog = "python -m exonerate.lab.faulty_client"
    parser.description = "The harness with a fault of its own."
    parser.add_argument("--fault", required=True, choices=sorted(FAULTS))
    parser.add_argument("--pool-size", type=int, default=2)
    parser.add_argument("--at-round", type=int, default=3)
    parser.add_argument("--first-byte-limit", type=float, default=3.0, metavar="S")
    parser.add_argument("--retries", type=int, default=3)
    return parser


if __name__ == "__main__":
    sys.exit(main())
