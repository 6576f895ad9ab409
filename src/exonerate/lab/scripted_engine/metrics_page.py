"""The engine's counters as Prometheus text, with the names and labels of SGLang or vLLM.

Names and labels as served by sglang 0.5.23 and vllm 0.32.0.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(slots=True)
class Counters:
    """What the engine counts."""

    running: int = 0
    waiting: int = 0
    held_slots: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    steps: int = 0
    requests: int = 0
    aborted: int = 0
    busy_s: float = 0.0
    """How long the scheduler has had work."""
    finished: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Written:
    """When the scheduler wrote what is shown, and since when the process runs."""

    started_s: float
    written_s: float
    """Both in seconds of the epoch."""


def metrics_page(
    names: str, model: str, counters: Counters, slots: int, *, written: Written = Written(0.0, 0.0)
) -> str:
    """The whole page."""
    used = (counters.running + counters.held_slots) / slots
    if names == "sglang":
        rows = _sglang(model, counters, used, written)
    else:
        rows = _vllm(model, counters, used, written)
    lines = []
    for name, kind, labels, value in rows:
        header = f"# TYPE {name} {kind}"
        if header not in lines:
            lines.append(header)
        lines.append(f"{name}{{{labels}}} {float(value)}" if labels else f"{name} {value!r}")
    return "\n".join(lines) + "\n"


Row = tuple[str, str, str, float]


def loads_page(counters: Counters, *, written_s: float, now_s: float) -> str:
    """SGLang's `/v1/loads`: what the scheduler wrote last, when, and when it is read."""
    row = {
        "timestamp": written_s,
        "dp_rank": 0,
        "num_running_reqs": counters.running,
        "num_waiting_reqs": counters.waiting,
    }
    now = datetime.fromtimestamp(now_s, UTC).isoformat()
    return json.dumps({"timestamp": now, "version": "scripted", "loads": [row]})


def _sglang(model: str, counters: Counters, used: float, written: Written) -> list[Row]:
    front = f'engine_type="unified",model_name="{model}"'
    labels = f'{front},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
    decode = f'engine_type="unified",mode="decode",model_name="{model}",tp_rank="0"'
    alive_s = written.written_s - written.started_s
    endpoint = 'endpoint="/v1/chat/completions",method="POST"'
    rows: list[Row] = [
        ("sglang:num_running_reqs", "gauge", labels, counters.running),
        ("sglang:num_queue_reqs", "gauge", labels, counters.waiting),
        ("sglang:token_usage", "gauge", labels, used),
        ("sglang:prompt_tokens_total", "counter", front, counters.prompt_tokens),
        ("sglang:generation_tokens_total", "counter", front, counters.generated_tokens),
        ("sglang:realtime_tokens_total", "counter", decode, counters.generated_tokens),
        ("sglang:http_requests_total", "counter", endpoint, counters.requests),
        ("sglang:forward_execution_seconds_total", "counter", labels, counters.steps / 1000),
        ("sglang:scheduler_process_cpu_seconds_total", "counter", labels, alive_s / 4),
        ("sglang:scheduler_idle_seconds_total", "counter", labels, alive_s - counters.busy_s),
    ]
    if counters.aborted:  # this series does not exist before the first abort
        rows.append(("sglang:num_aborted_requests_total", "counter", labels, counters.aborted))
    return rows


def _vllm(model: str, counters: Counters, used: float, written: Written) -> list[Row]:
    labels = f'engine="0",model_name="{model}"'
    rows: list[Row] = [
        ("vllm:num_requests_running", "gauge", labels, counters.running),
        ("vllm:num_requests_waiting", "gauge", labels, counters.waiting),
        ("vllm:kv_cache_usage_perc", "gauge", labels, used),
        ("vllm:prompt_tokens_total", "counter", labels, counters.prompt_tokens),
        ("vllm:generation_tokens_total", "counter", labels, counters.generated_tokens),
        ("vllm:iteration_tokens_total_count", "counter", labels, counters.steps),
        ("process_start_time_seconds", "gauge", "", written.started_s),
    ]
    for reason in ("stop", "length", "abort", "error"):
        by_reason = f'engine="0",finished_reason="{reason}",model_name="{model}"'
        count = counters.finished[reason]
        rows.append(("vllm:request_success_total", "counter", by_reason, count))
    return rows
