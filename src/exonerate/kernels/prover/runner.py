"""What the prover asks of a target, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.attention_input import AttentionInput


class Status(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    REFUSED = "refused"  # NotImplementedError: the target says that it does not do this
    RAISED = "raised"
    MALFORMED = "malformed"
    DIED = "died"
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can be asked.

    Args:
        arrays: `numpy` or `torch`
        device: where torch arrays live
        keywords: optional ones that the target takes: out, page_table, scale, softcap, sinks
        dtypes: number formats that its arrays can have
        dtypes_asked: more of them, tried only when they are asked for
        merges: it merges partial answers, and the attention around it is ours
        layouts: whether the arrays can lie in memory in other ways than contiguous
        versions: of the libraries that compute
    """

    arrays: str = "numpy"
    device: str = "cpu"
    keywords: frozenset[str] = frozenset()
    dtypes: tuple[str, ...] = ("fp32", "fp16")
    dtypes_asked: tuple[str, ...] = ()
    layouts: bool = True
    merges: bool = False
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the target.

    Args:
        kv_poison: what k and v hold past the length of each sequence, and pages nobody uses
        memory_poison: what memory holds that the target allocates and has not written
        with_out: hand over an output array between guard bands, where the target takes one
    """

    given: AttentionInput
    splits: int
    kv_poison: float = float("nan")
    memory_poison: float = float("nan")
    with_out: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the target did; `out` and `lse` only when it answered.

    Args:
        outside: what was written that is not the output (guard bands, inputs), in words
        message: of the exception, or what is wrong with the answer
    """

    status: Status
    out: NDArray[np.float32] | None = None
    lse: NDArray[np.float32] | None = None
    out_dtype: str = ""
    outside: str = ""
    message: str = ""


class Runner(Protocol):
    """Calls one target."""

    @property
    def capabilities(self) -> Capabilities:
        """What the target can be asked."""

    def run(self, call: Call) -> Answer:
        """The answer to one call; whatever goes wrong is in its status."""

    def close(self) -> None:
        """Let go of the target."""
