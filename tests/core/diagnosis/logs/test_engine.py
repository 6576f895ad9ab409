"""What engines write into their own logs: watchdogs, crashes, and lines that only say they work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.diagnosis.logs.engine import (
    STANDS_STILL,
    EngineLine,
    EngineWord,
    engine_line_from_json,
    engine_line_to_json,
    parse_engine,
)

VLLM = "(EngineCore_0 pid=77) ERROR 12-01 02:47:31 [v1/engine/core.py:1512] "
NCCL = (
    "[rank0]:[E1201 02:47:31.123456789 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran "
    "for 600081 milliseconds before timing out."
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "[2026-12-01 02:47:31 TP0] Scheduler watchdog timeout "
            "(self.watchdog_timeout=300, self.soft=False)",
            EngineLine("stood-still", 300.0),
        ),
        (
            "[2026-12-01 02:47:31] Watchdog timeout (self.watchdog_timeout=300)",
            EngineLine("stood-still", 300.0),
        ),
        (
            "[2026-12-01 02:47:31] DetokenizerManager watchdog timeout "
            "(self.watchdog_timeout=20.5, self.soft=True)",
            EngineLine("front-end-stood-still", 20.5),
        ),
        (
            VLLM + "No available shared memory broadcast block found in 60 seconds. This ",
            EngineLine("waited-for-worker", 60.0),
        ),
        (
            VLLM + "TimeoutError: RPC call to execute_model timed out.",
            EngineLine("waited-for-worker"),
        ),
        (NCCL, EngineLine("collective-timeout", 600.081)),
    ],
)
def test_a_watchdog_says_that_the_engine_stood_still_and_for_how_long(
    line: str, said: EngineLine
) -> None:
    """In the forms of SGLang, vLLM and PyTorch's communication library."""
    assert parse_engine(line) == said
    assert (said.word in STANDS_STILL) == (said.word != "front-end-stood-still")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (VLLM + "EngineCore encountered a fatal error.", "died"),
        (VLLM + "Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting", "died"),
        ("[2026-12-01 02:47:31] Scheduler hit an exception: Traceback (most", "died"),
        ("[2026-12-01 02:47:31] Subprocess scheduler_0 (pid=9) crashed with exit code -6.", "died"),
        ("/src/ggml/src/ggml.c:3021: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed", "died"),
        (VLLM + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "out-of-memory"),
        ("torch.AcceleratorError: CUDA error: an illegal memory access was", "gpu-error"),
        ("CUDA error: unspecified launch failure", "gpu-error"),
        ("[2026-12-01 02:47:31] Prefill bootstrap failed for request rank=0 ", "transfer-failed"),
        (
            "[2026-12-01 02:47:31] Health check failed. Server couldn't get a response from "
            "detokenizer for last 20 seconds.",
            "no-token",
        ),
        (VLLM + "Traceback (most recent call last):", "traceback"),
        ("[2026-12-01 02:47:31] Decode batch, #running-req: 4, #token: 812, token", "works"),
        ("INFO 12-01 02:47:31 [loggers.py:283] Engine 000: Avg prompt throughput: 8.0", "works"),
        ("slot      release: id  0 | task 12 | stop processing: n_tokens = 60", "works"),
    ],
)
def test_other_lines_say_what_broke_or_that_it_works(line: str, word: EngineWord) -> None:
    """Each by the beginning of its message."""
    read = parse_engine(line)
    assert read is not None
    assert read.word == word


@pytest.mark.parametrize(
    "prefix",
    [
        "Dec  1 02:47:31 gpu7 sglang[4711]: ",
        "2026-12-01T02:47:31.123456789Z ",
        "2026-12-01T02:47:31.123456789Z stderr F ",
        "",
    ],
)
def test_the_journal_and_container_logs_put_prefixes_before_it(prefix: str) -> None:
    """They do not hide what the engine said."""
    line = "[2026-12-01 02:47:31] Scheduler watchdog timeout (self.watchdog_timeout=9, self.soft=T)"
    assert parse_engine(prefix + line) == EngineLine("stood-still", 9.0)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-12-01 02:47:31] Receive: obj=GenerateReqInput(text='Scheduler watchdog timeout "
        "(self.watchdog_timeout=300, self.soft=False)')",
        "INFO 12-01 02:47:31 [logger.py:43] Received request 1: prompt: 'CUDA error: what is it?'",
        "[2026-12-01 02:47:31] Watchdog DetokenizerManager initialized.",
        'INFO:     127.0.0.1:51000 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "",
    ],
)
def test_what_a_prompt_or_a_start_quotes_says_nothing(line: str) -> None:
    """Whoever asks an engine about watchdogs must not make it look stuck."""
    assert parse_engine(line) is None


@given(st.text(max_size=300), st.sampled_from([NCCL, VLLM, "Scheduler watchdog timeout (", ""]))
def test_no_line_breaks_the_parser_or_leaves_its_text_behind(text: str, known: str) -> None:
    """Whatever stands in a log becomes a known word and a number, or nothing."""
    for line in (known + text, text + known, known[: len(text)] + text):
        read = parse_engine(line)
        if read is not None:
            assert read.lasted_s is None or read.lasted_s >= 0
            assert engine_line_from_json(engine_line_to_json(read)) == read


def test_a_line_as_long_as_a_prompt_is_read_quickly() -> None:
    """Only its beginning counts."""
    assert parse_engine("[" * 100_000) is None
    assert parse_engine("Watchdog caught collective operation timeout " + "x" * 1_000_000)
