"""Compiles the kernels for GPUs that are not here, and says what a block of each costs.

A kernel that compiles may still not launch (ptxas does not check shared memory against the device)
or crawl (registers spilled to memory), so the gate asks for both: no spill, no stack, no more than
255 registers a thread, and shared memory within what one block of that device may have.

    python -m exonerate.kernels.compile_gate        prints the table; exit status 1 on a failure
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
import triton.backends.nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from exonerate.core.waves.occupancy import KernelResources, Occupancy, limits_of, occupancy
from exonerate.kernels.triton_attention import (
    FIXED_OPTIONS,
    Tiles,
    combine_warps,
    split_dims,
    tiles_for,
)
from exonerate.kernels.triton_kernels import combine_kernel, split_kernel

TOOLS = Path(triton.backends.nvidia.__file__).parent / "bin"
MATRIX_INSTRUCTION = re.compile(r"\bmma\.sync|\bwgmma\.mma_async|\btcgen05\.mma")
POINTEE = {"fp32": "fp32", "fp16": "fp16", "bf16": "bf16", "fp8": "fp8e4nv"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One kernel, for one device and one shape."""

    kernel: str  # split | combine
    capability: str
    dtype: str = "bf16"
    kv_dtype: str = ""
    dim: int = 128
    dim_v: int = 0
    group: int = 4
    page_size: int = 16
    partial_dtype: str = "fp32"
    latent: bool = False
    tiles: Tiles | None = None

    @property
    def name(self) -> str:
        """What it is, for a table."""
        kv = f"/{self.kv_dtype}" if self.kv_dtype else ""
        shape = f"d{self.dim} g{self.group}" + (" latent" if self.latent else "")
        return f"{self.kernel} sm_{self.capability.replace('.', '')} {self.dtype}{kv} {shape}"


