"""`exonerate.waves/1` and `exonerate.wave_fit/1`: the machine-readable answers.

Ratios are fractions, throughput is tokens per second; times carry their unit in the name, and
`attention` without one is relative: 1 is one unsplit request with a slot to itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.json_types import JsonObject
from exonerate.core.waves.answers import FitAnswer, PlanAnswer
from exonerate.core.waves.device import Device
from exonerate.core.waves.fit import Fit
from exonerate.core.waves.model import Outcome
from exonerate.core.waves.separate import Experiment, Prediction, ab_command
from exonerate.core.waves.significance import Shuffling

PLAN_SCHEMA = "exonerate.waves/1"
FIT_SCHEMA = "exonerate.wave_fit/1"


def plan_json(answer: PlanAnswer) -> JsonObject:
    """The answer of `splitk plan --json`."""
    load, costs, plan = answer.model.workload, answer.model.costs, answer.plan
    invariance = plan.invariance
    return {
        "schema": PLAN_SCHEMA,
        "gpu": _device(answer.device),
        "rule": {
            "name": answer.rule.name,
            "target_stands_for": answer.rule.knob or None,
            "invariance": answer.rule.invariance,
            "source": answer.rule.source,
        },
        "units": load.units,
        "lengths": load.lengths.text,
        "tile_tokens": load.tile,
        "per_cta": costs.per_cta,
        "combine": costs.combine,
        "saturating_ctas": answer.model.machine.saturating,
        "cells": [
            {**_outcome(one), "floor_us_per_layer": answer.floors_us.get(one.concurrency)}
            for one in plan.outcomes
        ],
        "cliffs": [
            {
                "target": one.target,
                "cells": [one.concurrency, one.concurrency + 1],
                "rise": one.rise,
                "ctas": [one.before.ctas, one.after.ctas],
                "waves": [one.before.waves, one.after.waves],
            }
            for one in plan.cliffs
        ],
        "recommended": [
            {
                "cell": one.concurrency,
                "splits": one.splits,
                "target": one.target,
                "attention": one.outcome.time,
                "best_planned_target": one.best_planned.target,
                "saving": one.saving,
            }
            for one in plan.choices
        ],
        "batch_invariance": {
            "splits_seen": list(invariance.splits_seen),
            "kept": len(invariance.splits_seen) == 1,
            "split_size": invariance.size,
            "split_size_cost": invariance.size_cost,
            "split_size_cost_max": invariance.size_cost_max,
        },
    }


def fit_json(answer: FitAnswer) -> JsonObject:
    """The answer of `splitk fit --json`."""
    chance, physical = answer.significance, answer.physical
    return {
        "schema": FIT_SCHEMA,
        "gpu": _device(answer.request.device),
        "verdict": answer.verdict.sentence,
        "state": answer.verdict.word,
        "sufficient": answer.verdict.sufficient,
        "requirements": [
            {"what": one.what, "met": one.met, "found": one.found}
            for one in answer.verdict.requirements
        ],
        "best": _fit(answer.best),
        "ranking": [_rank(one) for one in answer.fits],
        "without_waves": {"rmse": answer.smooth.rmse, "rmse_left_out": answer.smooth.rmse_left_out},
        "reselection": {
            "same": answer.reselection.same(answer.best.explanation.label),
            "of": len(answer.best.cells),
            "rmse": answer.reselection.rmse,
        },
        "reselection_by_concurrency": {
            "same": answer.by_concurrency.same(answer.best.explanation.label),
            "of": len(answer.by_concurrency.chosen),
            "rmse": answer.by_concurrency.rmse,
        },
        "redrawn": [
            {
                "noise": one.noise,
                "tables": one.tables,
                "found_again": one.found_again,
                "cells_apart": list(one.concurrencies_apart),
            }
            for one in answer.redrawn
        ],
        "dips": [
            {
                "target": one.target,
                "cells": [one.concurrency, one.concurrency_next],
                "measured": one.measured,
                "fitted": one.fitted,
                "reproduced": one.reproduced,
            }
            for one in answer.dips
        ],
        "chance": {
            "rules_tried": chance.rules_tried,
            "patterns": chance.patterns,
            "p_corrected": chance.p_corrected,
            "shufflings": _shufflings(chance.shufflings),
            "random_tables": {
                "count": chance.random_tables,
                "rmse_quantiles": dict(
                    zip(("0.05", "0.5", "0.95"), chance.random_rmse, strict=True)
                ),
                "share_as_good": chance.random_share,
            },
            "wide": {
                "rules_tried": answer.wide.explanations,
                "patterns": answer.wide.patterns,
                "p_corrected": answer.wide.p_corrected,
                "shufflings": _shufflings(answer.wide.shufflings),
            },
        },
        "physical": {
            "state": physical.state,
            "why": physical.why,
            "attention_share": [physical.share_min, physical.share_max],
            "attention_ms": [physical.attention_ms_min, physical.attention_ms_max],
            "kv_tokens_implied": physical.tokens_implied,
        },
        "experiments": [_experiment(one, answer) for one in answer.experiments],
    }


def _device(device: Device) -> JsonObject:
    fits = device.occupancy
    return {
        "name": device.gpu.name,
        "assumed": device.gpu.assumed,
        "sms": device.gpu.sms,
        "ctas_per_sm": device.ctas_per_sm,
        "slots": device.slots,
        "source": device.gpu.source,
        "occupancy": None
        if fits is None
        else {"limited_by": fits.limited_by, "share_of_warps": fits.share_of_warps},
    }


def _outcome(one: Outcome) -> JsonObject:
    return {
        "cell": one.concurrency,
        "target": one.target,
        "splits": [one.splits_min, one.splits_max],
        "ctas": one.ctas,
        "waves": one.waves,
        "tail_efficiency": one.tail_efficiency,
        "slots_busy": one.busy,
        "attention": one.time,
    }


def _fit(one: Fit) -> JsonObject:
    constants = one.coefficients
    return {
        **_rank(one),
        "constants_ms": {
            "fixed": constants.fixed_ms,
            "per_request": constants.per_request_ms,
            "attention": constants.attention_ms,
        },
        "error_max": one.error_max,
        "cells": [
            {
                "cell": cell.concurrency,
                "target": cell.target,
                "measured": cell.measured,
                "fitted": cell.fitted,
                "left_out": cell.left_out,
                "attention": cell.relative,
                "attention_share": cell.attention_share,
            }
            for cell in one.cells
        ],
    }


def _rank(one: Fit) -> JsonObject:
    return {
        "rule": one.explanation.name,
        "units": one.explanation.units,
        "follows_target": one.explanation.follows_target,
        "rmse": one.rmse,
        "rmse_left_out": one.rmse_left_out,
        "same_as": list(one.same_as),
    }


def _shufflings(found: Sequence[Shuffling]) -> list[JsonObject]:
    return [
        {
            "null": one.null,
            "tables": one.tables,
            "exact": one.exact,
            "p_alone": one.p_alone,
            "p_corrected": one.p_corrected,
            "p_floor": one.p_floor,
        }
        for one in found
    ]


def _experiment(one: Experiment, answer: FitAnswer) -> JsonObject:
    return {
        "purpose": one.purpose,
        "target": one.target,
        "cells": list(one.cells),
        "leader": _prediction(one.leader),
        "rivals": [_prediction(rival) for rival in one.rivals],
        "separation": one.separation,
        "blocks": one.blocks,
        "command": ab_command(one, answer.request.knob),
    }


def _prediction(one: Prediction) -> JsonObject:
    return {"rule": one.label, "values": [one.before, one.after], "change": one.change}
