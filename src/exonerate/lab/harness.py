"""An agent that makes rounds over one pooled HTTP/1.1 connection: the victim of the lab.

    python -m exonerate.lab.harness --base-url http://127.0.0.1:8080 --model M --rounds 8

Rules
-----
1. It is a client like others: `http.client`, streamed answers, a history that grows, one connection
   that is kept. It shares no code with the prober.
2. A connection that the peer closed while it was idle is replaced, and a request that lost the race
   against that close is sent once more on a fresh connection; `--pool blind` does neither.
3. A round that is not over at its deadline is a wedge: the harness says so and stops; with
   `--go-on` it begins another conversation.

One line per round goes to stderr, the summary as JSON to stdout. Status 0: all rounds were made;
1: it wedged or a round failed; 2: wrong use.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import select
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

# fmt: off
WORDS = (
    "river", "stone", "cloud", "paper", "window", "garden", "number", "seven", "yellow", "quiet",
    "engine", "proxy", "token", "cache", "slot", "queue", "morning", "bridge", "letter", "signal",
    "harbor", "winter", "copper", "forest",
)
# fmt: on
READ_BYTES = 65536
DONE = "[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How this client behaves."""

    base_url: str
    model: str
    rounds: int
    think_s: float
    deadline_s: float
    prompt_words: int
    growth_words: int
    max_tokens: int
    seed: int
    stream: bool = True
    blind_pool: bool = False
    go_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of it; printed as JSON."""

    rounds_done: int
    rounds: int
    wedged_at: int | None
    failed_at: int | None
    why: str | None
    connections: int
    seconds: float


class RoundError(Exception):
    """A round that ended, but not with a whole answer."""


class Agent:
    """One conversation over one pooled connection."""

    def __init__(self, habits: Habits) -> None:
        self.habits = habits
        self._rng = random.Random(habits.seed)
        self._messages: list[dict[str, str]] = []
        self._connection: http.client.HTTPConnection | None = None
        self._used = False
        self.connections = 0

    def round(self, deadline: float) -> str:
        """Ask once more and return the answer; the history keeps both.

        Raises:
            TimeoutError: the deadline passed.
            RoundError: the answer was an error, or not whole.
        """
        words = self.habits.growth_words if self._messages else self.habits.prompt_words
        question = " ".join(self._rng.choices(WORDS, k=words))
        self._messages.append({"role": "user", "content": question})
        answer = self.ask(deadline)
        self._messages.append({"role": "assistant", "content": answer})
        return answer

    def start_again(self) -> None:
        """Forget the conversation and the connection."""
        self.close()
        self._messages.clear()

    def close(self) -> None:
        """Close the pooled connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, deadline: float) -> str:
        """Send the history and return the answer to it."""
        reused = self._checked_out()
        try:
            return self._exchange(deadline)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if not reused or self.habits.blind_pool:
                raise RoundError(f"the peer closed the connection: {error}") from error
        self._checked_out()
        try:
            return self._exchange(deadline)
        except (ConnectionError, http.client.HTTPException) as error:
            raise RoundError(f"the peer closed a fresh connection: {error}") from error

    def _checked_out(self) -> bool:
        """Make sure there is a connection; true when it has carried a request before."""
        if self._connection is not None and not self.habits.blind_pool and self._peer_closed():
            self.close()
        if self._connection is None:
            self._connection = self.new_connection()
            self._used = False
        return self._used

    def _peer_closed(self) -> bool:
        """Something to read on an idle connection is the peer's end of it."""
        assert self._connection is not None
        sock = self._connection.sock
        return sock is None or bool(select.select([sock], [], [], 0)[0])

    def _exchange(self, deadline: float) -> str:
        connection = self._connection
        assert connection is not None
        self.send_on(connection, deadline)
        self._used = True
        sock = connection.sock
        response = connection.getresponse()
        content = bytearray()
        while piece := response.read1(READ_BYTES):
            content += piece
            sock.settimeout(left(deadline))
        missing = response.length or 0  # counts down while it is read; None for chunks
        # `read1` does not notice the end of a body with a length (CPython 3.11 http/client.py).
        response.close()
        if response.will_close or missing:
            self.close()
        if missing:
            raise RoundError(f"the answer ended {missing} bytes too early")
        return self._answer(response.status, bytes(content))

    def send_on(self, connection: http.client.HTTPConnection, deadline: float) -> None:
        """Send the request; every later wait on this connection ends at the deadline."""
        connection.timeout = left(deadline)
        if connection.sock is not None:
            connection.sock.settimeout(left(deadline))
        path = f"{urlsplit(self.habits.base_url).path.rstrip('/')}/v1/chat/completions"
        headers = {"Content-Type": "application/json", "User-Agent": "exonerate-lab-harness"}
        connection.request("POST", path, json.dumps(self._body()), headers)

    def new_connection(self) -> http.client.HTTPConnection:
        """A connection to the server, not yet opened."""
        parts = urlsplit(self.habits.base_url)
        self.connections += 1
        return http.client.HTTPConnection(parts.hostname or "", parts.port)

    def _body(self) -> dict[str, object]:
        return {
            "model": self.habits.model,
            "messages": self._messages,
            "max_tokens": self.habits.max_tokens,
            "stream": self.habits.stream,
            "temperature": 0,
        }

    def _answer(self, status: int, content: bytes) -> str:
        text = content.decode(errors="replace")
        if status != http.client.OK:
            raise RoundError(f"status {status}: {text[:200]}")
        try:
            return streamed_text(text) if self.habits.stream else _plain(text)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise RoundError(f"the answer cannot be read: {error}") from error


