"""A benchmark as evidence of a case: what it measured, in one line and in full."""

from __future__ import annotations

from typing import Any

from exonerate.core.case.model import Case
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock
from exonerate.jobs.case import CaseBook


def record_bench(answer: JsonObject, *, case: Case, book: CaseBook, clock: Clock) -> str:
    """Put the answer `exonerate.bench/1` into the case as an observation; the evidence's id."""
    return book.add_observation(
        case,
        source="exonerate bench",
        content={"text": headline(answer), "bench": answer},
        clock=clock,
    )


def headline(answer: JsonObject) -> str:
    """The run in one line; a result that measured the client says so first."""
    tree: Any = answer
    cells = [_cell(cell) for cell in tree["cells"]]
    invalid = [] if tree["valid"] else [f"invalid: {tree['invalid']}"]
    return "; ".join([*invalid, *cells]) or "nothing was measured"


def _cell(cell: Any) -> str:
    parts = [f"{cell['load']}: {cell['complete']} of {cell['requests']} complete"]
    if cell["output_tokens_per_s"] is not None:
        parts.append(f"{cell['output_tokens_per_s']:,.1f} tok/s")
    for name, label in (("ttft_ms", "TTFT"), ("itl_ms", "ITL")):
        median = cell[name]["p50"]["value"]
        if median is not None:
            parts.append(f"{label} p50 {median:.1f} ms")
    return ", ".join(parts)
