"""A comparison as the JSON of the contract `exonerate.comparison/1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.experiment.gate import Gate
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.stats.comparison import LEVEL, Comparison, Estimate, Question
from exonerate.core.stats.wording import share

SCHEMA = "exonerate.comparison/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """Whether the load generator kept up; None where nobody looked."""

    client_bound: bool | None = None
    cpu_share: float | None = None
    lag_ms_p99: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Everything around the numbers: what was measured, the gates, what limits the answer."""

    metric: str
    gates: tuple[Gate, ...] = ()
    instrument: Instrument = Instrument()
    warnings: tuple[str, ...] = ()
    not_examined: tuple[str, ...] = ()


def comparison_answer(
    comparison: Comparison, question: Question, surroundings: Surroundings
) -> dict[str, Json]:
    """The contract's object; ratios are fractions, intervals None where nothing can be said."""
    doubts = tuple(gate.why for gate in surroundings.gates if gate.status == "doubtful")
    return {
        "schema": SCHEMA,
        "arms": list(comparison.arms),
        "blocks": comparison.blocks,
        "metric": surroundings.metric,
        "lower_is_better": question.lower_is_better,
        "margin": question.margin,
        "plan": question.plan.kind,
        "cells": [
            {"cell": cell, **_estimate(found), "nominal_level": comparison.nominal_level}
            for cell, found in comparison.cells.items()
        ],
        "primary": {
            "cells": list(comparison.primary_cells),
            **_estimate(comparison.primary),
        },
        "anomalies": [
            {
                "arm": found.arm,
                "cells": list(found.cells),
                "drop": found.drop,
                "verdict": found.verdict,
                "removed_by": found.removed_by,
                "restarts": found.restarts,
            }
            for found in comparison.anomalies
        ],
        "guards": [
            {
                "cell": guard.cell,
                "bound": guard.bound,
                "margin": guard.margin,
                "verdict": guard.verdict,
            }
            for guard in comparison.guards
        ],
        "gates": [gate_json(gate) for gate in surroundings.gates],
        "instrument": {
            "client_bound": surroundings.instrument.client_bound,
            "cpu_share": surroundings.instrument.cpu_share,
            "lag_ms_p99": surroundings.instrument.lag_ms_p99,
        },
        "warnings": [*doubts, *surroundings.warnings],
        "assumption": assumption(question, cells=len(comparison.cells)),
        "not_examined": list(surroundings.not_examined),
    }


def gate_json(gate: Gate) -> JsonObject:
    """A gate as it stands in the answer."""
    return {"gate": gate.name, "status": gate.status, "cell": gate.cell, "why": gate.why}


def assumption(question: Question, *, cells: int) -> str:
    """What the intervals rest on, in one sentence."""
    shared = f"the {cells} cells share the error (Bonferroni)" if cells > 1 else "one cell"
    looks = {
        "fixed": "one look at the planned number of blocks",
        "looks": "looks after 3, 5 and 8 blocks, each at its own level",
        "open": "blocks beyond the plan, so the e-process",
    }[question.plan.kind]
    return (
        "block differences of logarithms are independent and about normal (Student's t, "
        f"n − 1 degrees of freedom); {shared}, the primary band has one test of its own; "
        f"flat by two one-sided tests within ±{share(question.margin)}; {looks}"
    )


def blocked(gates: Sequence[Gate]) -> str | None:
    """Why nothing at all could be compared, or None."""
    whole = [gate.why for gate in gates if gate.status == "broken" and gate.cell is None]
    return "; ".join(whole) or None


def _estimate(found: Estimate) -> dict[str, Json]:
    return {
        "n": found.n,
        "baseline": found.baseline,
        "candidate": found.candidate,
        "effect": found.effect,
        "ci": _pair(found.ci),
        "level": LEVEL,
        "flat_ci": _pair(found.flat_ci),
        "verdict": found.verdict,
        "why": found.why,
        "blocks_needed": found.blocks_needed,
        "sign_flip_p": found.sign_flip_p,
    }


def _pair(bounds: tuple[float, float] | None) -> Json:
    return None if bounds is None else list(bounds)
