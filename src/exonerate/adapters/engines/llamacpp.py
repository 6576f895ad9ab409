"""Series of llama.cpp's server (`--metrics`); it exports no request counter."""

from exonerate.adapters.engines.names import SeriesNames

SERIES = SeriesNames(
    "llama.cpp",
    {
        "running": ("llamacpp:requests_processing",),
        "waiting": ("llamacpp:requests_deferred",),
        "generated_tokens": ("llamacpp:tokens_predicted_total",),
        "prompt_tokens": ("llamacpp:prompt_tokens_total",),
        "steps": ("llamacpp:n_decode_total",),
    },
)
