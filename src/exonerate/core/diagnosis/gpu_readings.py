"""What `nvidia-smi` and the kernel say of the GPUs of a host: text in, a few facts out.

Names of fields as `nvidia-smi --help-query-gpu` documents them; drivers before R535 call the
reasons of slow clocks `clocks_throttle_reasons`. Messages of the driver begin with "NVRM: Xid
(PCI:0000:65:00): 79," (NVIDIA, "Xid Errors"), those of a kernel that kills for memory with "Out of
memory: Killed process" (Linux, `mm/oom_kill.c`). Records of /dev/kmsg have the form
"priority,sequence,microseconds,flags;text" (Linux, `Documentation/ABI/testing/dev-kmsg`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.instant import NS_PER_S
from exonerate.core.json_access import count_at, number_at, object_of, text_at
from exonerate.core.json_types import JsonObject

REASONS: Mapping[str, str] = {
    "hw_thermal_slowdown": "too hot (hardware)",
    "hw_power_brake_slowdown": "power brake (hardware)",
    "hw_slowdown": "slowed by the hardware",
    "sw_thermal_slowdown": "too hot (driver)",
    "sw_power_cap": "at its power limit",
}
"""Why clocks are lower than they could be. That the power limit is reached is usual under load."""
_PREFIXES = ("clocks_event_reasons", "clocks_throttle_reasons")
_PLAIN_FIELDS = (
    "index", "pci.bus_id", "temperature.gpu", "utilization.gpu", "memory.used", "memory.total",
    "ecc.errors.uncorrected.volatile.total",
)  # fmt: skip
QUERIES = tuple(
    ",".join((*_PLAIN_FIELDS, *(f"{prefix}.{reason}" for reason in REASONS)))
    for prefix in _PREFIXES
)
"""What to ask for, and what to ask older drivers for."""
BROKEN = re.compile(r"GPU requires reset|GPU is lost|Unknown Error|\bERR!", re.IGNORECASE)
"""What stands in the place of a value of a GPU that cannot be used."""
LOST = re.compile(
    r"GPU is lost|fallen off the bus|Unable to determine the device handle", re.IGNORECASE
)
"""What `nvidia-smi` says instead of a table; its exit status is 15 then."""

XIDS: Mapping[int, str] = {
    8: "the GPU stopped processing",
    48: "memory error that could not be corrected",
    61: "its microcontroller failed",
    62: "its microcontroller halted",
    64: "a broken row of memory could not be replaced",
    74: "error of an NVLink",
    79: "fell off the bus",
    94: "memory error, contained",
    95: "memory error, not contained",
    109: "a switch of contexts timed out",
    119: "its system processor did not answer the driver",
    120: "its system processor failed",
    140: "memory error that could not be corrected",
    154: "it needs to be reset",
}
"""Codes that tell of the device or its driver and not of a program's own mistake (NVIDIA, "Xid
Errors"; codes such as 13, 31, 43 and 45 mostly follow a program that fails)."""

_XID = re.compile(
    r"NVRM: Xid \(PCI:(?P<bus>[0-9A-Fa-f:.]{4,20})[^)]{0,20}\)(?::)? (?P<code>\d{1,4})\b"
)
_BUS = re.compile(r"(?:[0-9A-Fa-f]{0,8}:)?([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})(?:\.\d)?")
_KILLED = re.compile(r"Out of memory: Killed process \d{1,10}")
_RECORD = re.compile(r"(?P<priority>\d{1,10}),\d{1,20},(?P<at_us>\d{1,20}),[^;]{0,200};")
_NS_PER_US = 1000
Number: TypeAlias = float | None
KernelWord: TypeAlias = Literal["xid", "killed-for-memory"]


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU at one moment; None where it does not say."""

    index: int
    bus: str | None = None
    temperature_c: Number = None
    busy: Number = None
    """The fraction of the last moments in which a kernel ran."""
    memory_used_mib: Number = None
    memory_total_mib: Number = None
    uncorrected: Number = None
    """Memory errors since the driver was loaded that could not be corrected."""
    slowed: tuple[str, ...] = ()
    """Keys of `REASONS`."""
    broken: bool = False


@dataclass(frozen=True, slots=True)
class KernelSaid:
    """A message of the kernel; `at_us` is its time since the host was started."""

    word: KernelWord
    at_us: int
    code: int = 0
    bus: str | None = None


def parse_gpus(table: str) -> list[GpuState]:
    """The GPUs in a CSV table with a header, as `nvidia-smi --format=csv` prints it."""
    try:
        rows = list(csv.reader(table.splitlines(), skipinitialspace=True))
    except csv.Error:
        return []
    if not rows:
        return []
    names = [name.partition(" [")[0].strip() for name in rows[0]]
    if "index" not in names:
        return []
    return list(_states(names, rows[1:]))


def parse_kernel(record: str) -> KernelSaid | None:
    """What one record of /dev/kmsg says of a GPU or of memory, or None."""
    head = _RECORD.match(record)
    # Only a message's beginning counts: programs can write to the log as well.
    if head is None or int(head["priority"]) >= _KERNEL_BELOW:
        return None
    at_us = int(head["at_us"])
    xid = _XID.match(record, head.end())
    if xid is not None:
        return KernelSaid("xid", at_us, int(xid["code"]), _bus(xid["bus"]))
    killed = _KILLED.match(record, head.end())
    return KernelSaid("killed-for-memory", at_us) if killed else None


_KERNEL_BELOW = 8
"""The number in a record is the facility times 8 and the level; the kernel's own facility is 0."""


