"""Series of vLLM (read in the source of 0.32; older names after the newer ones)."""

from exonerate.adapters.engines.names import SeriesNames

SERIES = SeriesNames(
    "vllm",
    {
        "running": ("vllm:num_requests_running",),
        "waiting": ("vllm:num_requests_waiting",),
        "generated_tokens": ("vllm:generation_tokens_total",),
        "prompt_tokens": ("vllm:prompt_tokens_total",),
        "steps": ("vllm:iteration_tokens_total_count",),
        "requests": ("vllm:request_success_total",),
        "started_at": ("process_start_time_seconds",),
        "kv_usage": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    },
)
