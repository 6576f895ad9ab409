"""Times implementations of decode attention side by side in one run.

Rounds alternate between the implementations, in another order each round, so that what else the
machine does falls on all of them; speed is compared within a round. The memory's own speed is
measured in the same run: a decode step can be no faster than reading its KV cache once.
"""

from __future__ import annotations

import importlib.metadata
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from exonerate.core.kernel_speed import DecodeShape, SpeedReport, Timing
from exonerate.errors import ExonerateError
from exonerate.kernels import torch_attention

Tensor = Any
Step = Callable[[], Any]

TORCH_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
BASELINE = "sdpa-packed"
WARM_UP = 2
COPY_BYTES = 512 * 2**20
"""More than any cache of a CPU or GPU of today holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to time."""

    shapes: Sequence[DecodeShape]
    rounds: int = 15
    device: str = "cpu"
    splits: int = 8
    seed: int = 0


def bench(plan: Plan, progress: Callable[[str, float | None], None]) -> SpeedReport:
    """Every implementation at every shape."""
    if plan.rounds < 1:
        raise ExonerateError(f"{plan.rounds} rounds time nothing", "give at least 1")
    if plan.device != "cpu" and not torch.cuda.is_available():
        raise ExonerateError("torch sees no GPU here", "leave `--device` out to time the CPU")
    timings: list[Timing] = []
    not_measured: list[str] = []
    for number, shape in enumerate(plan.shapes):
        progress(f"{shape.dtype} {shape.tokens} tokens", number / len(plan.shapes))
        timings += _time_shape(plan, shape, not_measured)
    copy_gb_s, read_gb_s = memory_speed(plan.device, plan.rounds)
    return SpeedReport(
        device=_device_name(plan.device),
        baseline=BASELINE,
        timings=timings,
        copy_gb_s=copy_gb_s,
        read_gb_s=read_gb_s,
        threads=torch.get_num_threads(),
        not_measured=not_measured,
        versions=_versions(),
    )


def _time_shape(plan: Plan, shape: DecodeShape, not_measured: list[str]) -> list[Timing]:
    steps: dict[str, Step] = {}
    for name, step in implementations(shape, plan.device, plan.splits).items():
        try:
            for _ in range(WARM_UP):
                step()
            _wait(plan.device)
            steps[name] = step
        except (ImportError, RuntimeError, ValueError, TypeError) as error:
            not_measured.append(f"{name} {shape.dtype}: {str(error).splitlines()[0][:120]}")
    if BASELINE not in steps:
        return []
    spent: dict[str, list[float]] = {name: [] for name in steps}
    order = list(steps)
    shuffler = random.Random(plan.seed)
    for _ in range(plan.rounds):
        shuffler.shuffle(order)
        for name in order:
            spent[name].append(_once(steps[name], plan.device))
    return [_timing(name, shape, spent) for name in spent]


def implementations(shape: DecodeShape, device: str, splits: int) -> dict[str, Step]:
    """One step of each implementation on the same tensors, the baseline first."""
    generator = torch.Generator(device).manual_seed(0)
    kind = TORCH_DTYPES[shape.dtype]
    kv_shape = (shape.batch, shape.tokens, shape.kv_heads, shape.dim)
    q = torch.randn(shape.batch, shape.q_heads, shape.dim, generator=generator, device=device)
    q = q.to(kind)
    # Heads inside tokens, as an engine's cache is written: (batch, tokens, kv_heads, dim).
    k, v = (torch.randn(kv_shape, generator=generator, device=device).to(kind) for _ in range(2))
    lengths = torch.full((shape.batch,), shape.tokens)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    group = shape.q_heads // shape.kv_heads
    q_packed = q.view(shape.batch, shape.kv_heads, group, shape.dim)
    k_heads, v_heads = k.transpose(1, 2), v.transpose(1, 2)  # (batch, kv_heads, tokens, dim)
    steps: dict[str, Step] = {
        BASELINE: lambda: sdpa(q_packed, k_heads, v_heads),
        "sdpa-gqa": lambda: sdpa(q[:, :, None], k_heads, v_heads, enable_gqa=True),
        "torch-split": lambda: torch_attention.attend_split(q, k, v, lengths, splits),
    }
    if device == "cpu":
        steps["ours"] = lambda: torch_attention.attend(q, k, v, lengths)
    else:
        del steps["torch-split"]  # a loop over sequences on the host says nothing about a GPU
        steps |= _gpu_implementations(q, k, v, lengths, splits)
    return steps


def _gpu_implementations(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, splits: int
) -> dict[str, Step]:
    from exonerate.kernels import peers, triton_attention  # Triton is not there on every machine

    return {
        "ours": lambda: triton_attention.attend(q, k, v, lengths, splits),
        "flashinfer": peers.flashinfer_step(q, k, v, lengths),
        "flash-attn": lambda: peers.flash_attn(q, k, v, lengths, 0),
    }


def memory_speed(device: str, rounds: int) -> tuple[float, float]:
    """GB/s of a large copy (reads and writes counted) and of reading the same memory."""
    source = torch.ones(COPY_BYTES // 4, device=device)
    target = torch.empty_like(source)
    copies = [_once(lambda: target.copy_(source), device) for _ in range(max(rounds, 3))]
    reads = [_once(source.sum, device) for _ in range(max(rounds, 3))]
    return 2 * COPY_BYTES / min(copies) / 1e9, COPY_BYTES / min(reads) / 1e9


def _once(step: Step, device: str) -> float:
    _wait(device)
    began = time.perf_counter()
    step()
    _wait(device)
    return time.perf_counter() - began


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def _timing(name: str, shape: DecodeShape, spent: dict[str, list[float]]) -> Timing:
    own = spent[name]
    ratios = [base / mine for base, mine in zip(spent[BASELINE], own, strict=True)]
    quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    median = statistics.median(own)
    return Timing(
        name=name,
        shape=shape,
        rounds=len(own),
        median_ms=median * 1e3,
        least_ms=min(own) * 1e3,
        kv_gb_s=shape.kv_bytes / median / 1e9,
        ratio=statistics.median(ratios),
        ratio_low=quartiles[0],
        ratio_high=quartiles[2],
    )


def _device_name(device: str) -> str:
    return "CPU" if device == "cpu" else str(torch.cuda.get_device_name(device))


def _versions() -> dict[str, str]:
    installed = {dist.metadata["Name"] for dist in importlib.metadata.distributions()}
    names = ("torch", "triton", "flashinfer-python", "flash-attn")
    return {name: importlib.metadata.version(name) for name in names if name in installed}
