"""Poison for memory that a target allocates: what it did not write must not reach its answer.

`numpy.empty` and `torch.empty` (and their `_like` forms) give memory filled with the poison while
`poisoned` is active. Memory that a library allocates by other means keeps what it holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_NAMES = ("empty", "empty_like")
INTEGER_POISON = 0x5A
"""What integers hold: large enough to leave a plan, small enough to fit every integer type."""


@contextmanager
def poisoned(value: float) -> Iterator[None]:
    """Fill what is allocated uninitialised inside this block with the value."""
    modules: list[Any] = [np]
    if "torch" in sys.modules:
        modules.append(sys.modules["torch"])
    originals = [(module, name, getattr(module, name)) for module in modules for name in _NAMES]
    for module, name, original in originals:
        setattr(module, name, _filling(original, value))
    try:
        yield
    finally:
        for module, name, original in originals:
            setattr(module, name, original)


def _filling(allocate: Callable[..., Any], value: float) -> Callable[..., Any]:
    def allocate_and_fill(*arguments: Any, **keywords: Any) -> Any:
        array = allocate(*arguments, **keywords)
        if isinstance(array, np.ndarray):
            floating = np.issubdtype(array.dtype, np.floating)
            with np.errstate(over="ignore"):
                array[...] = value if floating else array.dtype.type(INTEGER_POISON)
        elif array.dtype.is_floating_point:
            array.fill_(value)
        else:
            array.fill_(INTEGER_POISON)
        return array

    return allocate_and_fill
