"""What a class of suspects is: a mechanism and what it predicts of each observable.

A class is data. `predicts` maps an observable to the values that the class allows; an observable
that is not named is one about which the class says nothing. Observables and their values are
defined in `vocabulary`; the classes lie in `catalogue`, one file a layer,
and `catalogue.registry` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Layer: TypeAlias = Literal["client", "boundary", "proxy", "router", "engine", "network", "host"]
BOXES = ("proxy", "router")
"""The roles of what stands between a client and the engines."""


def any_of(*values: str) -> frozenset[str]:
    """The values of an observable that a class allows."""
    return frozenset(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectClass:
    """One way in which a hop (or nobody) can cause the symptom.

    Args:
        slug: the `class` of `exonerate.verdict/1`.
        layer: whose fault it is when it is one.
        roles: the roles of hops that can be guilty of it.
        prior: relative weight before anything was seen; a judgement, not a count, and not yet
            calibrated.
        mechanism: one sentence for the report.
        predicts: observable -> allowed values.
        is_fault: False for explanations of `no_fault`, such as `saturated`.
        total: it says that all is well, so that it is out once anything was seen twice, and every
            time, that it excludes.
        needs: observables without which nobody is convicted of it, whatever its posterior: what
            tells it from its neighbours.
        needs_one_of: observables of which one is as good as another for that; empty for none.
        flips: the intervention that makes the symptom go and come, in words.
        settings: what to change, per side.
    """

    slug: str
    layer: Layer
    roles: tuple[str, ...]
    prior: float
    mechanism: str
    predicts: Mapping[str, frozenset[str]]
    is_fault: bool = True
    total: bool = False
    needs: tuple[str, ...] = ()
    needs_one_of: tuple[str, ...] = ()
    flips: str = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """A class at a place: `drops-requests` at `edge`."""

    suspect_class: SuspectClass
    hop: str

    @property
    def id(self) -> str:
        """The name in evidence lists and tables."""
        return f"{self.suspect_class.slug}@{self.hop}"


@dataclass(frozen=True, slots=True)
class Observation:
    """A value of an observable, seen `times` times out of `tries`, about one hop."""

    hop: str
    observable: str
    value: str
    times: int
    tries: int
    text: str = ""
    contexts: tuple[str, ...] = field(default=())

    @property
    def id(self) -> str:
        """The name that verdicts cite."""
        return f"{self.observable}@{self.hop}={self.value}"
