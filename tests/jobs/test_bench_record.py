"""The one line by which a case remembers a benchmark."""

from __future__ import annotations

from exonerate.core.json_types import Json, JsonObject
from exonerate.jobs.bench_record import headline


def cell(load: str, rate: float | None, ttft: float | None) -> dict[str, Json]:
    """What a cell's answer holds of this."""
    return {
        "load": load,
        "requests": 10,
        "complete": 9,
        "output_tokens_per_s": rate,
        "ttft_ms": {"p50": {"value": ttft}},
        "itl_ms": {"p50": {"value": None}},
    }


def test_each_load_is_in_the_line_with_what_is_known_of_it() -> None:
    """What was not measured is left out, not shown as zero."""
    answer: JsonObject = {"valid": True, "invalid": None, "cells": [cell("C8", 81.25, 40.0)]}
    assert headline(answer) == "C8: 9 of 10 complete, 81.2 tok/s, TTFT p50 40.0 ms"
    bare: JsonObject = {"valid": True, "invalid": None, "cells": [cell("C1", None, None)]}
    assert headline(bare) == "C1: 9 of 10 complete"


def test_a_result_that_measured_the_client_says_so_first() -> None:
    """Nobody reads a client-bound number as one of the service."""
    answer: JsonObject = {
        "valid": False,
        "invalid": "client-bound",
        "cells": [cell("C8", 81.25, 40.0)],
    }
    assert headline(answer).startswith("invalid: client-bound; C8")
    assert headline({"valid": True, "invalid": None, "cells": []}) == "nothing was measured"
