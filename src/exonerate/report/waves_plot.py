"""Plots of `splitk plan` and `splitk fit` as SVG or PNG; needs the `plots` extra."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from exonerate.core.waves.answers import FitAnswer, PlanAnswer

_SIZE_INCHES = (8.0, 4.5)


def plan_plot(answer: PlanAnswer, form: str) -> bytes:
    """Relative attention time over the concurrency, one line per target."""
    figure, axes = _canvas("relative attention time")
    for target, curve in answer.plan.curves.items():
        _line(axes, curve, f"target {target}")
    for cliff in answer.plan.cliffs:
        axes.axvline(cliff.concurrency + 0.5, color="0.85", linewidth=0.8, zorder=0)
    axes.set_title(f"{answer.rule.name}, {answer.device.slots} slots (model, nothing measured)")
    return _rendered(figure, axes, form)


def fit_plot(answer: FitAnswer, form: str) -> bytes:
    """Measured cells over the fitted curves, one colour per target."""
    figure, axes = _canvas("tokens per second")
    for target, curve in answer.curves.items():
        line = _line(axes, curve, f"target {target}, fitted")
        cells = [cell for cell in answer.best.cells if cell.target == target]
        axes.scatter(
            [cell.concurrency for cell in cells],
            [cell.measured for cell in cells],
            color=line.get_color(),
            label=f"target {target}, measured",
            zorder=3,
        )
    axes.set_title(f"{answer.best.explanation.label}: {answer.verdict.sentence}")
    return _rendered(figure, axes, form)


# Matplotlib is untyped here, so its objects are Any.
def _canvas(quantity: str) -> tuple[Any, Any]:
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel("concurrency")
    axes.set_ylabel(quantity)
    return figure, axes


def _line(axes: Any, curve: Sequence[tuple[int, float]], label: str) -> Any:
    steps: Mapping[int, float] = dict(curve)
    return axes.plot(list(steps), list(steps.values()), drawstyle="steps-mid", label=label)[0]


def _rendered(figure: Any, axes: Any, form: str) -> bytes:
    axes.legend(frameon=False)
    stream = io.BytesIO()
    # Neither date nor random ids: the same plan gives the same bytes.
    with mpl.rc_context({"svg.hashsalt": "exonerate"}):
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else None)
    return stream.getvalue()
