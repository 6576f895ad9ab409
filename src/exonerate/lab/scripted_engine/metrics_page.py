"""The engine's counters as Prometheus text, with the names and labels of SGLang or vLLM.

Names and labels as served by sglang 0.5.23 and vllm 0.32.0.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


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
    finished: Counter[str] = field(default_factory=Counter)


def metrics_page(names: str, model: str, counters: Counters, slots: int) -> str:
    """The whole page."""
    used = (counters.running + counters.held_slots) / slots
    rows = _sglang(model, counters, used) if names == "sglang" else _vllm(model, counters, used)
    lines = []
    for name, kind, labels, value in rows:
        header = f"# TYPE {name} {kind}"
        if header not in lines:
            lines.append(header)
        lines.append(f"{name}{{{labels}}} {float(value)}")
    return "\n".join(lines) + "\n"


Row = tuple[str, str, str, float]


def _sglang(model: str, counters: Counters, used: float) -> list[Row]:
    front = f'engine_type="unified",model_name="{model}"'
    labels = f'{front},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
    decode = f'engine_type="unified",mode="decode",model_name="{model}",tp_rank="0"'
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
    ]
    if counters.aborted:  # this series does not exist before the first abort
        rows.append(("sglang:num_aborted_requests_total", "counter", labels, counters.aborted))
    return rows


def _vllm(model: str, counters: Counters, used: float) -> list[Row]:
    labels = f'engine="0",model_name="{model}"'
    rows: list[Row] = [
        ("vllm:num_requests_running", "gauge", labels, counters.running),
        ("vllm:num_requests_waiting", "gauge", labels, counters.waiting),
        ("vllm:kv_cache_usage_perc", "gauge", labels, used),
        ("vllm:prompt_tokens_total", "counter", labels, counters.prompt_tokens),
        ("vllm:generation_tokens_total", "counter", labels, counters.generated_tokens),
        ("vllm:iteration_tokens_total_count", "counter", labels, counters.steps),
    ]
    for reason in ("stop", "length", "abort", "error"):
        by_reason = f'engine="0",finished_reason="{reason}",model_name="{model}"'
        count = counters.finished[reason]
        rows.append(("vllm:request_success_total", "counter", by_reason, count))
    return rows
