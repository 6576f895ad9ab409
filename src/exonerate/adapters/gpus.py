"""Asks `nvidia-smi` for the GPUs of this host, and the kernel for what it said of them.

Where the command is not there nothing is asked and nothing said. It may hang with its driver: it is
given `TIMEOUT_S`, then killed, and not waited for much longer, since a process that waits in the
driver cannot be ended.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.diagnosis.gpu_readings import (
    LOST,
    QUERIES,
    GpuState,
    KernelSaid,
    parse_gpus,
    parse_kernel,
)

TOOL = "nvidia-smi"
TIMEOUT_S = 5.0
KILLED_S = 1.0
RECORD_BYTES_MAX = 8192
RECORDS_MAX = 50_000
_LOST_STATUS = 15
_WRONG_FIELD_STATUS = 2
KERNEL_LOG = Path("/dev/kmsg")


@dataclass(frozen=True, slots=True)
class GpuReading:
    """The GPUs at one moment; `error` is `lost`, `no-answer` or `failed` where there is none."""

    gpus: tuple[GpuState, ...] = ()
    error: str | None = None


def gpu_tool() -> str | None:
    """The command's path, if it is installed."""
    return shutil.which(TOOL)


def read_gpus(tool: str, *, timeout_s: float = TIMEOUT_S) -> GpuReading:
    """Every GPU of this host as it is now."""
    reading = GpuReading(error="failed")
    for query in QUERIES:
        status, output = _asked([tool, f"--query-gpu={query}", "--format=csv"], timeout_s)
        if status is None:
            return GpuReading(error="no-answer")
        if status == _LOST_STATUS or LOST.search(output):
            return GpuReading(tuple(parse_gpus(output)), "lost")
        if status != _WRONG_FIELD_STATUS:
            gpus = tuple(parse_gpus(output))
            return GpuReading(gpus, None if status == 0 else "failed")
    return reading


def _asked(command: list[str], timeout_s: float) -> tuple[int | None, str]:
    """Exit status and output; no status when it took too long."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError:
        return 1, ""
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _given_up(process)
        return None, ""
    return process.returncode, output


def _given_up(process: subprocess.Popen[str]) -> None:
    process.kill()
    if process.stdout is not None:
        process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_S)


def kernel_messages(path: Path = KERNEL_LOG) -> tuple[list[KernelSaid], str | None]:
    """What the kernel has said of GPUs and memory since the start, or why it may not be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return [], error.strerror
    try:
        records = list(_records(descriptor))
    except OSError as error:
        return [], error.strerror
    finally:
        os.close(descriptor)
    return [said for record in records if (said := parse_kernel(record)) is not None], None


def _records(descriptor: int) -> Iterator[str]:
    """Each read gives one record, until there are no more."""
    for _ in range(RECORDS_MAX):
        try:
            record = os.read(descriptor, RECORD_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue  # overwritten while it was read; the next one is there
            raise
        if not record:
            return
        yield record.decode("utf-8", "replace")
