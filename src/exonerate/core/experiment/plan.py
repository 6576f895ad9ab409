"""What an experiment could show, said before it starts: `ab --plan`.

The noise comes from an earlier A/A of the same service where the ledger has one, else from what
the operator gives, else from an assumption that is named as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exonerate.core.case.records import Record
from exonerate.core.experiment.setup import Setup
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.stats.power import (
    Odds,
    blocks_to_settle,
    smallest_visible_effect,
    verdict_odds,
)
from exonerate.core.stats.regimes import unseen_regime_rate_max
from exonerate.core.stats.stopping import FIXED, LOOKS, LOOKS_AT_3_5_8
from exonerate.core.stats.verdicts import BLOCKS_MIN
from exonerate.core.stats.wording import percent, share

SCHEMA = "exonerate.plan/1"
NOISE_ASSUMED = 0.01
"""Restart noise of 0.5 to 3 % is usual; 1 % is taken where nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Noise of one cell from restart to restart, of the primary band, and the cost of a restart.

    `restart_s` is None where no earlier run tells how long a restart with its cells takes.
    """

    cell_noise: float
    primary_noise: float
    source: str
    restart_s: float | None = None


def expectation_of(
    records: Sequence[Record], setup: Setup, *, noise: float | None = None
) -> Expectation:
    """What earlier runs on this service say, newest first; the operator's `noise` beats them."""
    answers = [answer for answer in _answers(records) if answer.get("service") == setup.service]
    restart_s = next((cost for cost in map(_restart_s, answers) if cost is not None), None)
    band = len(setup.primary or setup.cells)
    found = next((answer["noise"] for answer in answers if answer.get("noise")), None)
    if noise is not None:
        return Expectation(
            cell_noise=noise, primary_noise=noise, source="as given", restart_s=restart_s
        )
    if found is not None:
        primary = math.hypot(found["restart_sd"], found["within_sd"] / math.sqrt(band))
        return Expectation(
            cell_noise=max(found["cell_value_sd"], 1e-6),
            primary_noise=max(primary, 1e-6),
            source=f"an A/A of {found['blocks']} blocks on this service",
            restart_s=restart_s,
        )
    return Expectation(
        cell_noise=NOISE_ASSUMED,
        primary_noise=NOISE_ASSUMED,
        source="assumed, because no A/A of this service is on record",
        restart_s=restart_s,
    )


def plan_answer(setup: Setup, expected: Expectation) -> JsonObject:
    """What the experiment could show at its planned number of blocks (`exonerate.plan/1`)."""
    restarts = 2 * setup.blocks + 1
    cells = len(setup.cells)
    truths = [0.0, setup.margin, 2 * setup.margin]
    return {
        "schema": SCHEMA,
        "job": setup.job,
        "knob": setup.knob,
        "service": setup.service,
        "arms": list(setup.arms),
        "blocks": setup.blocks,
        "blocks_min": BLOCKS_MIN,
        "looks": list(LOOKS) if setup.looks else None,
        "cells": sorted(setup.cells),
        "primary_cells": sorted(setup.primary or setup.cells),
        "margin": setup.margin,
        "seed": setup.seed,
        "schedule": [
            {"block": block.number, "arms": list(block.arms), "cells": list(block.cells)}
            for block in setup.schedule
        ],
        "restarts": restarts,
        "requests": 2 * setup.blocks * sum(setup.requests_of(cell) for cell in setup.cells),
        "minutes": None if expected.restart_s is None else restarts * expected.restart_s / 60,
        "noise": {
            "cell": expected.cell_noise,
            "primary": expected.primary_noise,
            "source": expected.source,
        },
        "smallest_visible": {
            "primary": _visible(setup, expected.primary_noise, family=1),
            "cell": _visible(setup, expected.cell_noise, family=cells),
        },
        "odds_primary": [_odds(setup, expected.primary_noise, truth) for truth in truths],
        "blocks_for_twice_the_margin": blocks_to_settle(
            math.log1p(2 * setup.margin), noise=expected.primary_noise, margin=setup.margin
        ),
        "unseen_regime_rate_max": unseen_regime_rate_max(setup.blocks),
        "verdict_possible": setup.blocks >= BLOCKS_MIN,
    }


def plan_lines(plan: JsonObject) -> tuple[str, ...]:
    """The plan in sentences: said on stderr before an experiment starts."""
    tree: Any = plan
    seen = tree["smallest_visible"]["primary"]
    duration = "" if tree["minutes"] is None else f", about {tree['minutes']:.0f} minutes"
    lines = [
        f"{tree['blocks']} blocks of {' and '.join(tree['arms'])}: {tree['restarts']} restarts "
        f"of {tree['service']}, {tree['requests']} requests{duration}; seed {tree['seed']}",
        f"noise from restart to restart: {share(tree['noise']['primary'])} "
        f"({tree['noise']['source']})",
    ]
    if not tree["verdict_possible"]:
        lines.append(f"below {tree['blocks_min']} blocks no verdict is given, whatever comes out")
        return tuple(lines)
    if seen is not None:
        lines.append(f"an effect of {percent(seen)} on the primary band is seen 4 times out of 5")
    for odds in tree["odds_primary"]:
        lines.append(
            f"if the truth is {percent(odds['truth'])}: better {odds['better']:.0%}, flat "
            f"{odds['flat']:.0%}, worse {odds['worse']:.0%}, undecided {odds['undecided']:.0%}"
        )
    return tuple(lines)


def _answers(records: Sequence[Record]) -> list[Any]:
    """The answers of experiments on record, newest first."""
    bodies: list[Any] = [record.body for record in reversed(records) if record.kind == "verdict"]
    return [body["answer"] for body in bodies if body.get("job") in ("ab", "aa")]


def _restart_s(answer: Any) -> float | None:
    """Seconds of one restart with its cells, the mean of a run."""
    spent = [
        restart["ready_s"] + sum(cell["duration_s"] for cell in restart["cells"])
        for restart in answer.get("restarts", ())
        if restart["ready_s"] is not None and restart["cells"]
    ]
    return sum(spent) / len(spent) if spent else None


def _visible(setup: Setup, noise: float, *, family: int) -> float | None:
    found = smallest_visible_effect(blocks=setup.blocks, noise=noise, family=family)
    return None if found is None else math.expm1(found)


def _odds(setup: Setup, noise: float, truth: float) -> dict[str, Json]:
    # With looks, the odds shown are those of the last look alone: the least they can be.
    odds: Odds = verdict_odds(
        math.log1p(truth),
        blocks=setup.blocks,
        noise=noise,
        margin=setup.margin,
        plan=LOOKS_AT_3_5_8 if setup.looks else FIXED,
    )
    return {
        "truth": truth,
        "better": odds.better,
        "worse": odds.worse,
        "flat": odds.flat,
        "undecided": odds.undecided,
    }
