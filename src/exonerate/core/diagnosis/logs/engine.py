"""What a line of an engine's own log says of the engine: that it stood still, broke, or works.

Rules
-----
1. Only the beginning of a message counts, behind the prefixes of loggers, of the journal and of
   container logs: a phrase further in may be quoted from somebody's prompt.
2. No text of a line leaves the parser: a line becomes a word of ours, and a number of seconds
   where it names one.

Sources of the phrases: sglang 0.5.23 (`srt/utils/watchdog.py`, `srt/managers/*_manager.py`,
`srt/entrypoints/http_server.py`, `srt/disaggregation/`, `metrics_reporter.py`) and 0.4 (the
watchdog without a name); vLLM 0.32.0 (`device_communicators/shm_broadcast.py`,
`v1/executor/multiproc_executor.py`, `v1/engine/core.py`, `v1/engine/exceptions.py`,
`v1/metrics/loggers.py`); PyTorch (`ProcessGroupNCCL.cpp`, its CUDA errors); llama.cpp (`ggml.c`,
`ggml-cuda.cu`, `tools/server`); the traceback of CPython.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.json_access import number_at, text_at
from exonerate.core.json_types import JsonObject

EngineWord: TypeAlias = Literal[
    "stood-still",  # a watchdog: the scheduler made no step although it had work
    "waited-for-worker",  # a process of the engine waits for another one that does not answer
    "collective-timeout",  # an operation of all GPUs together was never finished
    "front-end-stood-still",  # a watchdog of another process than the scheduler
    "no-token",  # its own health check got no token
    "died",  # a process of it ended, or its loop broke
    "gpu-error",
    "out-of-memory",
    "transfer-failed",  # between prefill and decode
    "traceback",
    "works",  # a line about its steps or its rates, as it writes them while all is well
]
STANDS_STILL: frozenset[EngineWord] = frozenset(
    {"stood-still", "waited-for-worker", "collective-timeout"}
)
"""What a scheduler that is stuck makes its watchdogs say."""
LINE_LETTERS_MAX = 4096
"""A phrase stands at the beginning; what follows can be as long as a prompt."""

_PREFIX = re.compile(
    # journald and syslog; `docker logs -t` and Kubernetes
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,120} \S{1,120}: )?"
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,20} (?:std(?:out|err) [FP] )?)?"
    # vLLM: (EngineCore_0 pid=7) ERROR 12-01 02:47:31 [core.py:1512]
    r"(?:\([^()]{1,80}\) )?(?:[A-Z]{4,8} \d\d-\d\d \d\d:\d\d:\d\d )?"
    # SGLang: [2026-12-01 02:47:31 TP0]; PyTorch: [rank0]:[E1201 02:47:31.4 file:1] [Rank 0]
    r"(?:\[[^\[\]]{1,160}\]:? ?){0,5}"
)


@dataclass(frozen=True, slots=True)
class EngineLine:
    """One line; `lasted_s` is for how long it says that nothing had happened."""

    word: EngineWord
    lasted_s: float | None = None


def parse_engine(line: str) -> EngineLine | None:
    """What a line says, or None for one that says nothing of the engine's health."""
    text = line[:LINE_LETTERS_MAX]
    prefix = _PREFIX.match(text)
    assert prefix is not None
    for pattern, read in _READERS:
        matched = pattern.match(text, prefix.end())
        if matched is not None:
            return read(matched)
    return None


def engine_line_to_json(line: EngineLine) -> JsonObject:
    """For an event."""
    told: JsonObject = {"word": line.word}
    return told if line.lasted_s is None else {**told, "lasted_s": line.lasted_s}


def engine_line_from_json(value: JsonObject) -> EngineLine:
    """The line that `engine_line_to_json` wrote."""
    word = text_at(value, "word") or ""
    return EngineLine(word, number_at(value, "lasted_s"))  # type: ignore[arg-type]  # written so


_Reader: TypeAlias = Callable[[re.Match[str]], EngineLine]


def _watchdog(matched: re.Match[str]) -> EngineLine:
    schedules = matched["who"] in (None, "Scheduler", "DataParallelController")
    return EngineLine(
        "stood-still" if schedules else "front-end-stood-still", float(matched["seconds"])
    )


def _waited(matched: re.Match[str]) -> EngineLine:
    return EngineLine("waited-for-worker", float(matched["seconds"]))


def _collective(matched: re.Match[str]) -> EngineLine:
    millis = matched["millis"]
    return EngineLine("collective-timeout", None if millis is None else float(millis) / 1000)


def _says(word: EngineWord) -> _Reader:
    return lambda matched: EngineLine(word)


_ERROR = r"(?:[A-Za-z_][\w.]{0,80}(?:Error|Exception): )?"
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"(?:Prefill|Decode) batch\b|Engine \d{1,4}: (?:Avg )?[Pp]rompt throughput|"
         r"(?:slot|srv|que) {1,8}[a-z_]{3,30}: ", _says("works")),
        (r"(?:(?P<who>\w{1,60}) w|W)atchdog timeout "
         r"\((?:self\.)?watchdog_timeout=(?P<seconds>\d{1,9}(?:\.\d{1,9})?)[,)]", _watchdog),
        (r"No available shared memory broadcast block found in (?P<seconds>\d{1,9}) seconds",
         _waited),
        (rf"{_ERROR}RPC call to \w{{1,80}} timed out", _says("waited-for-worker")),
        (rf"{_ERROR}(?:\[[^\[\]]{{1,160}}\] ?){{0,3}}Watchdog caught collective operation timeout"
         r"(?:.{0,600}? ran for (?P<millis>\d{1,12}) milliseconds)?", _collective),
        (r"Health check failed\. Server couldn't get a response from detokenizer",
         _says("no-token")),
        (r"Subprocess \S{1,80} \(pid=\d{1,9}\) crashed with exit code|"
         r"(?:Scheduler|DataParallelController|DetokenizerManager|TokenizerManager) hit an "
         r"exception|SIGQUIT received\. |Worker proc \S{1,80} died unexpectedly|"
         rf"{_ERROR}EngineCore encountered an? (?:fatal error|issue)|"
         rf"{_ERROR}Engine core proc(?:ess)? \S{{1,80}} died unexpectedly|"
         r"\S{1,200}:\d{1,6}: GGML_ASSERT\(", _says("died")),
        (rf"{_ERROR}(?:CUDA out of memory|CUDA error: out of memory)|"
         r"Out of memory: Killed process", _says("out-of-memory")),
        (rf"{_ERROR}(?:CUDA error|NCCL error|CUDA driver error)\b", _says("gpu-error")),
        (r"(?:Prefill transfer|Prefill bootstrap|Decode handshake|Decode transfer) failed for "
         r"request rank=|Error fetching prefill (?:server )?info from bootstrap|"
         r"KVTransferError\(bootstrap_room=", _says("transfer-failed")),
        (r"Traceback \(most recent call last\):", _says("traceback")),
    )
)  # fmt: skip
