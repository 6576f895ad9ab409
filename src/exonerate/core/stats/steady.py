"""Steady state of one cell: where the head ends, and whether the rest stands still.

Theory of operation
-------------------
The cell is cut into windows of equal length, each with a rate (tokens/s). The head is dropped by
MSER (White, 1997): the cut d that minimises the squared standard error of what is left,
sum (x_i - mean)^2 / (n - d)^2. A cut of more than half is refused: then the whole is judged, and
a rate that rises is still warming. What is left is tested for a slope (OLS, t-test) and for one
step (best split by residual squares, accepted when BIC prefers it to the straight line and to a
level). A drift or step counts only when it is also larger than 2 % of the level. The same rule
serves both arms. Windows never buy degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from exonerate.core.stats.intervals import FloatArray, t_cdf

SteadyClass: TypeAlias = Literal["steady", "still warming", "drifting", "stepped"]

WINDOWS_MIN = 16
WINDOW_S_MIN = 5.0
REQUESTS_PER_WINDOW_MIN = 20
CUT_SHARE_MAX = 0.5
MOVE_MIN = 0.02
SLOPE_P_MAX = 0.01
"""Many cells are looked at in one experiment, so a stricter level than 5 %."""
STEP_SIDE_MIN = 3


@dataclass(frozen=True, slots=True)
class Steadiness:
    """Windows cut from the head, the class of the rest, and by what share the rest moved."""

    cut: int
    kind: SteadyClass
    moved: float


def window_length_s(mean_request_s: float) -> float:
    """The length of a window: twenty mean requests or five seconds, whichever is longer."""
    return max(WINDOW_S_MIN, REQUESTS_PER_WINDOW_MIN * mean_request_s)


def window_rates(
    spans: Sequence[tuple[float, float, float]], *, duration_s: float, window_s: float
) -> FloatArray:
    """Rate in each whole window of a cell; shape (windows,).

    A span is (first, last, amount): seconds since the cell began between which `amount` came, at
    an even pace (a request's tokens between its first token and its end).
    """
    edges = np.arange(int(duration_s / window_s) + 1) * window_s
    if edges.size < 2 or not spans:
        return np.zeros(0)
    first, last, amount = np.array(spans, dtype=np.float64).T[:, :, None]  # (spans, 1) each
    length = np.maximum(last - first, 1e-9)
    arrived = (amount * np.clip((edges - first) / length, 0.0, 1.0)).sum(axis=0)
    return np.asarray(np.diff(arrived) / window_s, dtype=np.float64)


def mser_cut(rates: FloatArray) -> int:
    """How many windows MSER drops from the head; looks at cuts up to three quarters."""
    n = rates.size
    cuts = np.arange(max(1, n * 3 // 4))
    scores = [float(((rates[d:] - rates[d:].mean()) ** 2).sum()) / (n - d) ** 2 for d in cuts]
    return int(np.argmin(scores))


def steadiness(rates: FloatArray) -> Steadiness | None:
    """The class of a cell from the rates of its windows; None below 16 windows: cannot tell."""
    if rates.size < WINDOWS_MIN or rates.mean() <= 0:
        return None
    cut = mser_cut(rates)
    refused = cut > rates.size * CUT_SHARE_MAX
    if refused:
        cut = 0
    kind, moved = _movement(rates[cut:] / rates[cut:].mean())
    if refused and kind != "steady" and moved > 0:
        kind = "still warming"
    return Steadiness(cut, kind, moved)


def _movement(rest: FloatArray) -> tuple[SteadyClass, float]:
    """Whether rates (of mean 1) stand still, drift or step, and by what share they move."""
    slope, slope_p, line_residual = _line(rest)
    step, step_residual = _step(rest)
    n = rest.size
    flat_residual = float(((rest - 1) ** 2).sum())
    # BIC: n ln(residual / n) + parameters ln n. A step has three (two levels, a place), a line two.
    step_bic = n * np.log(step_residual / n + 1e-18) + 3 * np.log(n)
    line_bic = n * np.log(line_residual / n + 1e-18) + 2 * np.log(n)
    flat_bic = n * np.log(flat_residual / n + 1e-18) + np.log(n)
    # The place was searched for, which costs more than the parameter that BIC counts.
    if abs(step) > MOVE_MIN and step_bic < line_bic and step_bic + 2 * np.log(n) < flat_bic:
        return "stepped", step
    moved = slope * (n - 1)
    drifts = abs(moved) > MOVE_MIN and slope_p < SLOPE_P_MAX
    return ("drifting" if drifts else "steady"), moved


def _line(rest: FloatArray) -> tuple[float, float, float]:
    """Slope per window, its two-sided p, and the sum of squares that the line leaves."""
    n = rest.size
    at = np.arange(n) - (n - 1) / 2
    across = float((at**2).sum())
    slope = float((at * rest).sum()) / across
    residual = float(((rest - rest.mean() - slope * at) ** 2).sum())
    error = np.sqrt(max(residual, 1e-18) / (n - 2) / across)
    return slope, 2 * float(t_cdf(-abs(slope) / error, n - 2)), residual


def _step(rest: FloatArray) -> tuple[float, float]:
    """The best single step (as a share) and the sum of squares that it leaves."""
    best, size = np.inf, 0.0
    for place in range(STEP_SIDE_MIN, rest.size - STEP_SIDE_MIN + 1):
        head, tail = rest[:place], rest[place:]
        residual = float(((head - head.mean()) ** 2).sum() + ((tail - tail.mean()) ** 2).sum())
        if residual < best:
            best, size = residual, float(tail.mean() - head.mean())
    return size, best
