"""Real engines for `run_engines.py`: how each is started, and how it counts.

Nothing here uses the project's own reader of metrics pages: what it says is to be compared with
these figures.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thread_beside import thread_beside

START_S = 300.0
SAMPLE_EVERY_S = 0.1
_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)$")


@dataclass(frozen=True, slots=True)
class Engine:
    """One running engine: where it is, and which series of its page say what."""

    name: str
    url: str
    model: str
    generated: str
    prompt: tuple[str, ...]
    """Added up: llama.cpp counts what it took from its cache apart."""
    decode_seconds: str
    """Time between first and last token, over all requests."""
    tokenize_key: str

    def page(self) -> dict[str, float]:
        """Every series of the metrics page, labels added up."""
        totals: dict[str, float] = {}
        for line in fetch(f"{self.url}/metrics").decode().splitlines():
            matched = _SAMPLE.match(line)
            if matched:
                totals[matched[1]] = totals.get(matched[1], 0.0) + float(matched[2])
        return totals

    def counts(self) -> dict[str, float]:
        """The counters that are compared."""
        page = self.page()
        return {
            "generated": page[self.generated],
            "prompt": sum(page.get(name, 0.0) for name in self.prompt),
            "decode_s": page[self.decode_seconds],
        }

    def live_tokens(self) -> float:
        """Tokens generated up to now, those of unfinished answers too.

        llama.cpp's counter rises when a request ends; its `/slots` says how far the others are. A
        request that ends between the two pages would count twice or not at all, so the first one
        is read again until it has not moved.
        """
        if self.name != "llama.cpp":
            return self.page()[self.generated]
        ended = self.page()[self.generated]
        for _ in range(10):
            slots = json.loads(fetch(f"{self.url}/slots"))
            again = self.page()[self.generated]
            if again == ended:
                break
            ended = again
        return ended + sum(_decoded(slot) for slot in slots if slot["is_processing"])

    def token_count(self, text: str) -> int:
        """Tokens of a text by the engine's own tokenizer."""
        body = {"model": self.model, self.tokenize_key: text, "add_special_tokens": False}
        answer = json.loads(fetch(f"{self.url}/tokenize", {**body, "add_special": False}))
        return len(answer["tokens"])


@dataclass(slots=True)
class LiveCount:
    """Reads the live count every tenth of a second, in a thread, until the block ends."""

    engine: Engine
    samples: list[tuple[int, float]] = field(default_factory=list)

    def running(self) -> AbstractContextManager[None]:
        """While this runs, samples come in."""
        return thread_beside(self._sample)

    def _sample(self, over: threading.Event) -> None:
        while not over.wait(SAMPLE_EVERY_S):
            before_ns = time.monotonic_ns()
            tokens = self.engine.live_tokens()
            self.samples.append(((before_ns + time.monotonic_ns()) // 2, tokens))

    def at(self, moment_ns: float) -> float:
        """The count at a moment, on the straight line between two samples."""
        later = next(at for at, (stamp, _) in enumerate(self.samples) if stamp >= moment_ns)
        (begin_ns, low), (end_ns, high) = self.samples[max(0, later - 1)], self.samples[later]
        share = (moment_ns - begin_ns) / max(1, end_ns - begin_ns)
        return low + (high - low) * share


def fetch(url: str, body: Mapping[str, Any] | None = None) -> bytes:
    """A page, or the answer to a body."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        content = answer.read()
    assert isinstance(content, bytes)
    return content


@contextmanager
def llamacpp(model: Path, *, port: int, parallel: int = 8, threads: int = 1) -> Iterator[Engine]:
    """llama.cpp's server in a process of its own, from the extra `lab`."""
    command = [sys.executable, "-m", "exonerate.lab.embedded_engine", "--model", str(model)]
    command += ["--port", str(port), "--parallel", str(parallel), "--threads", str(threads)]
    command += ["--ctx", str(1024 * parallel)]
    engine = Engine(
        "llama.cpp",
        f"http://127.0.0.1:{port}",
        "smollm2",
        generated="llamacpp:tokens_predicted_total",
        prompt=("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
        decode_seconds="llamacpp:tokens_predicted_seconds_total",
        tokenize_key="content",
    )
    with _running(command, engine, {}):
        yield engine


@contextmanager
def vllm(
    python: Path, model: Path, *, port: int, extra: Sequence[str] = (), sequences: int = 16
) -> Iterator[Engine]:
    """vLLM on CPUs, from `scripts/setup-engines`."""
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--served-model-name", "smollm2", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--enforce-eager", "--dtype", "bfloat16", "--max-model-len", "2048"]
    command += ["--max-num-seqs", str(sequences), *extra]
    engine = Engine(
        "vLLM",
        f"http://127.0.0.1:{port}",
        "smollm2",
        generated="vllm:generation_tokens_total",
        prompt=("vllm:prompt_tokens_total",),
        decode_seconds="vllm:request_decode_time_seconds_sum",
        tokenize_key="prompt",
    )
    settings = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    with _running(command, engine, settings):
        yield engine


@contextmanager
def _running(command: Sequence[str], engine: Engine, settings: Mapping[str, str]) -> Iterator[None]:
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as folder:
        # In a folder of its own: an engine must not find the project's modules beside itself.
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, **settings},
            start_new_session=True,
        )
        try:
            _wait_until_ready(process, engine)
            yield
        except Exception:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-4000:])
            raise
        finally:
            _stop(process)


def _wait_until_ready(process: subprocess.Popen[bytes], engine: Engine) -> None:
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s:
        if process.poll() is not None:
            raise RuntimeError(f"{engine.name} left with status {process.returncode}")
        try:
            fetch(f"{engine.url}/health")
        except OSError:
            time.sleep(0.5)
            continue
        return
    raise RuntimeError(f"{engine.name} was not ready within {START_S:g} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The whole session that we started, and nothing else."""
    for number, patience_s in ((signal.SIGTERM, 30.0), (signal.SIGKILL, 30.0)):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=patience_s)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _decoded(slot: Mapping[str, Any]) -> int:
    state = slot["next_token"]
    return int((state[0] if isinstance(state, list) else state)["n_decoded"])
