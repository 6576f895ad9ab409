"""Series of SGLang (read in the source of 0.5.23).

`generation_tokens_total` rises only when a request ends, so the live counter comes first. The
seconds of the scheduler's stages are no steps: they run on while it is idle. Gauges are written
with a prefill, with every 40th decode step (`--decode-log-interval`), and every 30 s while nothing
is to do; `/v1/loads` shows what the scheduler wrote with its last step, and when.
"""

from collections.abc import Mapping
from datetime import datetime

from exonerate.adapters.engines.names import SeriesNames
from exonerate.core.json_access import at, number_at, object_of, parse_json, text_at

GAUGE_LAG_S = 30.0


def read_loads(page: str) -> Mapping[str, float]:
    """Load and age of it, from `/v1/loads`; of several ranks the oldest tells the age."""
    value = parse_json(page)
    loads = at(value, "loads")
    now_s = _seconds(text_at(value, "timestamp"))
    if not isinstance(loads, list) or not loads or now_s is None:
        return {}
    rows = [object_of(row) for row in loads]
    written = [number_at(row, "timestamp") or 0.0 for row in rows]
    running = [number_at(row, "num_running_reqs") for row in rows]
    waiting = [number_at(row, "num_waiting_reqs") for row in rows]
    if None in running or None in waiting or min(written) <= 0:
        return {}
    return {
        "running": sum(number for number in running if number is not None),
        # The queues between prefill and decode are counted among these.
        "waiting": sum(number for number in waiting if number is not None),
        "pair_queues": 0.0,
        "state_age_s": max(0.0, now_s - min(written)),
    }


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


SERIES = SeriesNames(
    "sglang",
    {
        "running": ("sglang:num_running_reqs",),
        "waiting": ("sglang:num_queue_reqs",),
        "pair_queues": (
            "sglang:num_prefill_bootstrap_queue_reqs",
            "sglang:num_prefill_inflight_queue_reqs",
            "sglang:num_decode_prealloc_queue_reqs",
            "sglang:num_decode_transfer_queue_reqs",
        ),
        "generated_tokens": ("sglang:realtime_tokens_total", "sglang:generation_tokens_total"),
        "prompt_tokens": ("sglang:prompt_tokens_total",),
        "steps": ("sglang:forward_execution_seconds_total",),
        "requests": ("sglang:http_requests_total", "sglang:num_requests_total"),
        "aborted": ("sglang:num_aborted_requests_total",),
        "kv_usage": ("sglang:token_usage",),
        "heartbeat": ("sglang:scheduler_process_cpu_seconds_total",),
        "idle_s": ("sglang:scheduler_idle_seconds_total",),
    },
    state_path="/v1/loads?include=core",
    read_state=read_loads,
    gauge_lag_s=GAUGE_LAG_S,
)
