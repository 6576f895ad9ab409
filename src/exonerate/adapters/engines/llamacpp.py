"""Series of llama.cpp's server (`--metrics`); it exports no request counter.

Its metrics page and `/slots` are answered by the loop that computes, between two steps: they come
late while it reads a long prompt, and are true when they come.
"""

from collections.abc import Mapping

from exonerate.adapters.engines.names import SeriesNames
from exonerate.core.json_access import at, parse_json


def read_slots(page: str) -> Mapping[str, float]:
    """How many slots work at the moment, from `/slots` (`--slots`)."""
    slots = parse_json(page)
    if not isinstance(slots, list) or not slots:
        return {}
    busy = [at(slot, "is_processing") for slot in slots]
    if not all(isinstance(state, bool) for state in busy):
        return {}
    return {"busy_slots": float(sum(state is True for state in busy))}


SERIES = SeriesNames(
    "llama.cpp",
    {
        "running": ("llamacpp:requests_processing",),
        "waiting": ("llamacpp:requests_deferred",),
        "generated_tokens": ("llamacpp:tokens_predicted_total",),
        "prompt_tokens": ("llamacpp:prompt_tokens_total",),
        "steps": ("llamacpp:n_decode_total",),
    },
    state_path="/slots",
    read_state=read_slots,
    asks_scheduler=True,
)
