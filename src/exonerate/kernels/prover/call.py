"""One call of a Python function, with everything around it that the prover wants to see."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.attention_input import AttentionInput, out_dtype
from exonerate.kernels.prover import torch_arrays
from exonerate.kernels.prover.memory import poisoned
from exonerate.kernels.prover.placement import Placed, decode, place
from exonerate.kernels.prover.runner import Answer, Call, Capabilities, Status

KEYWORDS = frozenset({"out", "page_table", "scale", "softcap", "sinks"})
Target = Callable[..., Any]


class Kept:
    """The answer of the call before, to see whether the next call changes it."""

    def __init__(self) -> None:
        self._returned: Any = None
        self._before: NDArray[np.float32] | None = None

    def disturbance(self, hand: torch_arrays.Hands) -> str:
        """What became of the answer that was returned before, in words; else empty."""
        if self._before is None:
            return ""
        taken = hand.read(self._returned)
        if taken is None or np.array_equal(taken[0], self._before, equal_nan=True):
            return ""
        return "the array returned by the call before was changed"

    def keep(self, returned: Any, values: NDArray[np.float32] | None) -> None:
        """Remember what was returned just now."""
        self._returned, self._before = returned, values


class InProcess:
    """Runs a function in this process: quick, and as safe as the function is."""

    def __init__(self, target: Target, *, arrays: str = "auto", device: str = "cpu") -> None:
        self._target = target
        self.capabilities: Capabilities = capabilities_of(target, arrays=arrays, device=device)

        self._kept = Kept()

    def run(self, call: Call) -> Answer:
        """The answer to one call; an exception is part of the answer."""
        return run(self._target, call, self.capabilities, kept=self._kept)

    def close(self) -> None:
        """Nothing is held."""


def capabilities_of(target: Target, *, arrays: str, device: str) -> Capabilities:
    """What a function can be asked, from its signature and from what its module imports."""
    parameters = inspect.signature(target).parameters
    keywords = frozenset(KEYWORDS & parameters.keys())
    if arrays == "auto":
        arrays = "torch" if _uses_torch(target) else "numpy"
    if arrays == "torch" and device != "cpu":
        torch_arrays.touch(device)
    versions: dict[str, str] = {
        name: str(getattr(sys.modules[name], "__version__", "unknown"))
        for name in ("numpy", "torch", "triton", "flashinfer", "flash_attn")
        if name in sys.modules
    }
    dtypes = ("fp32", "fp16", "bf16") if arrays == "torch" else ("fp32", "fp16")
    return Capabilities(
        arrays=arrays,
        device=device,
        keywords=keywords,
        dtypes=dtypes,
        dtypes_asked=("fp8",) if arrays == "torch" else (),
        versions=versions,
    )


def _uses_torch(target: Target) -> bool:
    """Whether the module of the function imported torch or something that computes with it."""
    names = {
        str(getattr(value, "__module__", "") or getattr(value, "__name__", ""))
        for value in getattr(inspect.unwrap(target), "__globals__", {}).values()
    } | {
        value.__name__
        for value in getattr(inspect.unwrap(target), "__globals__", {}).values()
        if inspect.ismodule(value)
    }
    if any(name.split(".")[0] in {"torch", "triton", "flashinfer"} for name in names):
        return True
    try:  # it may import torch only when it is called
        return "import torch" in inspect.getsource(target)
    except (OSError, TypeError):
        return False


def run(target: Target, call: Call, capabilities: Capabilities, *, kept: Kept) -> Answer:
    """Place the arrays, call, look at what changed, read the answer."""
    given = call.given
    k, v, page_table = stored_kv(given, call.kv_poison)
    placed = [
        place("q", given.q, out_dtype(given.dtype), layout=given.layout),
        place("k", k, given.dtype, layout=given.layout),
        place("v", v, given.dtype, layout=given.layout),
    ]
    lengths = given.lengths.copy()
    out: Placed | None = None
    if call.with_out and "out" in capabilities.keywords:
        shape = (*given.q.shape[:2], given.v.shape[3])
        poison = np.full(shape, np.nan, np.float32)
        out = place("out", poison, out_dtype(given.dtype), layout=given.layout)
    hand = torch_arrays.Hands(capabilities)
    keywords = options(given, page_table, hand)
    try:
        arguments = hand.give_all(placed)
    except MemoryError as error:
        return Answer(status=Status.REFUSED, message=f"no room for this input: {error}")
    if out is not None:
        keywords["out"] = hand.give(out)
    try:
        with poisoned(call.memory_poison):
            result = target(*arguments, hand.plain(lengths), call.splits, **keywords)
    except NotImplementedError as error:
        return Answer(status=Status.REFUSED, message=_describe(error))
    except Exception as error:  # noqa: BLE001  # whatever a target raises is an observation
        return Answer(status=Status.RAISED, message=_describe(error))
    stale = kept.disturbance(hand)
    hand.take_back()
    answer = read(result, given, hand, out)
    kept.keep(first_of(result), None if out is not None else answer.out)
    outside = [stale, *(array.disturbance(contents=True) for array in placed)]
    outside += [] if out is None else [out.disturbance(contents=False)]
    outside += [] if np.array_equal(lengths, given.lengths) else ["`lengths` was changed"]
    return Answer(
        status=answer.status,
        out=answer.out,
        lse=answer.lse,
        out_dtype=answer.out_dtype,
        message=answer.message,
        outside="; ".join(filter(None, outside)),
    )


def stored_kv(
    given: AttentionInput, poison: float
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64] | None]:
    """k and v with poison past each length; in shuffled pages, with a page table, where asked."""
    k, v = given.k.copy(), given.v.copy()
    for b, length in enumerate(given.lengths):
        k[b, length:] = poison
        v[b, length:] = poison
    if given.page_size is None:
        return k, v, None
    size = given.page_size
    batch, tokens = k.shape[:2]
    pages_each = -(-tokens // size)
    spare = 3  # pages that belong to nobody
    order = np.random.default_rng(size).permutation(batch * pages_each + spare)
    table = order[: batch * pages_each].reshape(batch, pages_each).astype(np.int64)
    pools = []
    for kv in (k, v):
        pool = np.full((len(order), size, *kv.shape[2:]), poison, np.float32)
        padded = np.full((batch, pages_each * size, *kv.shape[2:]), poison, np.float32)
        padded[:, :tokens] = kv
        pool[table] = padded.reshape(batch, pages_each, size, *kv.shape[2:])
        pools.append(pool)
    return pools[0], pools[1], table


def options(
    given: AttentionInput, page_table: NDArray[np.int64] | None, hand: torch_arrays.Hands
) -> dict[str, Any]:
    """The keywords of one call."""
    keywords: dict[str, Any] = {}
    if given.scale is not None:
        keywords["scale"] = given.scale
    if given.softcap is not None:
        keywords["softcap"] = given.softcap
    if given.sinks is not None:
        keywords["sinks"] = hand.plain(given.sinks)
    if page_table is not None:
        keywords["page_table"] = hand.plain(page_table)
    return keywords


def read(
    result: Any, given: AttentionInput, hand: torch_arrays.Hands, out: Placed | None
) -> Answer:
    """The answer in what the target returned, or what is wrong with it."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    first = first_of(result)
    if out is not None:
        values, dtype = decode(out.view, out.dtype), out.dtype
    else:
        taken = hand.read(first)
        if taken is None:
            return Answer(
                status=Status.MALFORMED, message=f"returned {type(first).__name__}, no array"
            )
        values, dtype = taken
    expected = (*given.q.shape[:2], given.v.shape[3])
    if values.shape != expected:
        return Answer(
            status=Status.MALFORMED, message=f"out has shape {values.shape}, not {expected}"
        )
    lse = hand.read(parts[1]) if len(parts) > 1 and parts[1] is not None else None
    if lse is not None and lse[0].shape != expected[:2]:
        return Answer(
            status=Status.MALFORMED, message=f"lse has shape {lse[0].shape}, not {expected[:2]}"
        )
    return Answer(
        status=Status.ANSWERED,
        out=values,
        lse=None if lse is None else lse[0],
        out_dtype=dtype,
    )


def first_of(result: Any) -> Any:
    """`out`, of what the target returned."""
    if isinstance(result, (tuple, list)):
        return result[0] if result else None
    return result


def _describe(error: BaseException) -> str:
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first[:200]}"
