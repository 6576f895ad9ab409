"""What `splitk plan` and `splitk fit` are asked, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.waves.device import Device
from exonerate.core.waves.dips import Dip
from exonerate.core.waves.fit import Fit
from exonerate.core.waves.model import Costs, WaveModel, Workload
from exonerate.core.waves.physical import PhysicalCheck, PhysicalInputs
from exonerate.core.waves.plan import Plan
from exonerate.core.waves.redraw import Redrawn
from exonerate.core.waves.reselection import Reselection
from exonerate.core.waves.rules import Rule
from exonerate.core.waves.separate import Experiment
from exonerate.core.waves.significance import Shuffling, Significance
from exonerate.core.waves.table import Table
from exonerate.core.waves.verdict import FitVerdict


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What to plan; concurrencies and targets in the order in which they are reported."""

    device: Device
    rule: str
    workload: Workload
    costs: Costs
    saturating: float | None
    bytes_per_token: float | None
    concurrencies: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan, and with which model it was made.

    `floors_us` is the bandwidth floor of attention per layer and concurrency, where it is known.
    """

    device: Device
    model: WaveModel
    rule: Rule
    plan: Plan
    floors_us: dict[int, float]


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What to fit; `knob` names the setting in the proposed experiments."""

    table: Table
    device: Device
    workload: Workload
    costs: Costs
    physical: PhysicalInputs
    knob: str
    seed: int


@dataclass(frozen=True, slots=True)
class WideSearch:
    """The same p-values over all that a longer search could have tried."""

    explanations: int
    patterns: int
    shufflings: tuple[Shuffling, ...]

    @property
    def p_corrected(self) -> float:
        """The larger of the p-values."""
        return max(one.p_corrected for one in self.shufflings)


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """Fits best first, the rival without waves, and everything the verdict was computed from."""

    request: FitRequest
    fits: tuple[Fit, ...]
    smooth: Fit
    significance: Significance
    wide: WideSearch
    reselection: Reselection
    by_concurrency: Reselection
    redrawn: tuple[Redrawn, ...]
    physical: PhysicalCheck
    dips: tuple[Dip, ...]
    verdict: FitVerdict
    experiments: tuple[Experiment, ...]
    curves: dict[int, tuple[tuple[int, float], ...]]

    @property
    def best(self) -> Fit:
        """The explanation with the smallest error."""
        return self.fits[0]
