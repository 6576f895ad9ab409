"""Calls a target in a process of its own, with a time limit, and starts it again when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import exonerate
from exonerate.errors import ExonerateError
from exonerate.kernels.prover import exchange
from exonerate.kernels.prover.runner import Answer, Call, Capabilities, Status

START_LIMIT_S = 120.0
"""Importing a compute library with a cold disk cache takes tens of seconds."""

LINE_BYTES_MAX = 1_000_000
END_LIMIT_S = 5.0
STDERR_TAIL_BYTES = 300

EXTRA_HINT = "run `pip install 'exonerate[kernels]'`"
_IN_EXTRA = {"torch", "triton"}


class Child:
    """Runs a command that speaks the line protocol of `exchange`.

    Args:
        command: what to start
        introduces: whether it first says what it can be asked (our own worker does)
        limit_s: for one call; the first one has START_LIMIT_S more, to load and to compile
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        introduces: bool,
        limit_s: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = list(command)
        self._introduces = introduces
        self._limit_s = limit_s
        self._environment = {**os.environ, **(environment or {})}
        self._folder = tempfile.TemporaryDirectory(prefix="exonerate-splitk-")
        self._stderr = Path(self._folder.name) / "stderr"
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""
        self._answered = False
        self._warm_up_s = START_LIMIT_S
        self._waited_s = 0.0
        self.capabilities = Capabilities(layouts=False, dtypes_asked=("bf16", "fp8"))
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def run(self, call: Call) -> Answer:
        """The answer to one call; a death or a missed time limit is an answer too."""
        folder = Path(self._folder.name)
        request, reply = folder / "call.npz", folder / "answer.npz"
        reply.unlink(missing_ok=True)
        exchange.write_call(request, call)
        asked = f"{request} {reply}\n".encode()
        process, line = self._ask(asked)
        if line == "" and process.poll() == 0 and self._answered:
            # It had ended well after its last answer, too late to be seen before this call.
            process, line = self._ask(asked)
        self._answered = bool(line)
        if line is None:
            self._end()
            return Answer(status=Status.HUNG, message=f"no answer within {self._waited_s:g} s")
        if line == "ok":
            return exchange.read_answer(reply, call.given)
        if line.startswith("error:"):
            return Answer(status=Status.RAISED, message=line[6:].strip())
        if line:
            return Answer(status=Status.MALFORMED, message=f"said `{line[:80]}`, not `ok`")
        return self._dead(process)

    def close(self) -> None:
        """End the process and remove its files."""
        self._end()
        self._folder.cleanup()

    def _start(self) -> subprocess.Popen[bytes]:
        self._end()
        try:
            with self._stderr.open("wb") as stderr:
                # A session of its own: one signal ends it with whatever it has started.
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=self._environment,
                    start_new_session=True,
                )
        except OSError as error:
            raise ExonerateError(
                f"cannot start `{self._command[0]}`: {error.strerror}",
                "give a command that can be run from here",
            ) from error
        self._answered = False
        self._pending = b""
        if self._introduces:
            self.capabilities = self._introduction(self._process)
        return self._process

    def _introduction(self, process: subprocess.Popen[bytes]) -> Capabilities:
        line = self._read_line(process, START_LIMIT_S)
        try:
            shown = json.loads(line or "")
        except ValueError:
            raise ExonerateError(
                f"the target did not load: {self._tail() or 'no message'}",
                "import it in a Python of your own first",
            ) from None
        if "error" in shown:
            missing = str(shown.get("missing", "")).split(".")[0]
            hint = "use it in a Python of your own first"
            if missing in _IN_EXTRA:
                hint = EXTRA_HINT
            elif shown["error"].startswith(("ModuleNotFoundError", "AttributeError")):
                hint = "name it as `module:function`, as Python finds it from here"
            raise ExonerateError(f"the target cannot be used: {shown['error']}", hint)
        return Capabilities(
            arrays=shown["arrays"],
            device=shown["device"],
            keywords=frozenset(shown["keywords"]),
            dtypes=tuple(shown["dtypes"]),
            dtypes_asked=tuple(shown["dtypes_asked"]),
            merges=bool(shown["merges"]),
            versions=dict(shown["versions"]),
        )

    def _ask(self, request: bytes) -> tuple[subprocess.Popen[bytes], str | None]:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died: the empty line says so
            process.stdin.write(request)
            process.stdin.flush()
        self._waited_s = self._limit_s
        if not self._answered:
            self._waited_s += self._warm_up_s
        began = time.monotonic()
        line = self._read_line(process, self._waited_s)
        if not self._answered:
            # Loading and compiling took this long once; the next process gets twice that.
            self._warm_up_s = 0.0 if line is None else 2 * (time.monotonic() - began)
        if line == "":
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=END_LIMIT_S)
        return process, line

    def _read_line(self, process: subprocess.Popen[bytes], limit_s: float) -> str | None:
        """The next line without its end; empty when the process has gone; None at the limit."""
        assert process.stdout is not None
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending and len(self._pending) < LINE_BYTES_MAX:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                received = os.read(process.stdout.fileno(), 65536)
                if not received:
                    return ""
                self._pending += received
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def _dead(self, process: subprocess.Popen[bytes]) -> Answer:
        try:
            code = process.wait(timeout=0)
        except subprocess.TimeoutExpired:
            self._end()
            return Answer(status=Status.DIED, message="closed its standard output")
        how = f"exit status {code}"
        if code < 0:
            how = f"killed by {signal.Signals(-code).name}"
        tail = self._tail()
        return Answer(status=Status.DIED, message=f"{how}{': ' if tail else ''}{tail}")

    def _tail(self) -> str:
        text = self._stderr.read_bytes()[-STDERR_TAIL_BYTES:].decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            _close(pipe)


def worker(
    target: str,
    *,
    arrays: str = "auto",
    device: str = "cpu",
    limit_s: float,
    empty_lse: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Child:
    """A child that imports `module:function` and calls it; with `empty_lse` as a merge."""
    # The worker imports this very package, wherever the caller found it.
    source = str(Path(exonerate.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))
    return Child(
        [
            *(sys.executable, "-m", "exonerate.kernels.prover.worker", target, arrays, device),
            *([] if empty_lse is None else [str(empty_lse)]),
        ],
        introduces=True,
        limit_s=limit_s,
        environment={"PYTHONPATH": path, **(environment or {})},
    )


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
