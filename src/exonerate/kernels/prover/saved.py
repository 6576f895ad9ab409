"""A failing input as a file: `.npz` with the arrays and, under `about`, JSON that says the rest.

Arrays: q, k, v (float32 values on the grid of the format, whatever it is), lengths, and where they
apply sinks and before_q, before_k, before_v, before_lengths. What lies past a sequence's length is
not kept: a replay fills it with NaN again.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exonerate.core.exactness import Property
from exonerate.errors import ExonerateError
from exonerate.kernels.attention_input import AttentionInput
from exonerate.kernels.prover.trial import Trial

SCHEMA = "exonerate.splitk_input/1"
_ARRAYS = ("q", "k", "v", "lengths", "sinks")


def save(path: Path, trial: Trial, *, what: str) -> None:
    """Write the trial; the file is replaced whole."""
    about = {
        "schema": SCHEMA,
        "condition": trial.condition,
        "checks": sorted(trial.checks),
        "splits": list(trial.splits),
        "exact_scores": trial.exact_scores,
        "noted_only": trial.noted_only,
        "with_out": trial.with_out,
        "what": what,
        "dtype": trial.given.dtype,
        "layout": trial.given.layout,
        "scale": trial.given.scale,
        "softcap": trial.given.softcap,
        "page_size": trial.given.page_size,
    }
    arrays = _arrays(trial.given, "")
    if trial.before is not None:
        arrays |= _arrays(trial.before, "before_")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, about=np.array(json.dumps(about)), **arrays)
    partial.replace(path)


def load(path: Path) -> Trial:
    """The trial in a file that `save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            arrays = {name: stored[name] for name in stored.files if name != "about"}
        if about["schema"] != SCHEMA:
            raise ValueError(about["schema"])
        return _trial(about, arrays)
    except FileNotFoundError:
        raise ExonerateError(f"`{path}` does not exist", "name a file that a check saved") from None
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ExonerateError(
            f"`{path}` is no saved input of a check ({error})", "name a file that a check saved"
        ) from error


def _trial(about: dict[str, Any], arrays: Mapping[str, Any]) -> Trial:
    before = None
    if "before_q" in arrays:
        before = _given(about, {name: arrays.get(f"before_{name}") for name in _ARRAYS})
    return Trial(
        condition=about["condition"],
        given=_given(about, arrays),
        splits=tuple(int(splits) for splits in about["splits"]),
        checks=frozenset(Property(check) for check in about["checks"]),
        before=before,
        exact_scores=about["exact_scores"],
        noted_only=about["noted_only"],
        with_out=about["with_out"],
    )


def _given(about: dict[str, Any], arrays: Mapping[str, Any]) -> AttentionInput:
    return AttentionInput(
        q=arrays["q"],
        k=arrays["k"],
        v=arrays["v"],
        lengths=arrays["lengths"],
        sinks=arrays.get("sinks"),
        dtype=about["dtype"],
        layout=about["layout"],
        scale=about["scale"],
        softcap=about["softcap"],
        page_size=about["page_size"],
    )


def _arrays(given: AttentionInput, prefix: str) -> dict[str, Any]:
    found = {prefix + name: getattr(given, name) for name in _ARRAYS}
    return {name: array for name, array in found.items() if array is not None}
