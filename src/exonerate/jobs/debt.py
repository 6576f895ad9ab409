"""The job `debt`: every standing revert of a ledger with its price."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from exonerate.core.case.debt import debt, debt_json
from exonerate.core.case.fold import fold_cases
from exonerate.core.case.model import Case
from exonerate.core.case.prices import prices_of
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock, Ledger

LiveValue = Callable[[str], str | None]
"""The effective value of a knob now, or None where it cannot be read."""


def owed(
    ledger: Ledger,
    live_value: LiveValue,
    *,
    clock: Clock,
    deployment: str | None = None,
    fingerprint: str | None = None,
) -> JsonObject:
    """The debt (`exonerate.debt/1`) of every case, open or closed.

    Args:
        ledger: where the cases and the evidence of prices are.
        live_value: asked once for each knob that was ever changed.
        clock: tells which tests have expired.
        deployment: leaves out the cases of other deployments, whose live values are not known here.
        fingerprint: the environment of today, to tell a stale price.
    """
    cases = _of_deployment(fold_cases(ledger.records(), as_of=clock.wall()), deployment)
    knobs = {
        change.knob for case in cases for change in case.interventions if change.knob is not None
    }
    live = {knob: live_value(knob) for knob in sorted(knobs)}
    return debt_json(debt(cases, live, prices_of(cases), fingerprint=fingerprint))


def _of_deployment(cases: Sequence[Case], deployment: str | None) -> tuple[Case, ...]:
    return tuple(
        case for case in cases if deployment is None or case.deployment in {None, deployment}
    )
