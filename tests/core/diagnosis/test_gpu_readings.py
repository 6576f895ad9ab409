"""What `nvidia-smi` and the kernel say of GPUs.

No GPU is needed: the tables are written here from the documented names of fields and forms of
values, and the messages from the documented form of Xid lines.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.diagnosis.gpu_readings import (
    QUERIES,
    REASONS,
    XIDS,
    GpuState,
    KernelSaid,
    gpu_from_json,
    gpu_to_json,
    parse_gpus,
    parse_kernel,
)

UNITS = {
    "utilization.gpu": " [%]", "memory.used": " [MiB]", "memory.total": " [MiB]",
}  # fmt: skip
HEADERS = [", ".join(name + UNITS.get(name, "") for name in query.split(",")) for query in QUERIES]
CALM = "0, 00000000:65:00.0, 41, 97 %, 71234 MiB, 97887 MiB, 0, " + "Not Active, " * 4 + "Active"
HOT = "1, 00000000:B3:00.0, 93, 12 %, 512 MiB, 97887 MiB, [N/A], " + "Active, " * 4 + "Not Active"


@pytest.mark.parametrize("header", HEADERS)
def test_a_table_says_how_each_gpu_is(header: str) -> None:
    """With the names that drivers of now and of before give to the reasons of slow clocks."""
    calm, hot = parse_gpus(f"{header}\n{CALM}\n{HOT}\n")
    assert calm == GpuState(
        index=0, bus="65:00", temperature_c=41, busy=0.97, memory_used_mib=71234,
        memory_total_mib=97887, uncorrected=0, slowed=("sw_power_cap",),
    )  # fmt: skip
    assert (hot.bus, hot.uncorrected, hot.broken) == ("b3:00", None, False)
    assert set(hot.slowed) == REASONS.keys() - {"sw_power_cap"}


def test_numbers_come_with_their_unit_or_without() -> None:
    """As `--format=csv,nounits` prints them."""
    (state,) = parse_gpus(HEADERS[0].replace(" [%]", "") + "\n0, 0000:65:00.0, 41, 97, 7, 9, 0")
    assert (state.busy, state.memory_used_mib, state.slowed) == (0.97, 7, ())


@pytest.mark.parametrize("said", ["[GPU requires reset]", "[Unknown Error]", "[GPU is lost]"])
def test_a_gpu_that_cannot_be_used_is_broken(said: str) -> None:
    """Its values are no numbers."""
    (state,) = parse_gpus(f"{HEADERS[0]}\n3, 0000:65:00.0, {said}, {said}, {said}\n")
    assert (state.index, state.broken, state.temperature_c) == (3, True, None)


@pytest.mark.parametrize(
    "text", ["", "No devices were found", "NVIDIA-SMI has failed because it could not talk to it\n"]
)
def test_what_is_no_table_has_no_gpus(text: str) -> None:
    """Nothing is made up."""
    assert parse_gpus(text) == []


def test_xids_carry_their_code_their_gpu_and_their_moment() -> None:
    """In the forms with and without the process, and on a partition of a GPU."""
    said = "NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off"
    assert parse_kernel(f"3,901,8123456,-;{said}") == KernelSaid("xid", 8123456, 79, "65:00")
    part = "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained"
    assert parse_kernel(f"4,902,1,-;{part}") == KernelSaid("xid", 1, 94, "01:00")
    assert XIDS[79] == "fell off the bus"


def test_the_kernels_killing_for_memory_is_seen() -> None:
    """Without the name of what it killed."""
    record = "3,903,77,-;Out of memory: Killed process 4711 (python3) total-vm:1kB"
    assert parse_kernel(record) == KernelSaid("killed-for-memory", 77)


@pytest.mark.parametrize(
    "record",
    [
        "6,904,1,-;usb 1-1: new device",
        "12,905,1,-;NVRM: Xid (PCI:0000:65:00): 79, written by a program and not by the kernel",
        "6,906,1,-;the user said NVRM: Xid (PCI:0000:65:00): 79, pid=1",
        " SUBSYSTEM=pci",
        "",
    ],
)
def test_other_messages_say_nothing(record: str) -> None:
    """Also those that only quote one."""
    assert parse_kernel(record) is None


@given(st.text(max_size=200), st.integers(0, 150), st.integers(0, 40))
def test_no_damage_to_a_table_breaks_the_reader(put: str, at: int, length: int) -> None:
    """What is read can be written down and read again."""
    table = f"{HEADERS[0]}\n{CALM}\n{HOT}\n"
    for text in (table[:at] + put + table[at + length :], put):
        for state in parse_gpus(text):
            assert gpu_from_json(gpu_to_json(state)) == state
            assert set(state.slowed) <= REASONS.keys()


@given(st.text(max_size=200), st.sampled_from(["3,1,9,-;NVRM: Xid (PCI:", "3,1,9,-;", ""]))
def test_no_message_breaks_the_reader(text: str, known: str) -> None:
    """Codes and moments are numbers of the record."""
    read = parse_kernel(known + text)
    assert read is None or (read.code >= 0 and read.at_us >= 0)
