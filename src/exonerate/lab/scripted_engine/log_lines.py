"""The lines that the scripted engine writes to stderr, in the form of the engine it stands for.

One for each prompt that was read, such as SGLang's scheduler and vLLM's statistics write, so that
a log shows that its engine works; and what a watchdog says of a scheduler that stands still.
"""

from __future__ import annotations

import time

from exonerate.lab.scripted_engine.metrics_page import Counters
from exonerate.lab.scripted_engine.script import Names


def works_line(names: Names, counters: Counters, *, new_tokens: int) -> str:
    """What is written when a prompt has been read."""
    load = counters.running, counters.waiting
    if names == "sglang":
        told = f"Prefill batch, #new-seq: 1, #new-token: {new_tokens}, #cached-token: 0, "
        return f"{_sglang()} {told}#running-req: {load[0]}, #queue-req: {load[1]}"
    told = f"Avg prompt throughput: {new_tokens}.0 tokens/s, Running: {load[0]} reqs"
    return f"{_vllm('INFO')} Engine 000: {told}, Waiting: {load[1]} reqs"


def watchdog_line(names: Names, after_s: float) -> str:
    """What is written once the scheduler has made no step for so long."""
    if names == "sglang":
        setting = f"self.watchdog_timeout={after_s:g}, self.soft=True"
        return f"{_sglang()} Scheduler watchdog timeout ({setting})"
    told = f"No available shared memory broadcast block found in {after_s:.0f} seconds."
    return f"{_vllm('INFO')} {told}"


def _sglang() -> str:
    return time.strftime("[%Y-%m-%d %H:%M:%S]")


def _vllm(level: str) -> str:
    return f"(EngineCore_0 pid=1) {level} {time.strftime('%m-%d %H:%M:%S')} [scripted.py:1]"
