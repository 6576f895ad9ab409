"""Options that `splitk plan` and `splitk fit` share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from exonerate.core.waves.device import Device, Residency, device_of
from exonerate.core.waves.gpus import Gpu, gpu_named, gpu_with_sms
from exonerate.core.waves.occupancy import KernelResources
from exonerate.errors import ExonerateError

GPU_ASSUMED = "RTX PRO 6000 Blackwell"
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """The device options as they were typed."""

    gpu: str | None
    sms: int | None
    ctas_per_sm: str
    kernel: str | None
    capability: str | None
    co_resident: str


def device_options(command: Command) -> Command:
    """Adds the options that say on what the kernel runs."""
    for option in reversed(_DEVICE):
        command = option(command)
    return command


_DEVICE = (
    click.option("--gpu", help=f"GPU by name (default: {GPU_ASSUMED}, said in the answer)."),
    click.option("--sms", type=int, help="Number of SMs, for a GPU that the table lacks."),
    click.option(
        "--ctas-per-sm",
        default="1",
        show_default=True,
        help="CTAs of the kernel on one SM at a time, or `auto` with --kernel.",
    ),
    click.option(
        "--kernel",
        metavar="REGISTERS,SHARED,THREADS",
        help="Registers per thread, shared bytes and threads of a compiled CTA, for `auto`.",
    ),
    click.option("--capability", help="Compute capability such as 12.0, where --sms is given."),
    click.option(
        "--co-resident",
        type=click.Choice(["independent", "shared"]),
        default="independent",
        show_default=True,
        help="Whether CTAs on one SM run as if alone, or share it so that they gain nothing.",
    ),
)


def device_from(options: DeviceOptions) -> Device:
    """The device that the options describe; raises ExonerateError where they do not fit."""
    gpu = _gpu(options)
    kernel = None if options.kernel is None else _kernel(options.kernel)
    if options.ctas_per_sm == "auto" and kernel is None:
        raise ExonerateError(
            "`--ctas-per-sm auto` needs the compiled kernel's resources",
            "add `--kernel REGISTERS,SHARED,THREADS`, such as `--kernel 208,22528,128`",
        )
    count = 1 if options.ctas_per_sm == "auto" else _whole(options.ctas_per_sm, "--ctas-per-sm")
    return device_of(gpu, Residency(count, kernel, options.co_resident == "shared"))


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers from `48,64`, `48:96` or `48:96:16`, in that order, each once."""
    found: list[int] = []
    for part in text.split(","):
        bounds = [_whole(bound, option) for bound in part.split(":")]
        found.extend(_span(bounds, part, option))
    return tuple(dict.fromkeys(found))


def plot_form(path: Path) -> str:
    """`svg` or `png` from the file's name; raises ExonerateError for another."""
    form = path.suffix.lower().removeprefix(".")
    if form not in ("svg", "png"):
        raise ExonerateError(
            f"`{path}` is neither SVG nor PNG", "name the plot `something.svg` or `something.png`"
        )
    return form


def write_plot(path: Path, content: bytes) -> None:
    """Write the plot and say so on stderr."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be written: {error.strerror}", "give `--plot` a writable place"
        ) from error
    click.echo(f"plot: {path}", err=True)


def no_matplotlib() -> ExonerateError:
    """The error for a missing `plots` extra."""
    return ExonerateError(
        "plots need Matplotlib, which is not installed", "run `pip install 'exonerate[plots]'`"
    )


_SPAN_MAX = 8192


def _span(bounds: list[int], part: str, option: str) -> range:
    if len(bounds) == 1:
        return range(bounds[0], bounds[0] + 1)
    low, high = bounds[0], bounds[1]
    step = bounds[2] if len(bounds) == 3 else 1
    if len(bounds) > 3 or step < 1 or high < low or (high - low) // step >= _SPAN_MAX:
        raise ExonerateError(
            f"{option}: `{part}` is not a range", "write low:high or low:high:step, such as 8:96:8"
        )
    return range(low, high + 1, step)


def _gpu(options: DeviceOptions) -> Gpu:
    if options.gpu is not None and options.sms is not None:
        raise ExonerateError("`--gpu` and `--sms` say the same thing twice", "give one of them")
    if options.sms is not None:
        gpu = gpu_with_sms(options.sms)
        return replace(gpu, capability=options.capability or "")
    if options.gpu is not None:
        return gpu_named(options.gpu)
    return replace(gpu_named(GPU_ASSUMED), assumed=True)


def _kernel(text: str) -> KernelResources:
    parts = text.split(",")
    if len(parts) != 3:
        raise ExonerateError(
            f"--kernel `{text}` is not three numbers",
            "write registers per thread, shared bytes and threads, such as `208,22528,128`",
        )
    registers, shared, threads = (_whole(part, "--kernel") for part in parts)
    return KernelResources(registers, shared, threads)


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ExonerateError(
            f"{option}: `{text}` is not a whole number", f"see `{option}` in `--help`"
        ) from error
