"""A validity gate: a condition without which no number is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.stats.trials import Cell

GateStatus: TypeAlias = Literal["kept", "broken", "doubtful", "not_examined"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: what it found and why; without a cell it concerns the whole experiment.

    ``broken`` makes its cells invalid; ``doubtful`` only warns; ``not_examined`` means that the
    records cannot tell.
    """

    name: str
    status: GateStatus
    why: str
    cell: Cell | None = None


def broken_cells(gates: Sequence[Gate], cells: Sequence[Cell]) -> dict[Cell, str]:
    """Each cell that is invalid, with the reasons; a gate of the whole experiment breaks all."""
    reasons: dict[Cell, list[str]] = {}
    for gate in gates:
        if gate.status == "broken":
            for cell in cells if gate.cell is None else [gate.cell]:
                reasons.setdefault(cell, []).append(gate.why)
    return {cell: "; ".join(found) for cell, found in reasons.items()}
