"""What scenarios need that this host has too little of for several of them at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping

from exonerate.lab.scenario import Template

NETWORKS = "networks"
"""Scenarios that build networks use the same names for them."""
COMPUTING = "computing"
"""A real engine computes without pause, and one that is kept from its core by another scenario's
engine answers several times as late as its own scenario would have it."""
COMPUTING_KINDS = frozenset({"llamacpp"})
COMPUTING_PROGRAMS = frozenset({"hog"})
CORES_EACH = 2
"""One to compute on, one for its clients, its proxies and the scenarios beside it."""


def scarce(template: Template) -> frozenset[str]:
    """What the scenario needs for itself, out of `NETWORKS` and `COMPUTING`."""
    networks = {NETWORKS} if template.tables.get("setup") else set()
    return frozenset(networks | ({COMPUTING} if _computes(template) else set()))


def at_a_time(need: str) -> int:
    """How many scenarios with this need can go side by side on this host."""
    cores = len(os.sched_getaffinity(0))
    return max(1, cores // CORES_EACH) if need == COMPUTING else 1


def _computes(template: Template) -> bool:
    kinds = _values(template.tables, "part", "kind")
    return bool(
        kinds & COMPUTING_KINDS
        or _values(template.tables, "background", "program") & COMPUTING_PROGRAMS
    )


def _values(tables: Mapping[str, object], list_name: str, key: str) -> set[str]:
    found = tables.get(list_name, [])
    assert isinstance(found, list)
    return {str(table[key]) for table in found if isinstance(table, Mapping) and key in table}