BUILDS = (
    Build(kernel="split", capability="12.0"),
    Build(kernel="split", capability="12.0", dtype="fp16", dim=64, page_size=0),
    Build(kernel="split", capability="12.0", dtype="fp32"),
    Build(kernel="split", capability="12.0", kv_dtype="fp8"),
    Build(kernel="split", capability="12.0", dim=576, dim_v=512, group=16, latent=True),
    Build(kernel="split", capability="12.0", group=32, partial_dtype="bf16"),
    Build(kernel="combine", capability="12.0"),
    Build(kernel="combine", capability="12.0", dim=512, partial_dtype="bf16"),
    Build(kernel="split", capability="9.0"),
    Build(kernel="split", capability="9.0", dim=576, dim_v=512, group=16, latent=True),
    Build(kernel="split", capability="10.0"),
    Build(kernel="split", capability="10.0", dim=576, dim_v=512, group=16, latent=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one block of a build takes, as the compiler says."""

    build: Build
    registers: int
    stack_bytes: int
    spills: int
    shared_bytes: int
    shared_bytes_max: int
    matrix_instructions: int
    occupancy: Occupancy

    def complaints(self) -> list[str]:
        """Why this build must not ship; empty when it may."""
        found = []
        if self.spills or self.stack_bytes:
            found.append(f"{self.spills} spills, {self.stack_bytes} bytes of stack")
        if self.shared_bytes > self.shared_bytes_max:
            found.append(f"{self.shared_bytes} bytes of shared memory of {self.shared_bytes_max}")
        if self.occupancy.ctas_per_sm == 0:
            found.append("no block fits on an SM")
        if not self.matrix_instructions and self.build.kernel == "split" and self._has_matrices():
            found.append("no matrix instruction")
        return found

    def _has_matrices(self) -> bool:
        return self.build.dtype != "fp32"  # exact float32 products are not made by tensor cores


def cost_of(build: Build) -> Cost:
    """Compile one build and read what it costs."""
    source, warps, stages = source_of(build)
    major, minor = build.capability.split(".")
    target = GPUTarget("cuda", int(major) * 10 + int(minor), 32)
    options = {"num_warps": warps, "num_stages": stages, **FIXED_OPTIONS}
    compiled = triton.compile(source, target=target, options=options)
    limits = limits_of(build.capability)
    registers, stack_bytes, spills = _resources(compiled.asm["cubin"])
    shared_bytes = int(compiled.metadata.shared)
    kernel = KernelResources(registers, shared_bytes, warps * 32)
    return Cost(
        build=build,
        registers=registers,
        stack_bytes=stack_bytes,
        spills=spills,
        shared_bytes=shared_bytes,
        shared_bytes_max=limits.shared_bytes_per_cta,
        matrix_instructions=len(
            re.findall(r"\b(?:wgmma\.)?mma(?:\.sync|_async)|tcgen05\.mma", compiled.asm["ptx"])
        ),
        occupancy=occupancy(kernel, limits),
    )


def source_of(build: Build) -> tuple[Any, int, int]:
    """The kernel with its types and constants, its warps and its pipeline stages."""
    kernel: Any = split_kernel if build.kernel == "split" else combine_kernel
    tiles = build.tiles or tiles_for(build.dim, build.group, exact_products=build.dtype == "fp32")
    constants = _split_constants(build, tiles)
    warps, stages = tiles.warps, tiles.stages
    if build.kernel == "combine":
        constants = _combine_constants(build)
        warps, stages = combine_warps(build.dim_v or build.dim), 1
    signature = {
        name: "constexpr" if name in constants else _type_of(name, build)
        for name in kernel.arg_names
    }
    # What the launcher would find: pointers and strides are multiples of 16.
    aligned = {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(kernel.arg_names)
        if name.endswith(("_ptr", "_stride"))
    }
    return ASTSource(kernel, signature, constants, aligned), warps, stages


def _split_constants(build: Build, tiles: Tiles) -> dict[str, int | bool]:
    main, rest = split_dims(build.dim)
    dim_v = build.dim_v or build.dim
    return {
        "KV_HEADS": 1 if build.latent else 8,
        "GROUP": build.group,
        "DIM": build.dim,
        "DIM_MAIN": main,
        "DIM_REST": rest,
        "DIM_V": dim_v,
        "BLOCK_REST": max(triton.next_power_of_2(rest), 16),
        "BLOCK_V": triton.next_power_of_2(dim_v),
        "BLOCK_H": tiles.heads,
        "BLOCK_N": tiles.tokens,
        "PAGE_SIZE": build.page_size,
        "SOFTCAP": False,
        "HEADROOM": build.dtype != "fp16",
        "NARROW": build.partial_dtype != "fp32",
        "LATENT": build.latent,
    }


def _combine_constants(build: Build) -> dict[str, int | bool]:
    dim_v = build.dim_v or build.dim
    return {
        "Q_HEADS": 32,
        "DIM_V": dim_v,
        "BLOCK_V": triton.next_power_of_2(dim_v),
        "BLOCK_S": 16,
        "SINKS": True,
        "HEADROOM": build.dtype != "fp16",
        "NARROW": build.partial_dtype != "fp32",
    }


def _type_of(name: str, build: Build) -> str:
    types = {
        "q_ptr": f"*{POINTEE[build.dtype]}",
        "out_ptr": f"*{POINTEE[build.dtype]}",
        "k_ptr": f"*{POINTEE[build.kv_dtype or build.dtype]}",
        "v_ptr": f"*{POINTEE[build.kv_dtype or build.dtype]}",
        "acc_ptr": f"*{POINTEE[build.partial_dtype]}",
        "pages_ptr": "*i64",
        "lengths_ptr": "*i64",
        "scale": "fp32",
        "softcap": "fp32",
    }
    if name in types:
        return types[name]
    return "*fp32" if name.endswith("_ptr") else "i32"


def _resources(cubin: bytes) -> tuple[int, int, int]:
    """Registers a thread, bytes of stack, and loads and stores of spilled registers."""
    with tempfile.TemporaryDirectory(prefix="exonerate-gate-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        usage = _cuobjdump("--dump-resource-usage", path)
        code = _cuobjdump("-sass", path)
    found = re.search(r"REG:(\d+) STACK:(\d+)", usage)
    assert found is not None, usage
    return int(found[1]), int(found[2]), len(re.findall(r"\b(?:STL|LDL)\b", code))


def _cuobjdump(option: str, path: Path) -> str:
    done = subprocess.run(
        [TOOLS / "cuobjdump", option, path], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def table(costs: list[Cost]) -> Iterator[str]:
    """One line a build."""
    yield f"{'build':<40}{'regs':>5}{'stack':>6}{'spills':>7}{'shared':>8}  blocks/SM (limit)"
    for cost in costs:
        fits = f"{cost.occupancy.ctas_per_sm} ({cost.occupancy.limited_by})"
        yield (
            f"{cost.build.name:<40}{cost.registers:>5}{cost.stack_bytes:>6}{cost.spills:>7}"
            f"{cost.shared_bytes:>8}  {fits:<20}{'; '.join(cost.complaints())}"
        ).rstrip()


def main() -> int:
    """Compile every build, print what it costs, and say whether all may ship."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        print("error: Triton's interpreter compiles nothing", file=sys.stderr)  # noqa: T201
        print("\nhint: unset TRITON_INTERPRET", file=sys.stderr)  # noqa: T201
        return 2
    costs = []
    for build in BUILDS:
        costs.append(cost_of(build))
        print(build.name, file=sys.stderr)  # noqa: T201  # progress of a program of its own
    for line in table(costs):
        print(line)  # noqa: T201  # its answer
    return int(any(cost.complaints() for cost in costs))


if __name__ == "__main__":
    sys.exit(main())
