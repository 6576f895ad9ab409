"""The axes that there are, one module a family."""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.diagnosis.axes import body, connection, load
from exonerate.core.diagnosis.axes.axis import FLIP_VALUES, Axis

AXES: tuple[Axis, ...] = (*connection.AXES, *body.AXES, *load.AXES)

FLIPS: Mapping[str, tuple[str, ...]] = {axis.observable: FLIP_VALUES for axis in AXES}
"""The observables of the axes and their values."""


def axis_of(observable: str) -> Axis | None:
    """The axis behind an observable; None where it is of another kind."""
    return next((axis for axis in AXES if axis.observable == observable), None)
