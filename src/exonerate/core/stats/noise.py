"""What an A/A experiment says of this host and workload: the noise ledger.

Both arms are the same bytes, so every difference is noise: of the restart as a whole, of the cell
within it, of the place in the block, and of the hour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exonerate.core.stats.intervals import FloatArray, paired_interval

BLOCKS_FOR_NOISE = 8


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviations and effects, all as logarithms (0.01 is about 1 %).

    `cell_value_sd` is what one cell's value does from restart to restart, the figure that plans
    need; it is split into `restart_sd` (shared by the cells of a restart) and `within_sd`.
    """

    cell_value_sd: float
    restart_sd: float
    within_sd: float
    position_effect: float
    position_interval: tuple[float, float] | None
    drift_per_block: float
    drift_interval: tuple[float, float] | None
    blocks: int


def noise_of(log_values: FloatArray) -> Noise | None:
    """The noise of an A/A, from logarithms of shape (blocks, 2 positions, cells); None below two.

    With d the second-minus-first difference of a block: cell_value_sd**2 = mean d**2 / 2 over
    blocks and cells (no mean is taken off: the truth is 0, and a position effect is noise too),
    within_sd**2 the residual mean square of d over cells / 2, restart_sd**2 the rest.
    """
    complete = log_values[~np.isnan(log_values).any(axis=(1, 2))]
    blocks, _, cells = complete.shape
    if blocks < 2 or cells < 1:
        return None
    d = complete[:, 1, :] - complete[:, 0, :]  # (blocks, cells)
    total = float((d**2).mean()) / 2
    by_block = d.mean(axis=1)
    within = 0.0
    if cells > 1:
        squares = (d - by_block[:, None] - d.mean(axis=0) + d.mean()) ** 2
        within = float(squares.sum()) / ((blocks - 1) * (cells - 1)) / 2
    level = complete.mean(axis=(1, 2))
    steps = np.diff(level)
    return Noise(
        cell_value_sd=float(np.sqrt(total)),
        restart_sd=float(np.sqrt(max(0.0, total - within))),
        within_sd=float(np.sqrt(within)),
        position_effect=float(by_block.mean()),
        position_interval=paired_interval(by_block),
        drift_per_block=float(steps.mean()),
        drift_interval=paired_interval(steps),
        blocks=blocks,
    )
