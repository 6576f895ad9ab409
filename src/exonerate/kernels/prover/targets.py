"""From the name of a target to a runner that calls it.

numpy, torch, torch-split, triton     implementations of this package
flashinfer, flash-attn                installed libraries, on a GPU
module:function, file.py:function     anything that Python can import
exec:COMMAND ARGUMENTS                a program that speaks the line protocol of `exchange`
"""

from __future__ import annotations

import importlib.util
import shlex
from dataclasses import dataclass, field

from exonerate.errors import ExonerateError
from exonerate.kernels.prover.child import EXTRA_HINT, Child, worker


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A target that has a short name."""

    function: str
    needs: tuple[str, ...] = ()
    gpu_only: bool = False
    without_gpu: dict[str, str] = field(default_factory=dict)


BUILT_IN: dict[str, BuiltIn] = {
    "numpy": BuiltIn("exonerate.kernels.reference:attend"),
    "torch": BuiltIn("exonerate.kernels.torch_attention:attend", ("torch",)),
    "torch-split": BuiltIn("exonerate.kernels.torch_attention:attend_split", ("torch",)),
    "triton": BuiltIn(
        "exonerate.kernels.triton_attention:attend",
        ("torch", "triton"),
        # Without a GPU Triton's interpreter runs the kernel, block by block, in NumPy.
        without_gpu={"TRITON_INTERPRET": "1"},
    ),
    "flashinfer": BuiltIn("exonerate.kernels.peers:flashinfer", ("torch", "flashinfer"), True),
    "flash-attn": BuiltIn("exonerate.kernels.peers:flash_attn", ("torch", "flash_attn"), True),
}


def open_target(
    name: str,
    *,
    arrays: str = "auto",
    device: str = "cpu",
    limit_s: float = 20.0,
    empty_lse: float | None = None,
) -> Child:
    """Start the target; whoever opens it closes it. With `empty_lse` the function is a merge."""
    if name.startswith("exec:"):
        command = shlex.split(name.removeprefix("exec:"))
        if not command:
            raise ExonerateError("`exec:` names no command", "write `exec:./attend --flag`")
        return Child(command, introduces=False, limit_s=limit_s)
    built_in = BUILT_IN.get(name)
    if built_in is not None:
        return _open_built_in(name, built_in, device=device, limit_s=limit_s)
    if ":" not in name:
        raise ExonerateError(
            f"`{name}` is no target",
            f"choose from {', '.join(BUILT_IN)}, or write `module:function` or `exec:COMMAND`",
        )
    return worker(name, arrays=arrays, device=device, limit_s=limit_s, empty_lse=empty_lse)


def require(*modules: str) -> None:
    """Refuse, with what to install, when an optional module is missing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        ours = set(missing) <= {"torch", "triton"}
        raise ExonerateError(
            f"`{missing[0]}` is not installed",
            EXTRA_HINT if ours else f"install `{missing[0]}` beside a GPU build of torch",
        )


def _open_built_in(name: str, built_in: BuiltIn, *, device: str, limit_s: float) -> Child:
    require(*built_in.needs)
    if built_in.gpu_only and device == "cpu":
        raise ExonerateError(f"`{name}` runs on a GPU only", "add `--device cuda`")
    environment = built_in.without_gpu if device == "cpu" else {}
    return worker(
        built_in.function,
        arrays="torch" if built_in.needs else "numpy",
        device=device,
        limit_s=limit_s,
        environment=environment,
    )
