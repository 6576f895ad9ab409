"""Asking for the GPUs of this host.

Hosts that run these tests need no GPU, so that a script on PATH stands in for `nvidia-smi`: it
prints what the real one is documented to print. That there is none is tried for real.
"""

from pathlib import Path

import pytest

from exonerate.adapters.gpus import gpu_tool, kernel_messages, read_gpus
from exonerate.core.diagnosis.gpu_readings import QUERIES, KernelSaid

HEADER = QUERIES[0].replace(",", ", ")
ROW = "0, 00000000:65:00.0, 41, 97, 7, 9, 0, " + "Not Active, " * 4 + "Active"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where to write the script; it is the only program on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "nvidia-smi"


def written(path: Path, script: str) -> str:
    """The script as a program; returns the tool that is found."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    tool = gpu_tool()
    assert tool == str(path)
    return tool


def test_where_the_tool_is_not_there_nobody_is_asked(stand_in: Path) -> None:
    """Nothing is started, and nothing goes wrong."""
    assert gpu_tool() is None
    assert read_gpus(str(stand_in)).gpus == ()


def test_the_tools_table_is_read(stand_in: Path) -> None:
    """Every GPU with its reasons for slow clocks."""
    tool = written(stand_in, f"echo '{HEADER}'\necho '{ROW}'")
    reading = read_gpus(tool)
    assert reading.error is None
    assert [(gpu.index, gpu.busy, gpu.slowed) for gpu in reading.gpus] == [
        (0, 0.97, ("sw_power_cap",))
    ]


def test_an_older_driver_is_asked_by_its_own_names(stand_in: Path) -> None:
    """It refuses names that came later with exit status 2."""
    old = QUERIES[1].replace(",", ", ")
    script = (
        'case "$1" in *event_reasons*) echo "Field is not a valid field to query."; exit 2;; esac\n'
        f"echo '{old}'\necho '{ROW}'"
    )
    reading = read_gpus(written(stand_in, script))
    assert [gpu.slowed for gpu in reading.gpus] == [("sw_power_cap",)]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("exit 15", "lost"),
        ("echo 'Unable to determine the device handle for GPU0: Unknown Error'; exit 255", "lost"),
        ("echo 'NVIDIA-SMI has failed'; exit 9", "failed"),
        ("exit 2", "failed"),
        ("while :; do :; done", "no-answer"),
    ],
)
def test_a_tool_that_fails_says_how(stand_in: Path, script: str, error: str) -> None:
    """A GPU that is lost is news; a driver that is not loaded is not; nobody waits for ever."""
    reading = read_gpus(written(stand_in, script), timeout_s=0.5 if error == "no-answer" else 30.0)
    assert (reading.gpus, reading.error) == ((), error)


def test_messages_of_the_kernel_that_may_not_be_read_are_missing(tmp_path: Path) -> None:
    """With the reason; and what is no message says nothing."""
    assert kernel_messages(tmp_path / "kmsg") == ([], "No such file or directory")
    record = "3,901,8123456,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n"
    (tmp_path / "kmsg").write_text(record)
    assert kernel_messages(tmp_path / "kmsg") == (
        [KernelSaid("xid", 8123456, 79, "65:00")], None,
    )  # fmt: skip