def kernel_to_json(said: KernelSaid, now_ns: int) -> JsonObject:
    """A message with its age: the kernel's clock counts from the host's start, as ours does."""
    age_s = (now_ns - said.at_us * _NS_PER_US) / NS_PER_S
    return {"word": said.word, "code": said.code, "bus": said.bus, "age_s": round(age_s, 3)}


def gpu_to_json(state: GpuState) -> JsonObject:
    """What is known of it, for an event or a snapshot."""
    values: JsonObject = {
        "index": state.index, "bus": state.bus, "temperature_c": state.temperature_c,
        "busy": state.busy, "memory_used_mib": state.memory_used_mib,
        "memory_total_mib": state.memory_total_mib, "uncorrected": state.uncorrected,
        "slowed": list(state.slowed), "broken": state.broken,
    }  # fmt: skip
    # A count of 0 is equal to False, and says something.
    return {name: v for name, v in values.items() if v is not None and v is not False and v != []}


def gpu_from_json(value: JsonObject) -> GpuState:
    """The state that `gpu_to_json` wrote."""
    slowed = value.get("slowed")
    reasons = slowed if isinstance(slowed, list | tuple) else ()
    return GpuState(
        index=count_at(value, "index") or 0,
        bus=text_at(value, "bus"),
        temperature_c=number_at(value, "temperature_c"),
        busy=number_at(value, "busy"),
        memory_used_mib=number_at(value, "memory_used_mib"),
        memory_total_mib=number_at(value, "memory_total_mib"),
        uncorrected=number_at(value, "uncorrected"),
        slowed=tuple(str(reason) for reason in reasons),
        broken=object_of(value).get("broken") is True,
    )


def _states(names: list[str], rows: list[list[str]]) -> Iterator[GpuState]:
    for row in rows:
        cells = dict(zip(names, (cell.strip() for cell in row), strict=False))
        index = _number(cells, "index")
        if index is None:
            continue
        busy = _number(cells, "utilization.gpu")
        yield GpuState(
            index=int(index),
            bus=_bus(cells.get("pci.bus_id")),
            temperature_c=_number(cells, "temperature.gpu"),
            busy=None if busy is None else busy / 100,
            memory_used_mib=_number(cells, "memory.used"),
            memory_total_mib=_number(cells, "memory.total"),
            uncorrected=_number(cells, "ecc.errors.uncorrected.volatile.total"),
            slowed=tuple(reason for reason in REASONS if _active(cells, reason)),
            broken=any(BROKEN.search(cell) for cell in row),
        )


def _active(cells: Mapping[str, str], reason: str) -> bool:
    return any(cells.get(f"{prefix}.{reason}") == "Active" for prefix in _PREFIXES)


def _number(cells: Mapping[str, str], name: str) -> float | None:
    # With or without its unit; `[N/A]` and the like are no numbers.
    text = cells.get(name, "").partition(" ")[0]
    digits = text.replace(".", "", 1)
    plain = digits.isascii() and digits.isdecimal() and len(digits) < 16
    return float(text) if plain else None


def _bus(text: str | None) -> str | None:
    """`65:00`, from the forms of the driver and of the tool."""
    matched = _BUS.fullmatch(text or "")
    return None if matched is None else matched[1].lower()