def left(deadline: float) -> float:
    """Seconds until the deadline; raises TimeoutError when there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _plain(text: str) -> str:
    return str(json.loads(text)["choices"][0]["message"]["content"])


def streamed_text(text: str) -> str:
    """The text in the events of a whole stream; raises ValueError when it is not whole."""
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    if DONE not in lines:
        raise ValueError(f"the stream ended without {DONE} after {len(lines)} events")
    answer = []
    for line in lines[: lines.index(DONE)]:
        event = json.loads(line)
        for choice in event.get("choices", ()):
            answer.append(choice["delta"].get("content") or "")
    return "".join(answer)


def run(agent: Agent) -> Summary:
    """Make the rounds until all are made, one wedges, or one fails."""
    habits = agent.habits
    begun = time.monotonic()
    done, wedged_at, failed_at, why = 0, None, None, None
    for number in range(1, habits.rounds + 1):
        started = time.monotonic()
        try:
            answer = agent.round(started + habits.deadline_s)
        except TimeoutError:
            wedged_at, why = number, f"no whole answer within {habits.deadline_s:g} s"
        except (RoundError, OSError, http.client.HTTPException) as error:
            failed_at, why = number, str(error) or type(error).__name__
        if why is not None:
            _say(f"round {number}: {why}")
            if not habits.go_on:
                break
            agent.start_again()
            wedged_at, failed_at, why = None, None, None
        else:
            done += 1
            took_s = time.monotonic() - started
            _say(f"round {number}: {len(answer)} characters in {took_s:.2f} s")
        if number < habits.rounds:
            time.sleep(habits.think_s)
    agent.close()
    return Summary(
        rounds_done=done,
        rounds=habits.rounds,
        wedged_at=wedged_at,
        failed_at=failed_at,
        why=why,
        connections=agent.connections,
        seconds=round(time.monotonic() - begun, 3),
    )


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent as the command line says."""
    return report(run(Agent(read_habits(make_parser(), arguments)[0])))


def report(summary: Summary) -> int:
    """Print the summary; returns the exit status."""
    sys.stdout.write(json.dumps(asdict(summary)) + "\n")
    return 0 if summary.rounds_done == summary.rounds else 1


def read_habits(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> tuple[Habits, argparse.Namespace]:
    """The habits on the command line, and all options."""
    options = parser.parse_args(arguments)
    if not options.base_url:
        parser.error("neither --base-url nor $OPENAI_BASE_URL is given")
    habits = Habits(
        base_url=options.base_url.rstrip("/").removesuffix("/v1"),
        model=options.model,
        rounds=options.rounds,
        think_s=options.think,
        deadline_s=options.deadline,
        prompt_words=options.prompt_words,
        growth_words=options.growth_words,
        max_tokens=options.max_tokens,
        seed=options.seed,
        stream=options.stream,
        blind_pool=options.pool == "blind",
        go_on=options.go_on,
    )
    return habits, options


def make_parser() -> argparse.ArgumentParser:
    """The options of the harness; the faulty client adds its own."""
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.harness",
        description="An agent that makes rounds over one pooled connection.",
    )
    parser.add_argument(
        "--base-url",
        default=os.environ.get("OPENAI_BASE_URL"),
        metavar="URL",
        help="default: $OPENAI_BASE_URL",
    )
    parser.add_argument("--model", required=True, help="what requests name")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--think", type=float, default=0.5, metavar="S", help="between rounds")
    parser.add_argument("--deadline", type=float, default=20.0, metavar="S", help="for one round")
    parser.add_argument("--prompt-words", type=int, default=150, metavar="N")
    parser.add_argument("--growth-words", type=int, default=100, metavar="N")
    parser.add_argument("--max-tokens", type=int, default=32, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pool", choices=("careful", "blind"), default="careful")
    parser.add_argument(
        "--go-on", action="store_true", help="start anew after a round that wedged or failed"
    )
    parser.add_argument("--no-stream", dest="stream", action="store_false")
    return parser


if __name__ == "__main__":
    sys.exit(main())
