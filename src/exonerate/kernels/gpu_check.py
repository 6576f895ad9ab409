"""Checks the kernels on the NVIDIA GPU that is here and writes one JSON file; under eight minutes.

    scripts/gpu-check OUT.json

For each implementation that can run: the exactness sweep. Then speed at the shapes of a decode step
against torch SDPA, and FlashInfer and flash-attn where they are installed. A step that does not
fit into its share of the time is cut short, and says so.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from exonerate.core.exactness import proof_document
from exonerate.core.json_types import JsonObject
from exonerate.core.kernel_speed import DecodeShape, speed_document
from exonerate.errors import ExonerateError
from exonerate.kernels.bench import Plan, bench
from exonerate.kernels.prover.prove import Sweep, prove
from exonerate.kernels.prover.targets import BUILT_IN, open_target

SCHEMA = "exonerate.gpu_check/1"

SWEEP_BUDGET_S = {"triton": 210.0, "torch-split": 40.0, "flashinfer": 60.0, "flash-attn": 40.0}
"""First calls compile for seconds, so our kernel has the largest share; in all under 6 minutes."""

SHAPES = tuple(
    DecodeShape(batch=batch, q_heads=32, kv_heads=8, dim=128, tokens=tokens, dtype=dtype)
    for dtype in ("bf16", "fp16")
    for batch, tokens in ((1, 32768), (8, 8192), (64, 4096))
)


def main(arguments: list[str]) -> int:
    """Run everything, write the file, and return 1 when a promise is broken."""
    if len(arguments) != 1:
        raise ExonerateError("one file to write is needed", "call `scripts/gpu-check OUT.json`")
    if not torch.cuda.is_available():
        raise ExonerateError("torch sees no GPU here", "run it where a CUDA build of torch is")
    began = time.monotonic()
    checks = [_check(name, budget_s) for name, budget_s in SWEEP_BUDGET_S.items()]
    document: JsonObject = {
        "schema": SCHEMA,
        "gpu": _gpu(),
        "checks": checks,
        "speed": [
            speed_document(
                bench(Plan(shapes=SHAPES, device="cuda", splits=splits, rounds=20), _say)
            )
            for splits in (1, 8, 32)
        ],
        "elapsed_s": round(time.monotonic() - began, 1),
    }
    Path(arguments[0]).write_text(json.dumps(document, indent=1) + "\n")
    return int(any(check.get("outcome") == "broken" for check in checks if check))


def _check(name: str, budget_s: float) -> dict[str, Any]:
    """The sweep of one implementation, or why there is none."""
    missing = [need for need in BUILT_IN[name].needs if importlib.util.find_spec(need) is None]
    if missing:
        return {"target": name, "outcome": "not_examined", "why": f"no `{missing[0]}` here"}
    try:
        runner = open_target(name, device="cuda", limit_s=60.0)
    except ExonerateError as error:
        return {"target": name, "outcome": "not_examined", "why": error.problem}
    try:
        sweep = Sweep(target=name, budget_s=budget_s, save_in=Path("splitk-findings"))
        return dict(proof_document(prove(runner, sweep, _say)))
    finally:
        runner.close()


def _gpu() -> JsonObject:
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "capability": f"{properties.major}.{properties.minor}",
        "sms": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


def _say(what: str, fraction: float | None) -> None:
    print(f"{(fraction or 0):4.0%} {what}", file=sys.stderr)  # noqa: T201  # a program of its own


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ExonerateError as problem:
        print(f"error: {problem.problem}\n\nhint: {problem.hint}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
