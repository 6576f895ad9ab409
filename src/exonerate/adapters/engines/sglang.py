"""Series of SGLang (read in the source of 0.5.23).

`generation_tokens_total` rises only when a request ends, so the live counter comes first.
"""

from exonerate.adapters.engines.names import SeriesNames

SERIES = SeriesNames(
    "sglang",
    {
        "running": ("sglang:num_running_reqs",),
        "waiting": ("sglang:num_queue_reqs",),
        "generated_tokens": ("sglang:realtime_tokens_total", "sglang:generation_tokens_total"),
        "prompt_tokens": ("sglang:prompt_tokens_total",),
        "steps": ("sglang:scheduler_stage_seconds_total",),
        "requests": ("sglang:http_requests_total", "sglang:num_requests_total"),
        "aborted": ("sglang:num_aborted_requests_total",),
        "kv_usage": ("sglang:token_usage",),
    },
)
