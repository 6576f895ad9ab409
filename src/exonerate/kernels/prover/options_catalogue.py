"""Conditions for what only richer signatures take, and for arguments that make no sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from exonerate.core.exactness import Property
from exonerate.kernels.prover.catalogue import RIGHT, Maker, condition, trial
from exonerate.kernels.prover.trial import Trial

NOTHING: frozenset[Property] = frozenset()
ENORMOUS = 70_000
"""More than CUDA's 65,535 blocks in the second and third axis of a grid; more would only tell who
loops over splits in Python."""


@condition("pages", "a page table with shuffled pages and pages that belong to nobody")
def _pages(make: Maker) -> Iterator[Trial]:
    for size in (1, 4, 16):
        given = make.ragged([23, 16, 5], heads=(4, 2))
        yield trial(replace(given, page_size=size), (1, 2, 3), RIGHT)


@condition("softcap", "scores through a hyperbolic tangent")
def _softcap(make: Maker) -> Iterator[Trial]:
    given = make.ragged([31, 8])
    yield trial(replace(given, softcap=2.0), (1, 2, 5), RIGHT)


@condition("sinks", "a logit without a value in every softmax; once, not once a split")
def _sinks(make: Maker) -> Iterator[Trial]:
    given = make.ragged([31, 8], heads=(4, 2))
    sinks = np.array([-1.0, 0.0, 2.0, 5.0], np.float32)
    yield trial(replace(given, sinks=sinks), (1, 2, 5), RIGHT)


@condition("scale", "a scale other than 1/sqrt(dim)")
def _scale(make: Maker) -> Iterator[Trial]:
    yield trial(replace(make.ragged([19]), scale=0.3), (1, 3), RIGHT)


@condition("senseless-splits", "no, negative and enormous split counts: refuse or answer")
def _senseless(make: Maker) -> Iterator[Trial]:
    for splits in (0, -1, ENORMOUS):
        yield trial(make.ragged([6]), (splits,), RIGHT, noted_only=True)


@condition("misfit", "shapes that do not fit: refuse, do not answer")
def _misfit(make: Maker) -> Iterator[Trial]:
    given = make.ragged([6], heads=(4, 2))
    yield trial(replace(given, q=given.q[:, :3]), (2,), NOTHING, noted_only=True, must_refuse=True)
    yield trial(
        replace(given, q=given.q[..., :8]), (2,), NOTHING, noted_only=True, must_refuse=True
    )
