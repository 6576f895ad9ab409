"""Calls and answers as files, for targets in another process.

The line protocol, which a target in any language can speak:

1. It is started once and reads lines from its standard input.
2. A line holds two paths, separated by a space: an `.npz` file to read and one to write.
3. It writes its answer to the second, then prints `ok` or `error: what is wrong` as one line.
   It may end after an answer; it is started again for the next call.

The request holds q, k, v (float32, float16, uint16 with the bits of bfloat16, or uint8 with the
bits of float8 e4m3fn), lengths (int64), splits (int64) and dtype (`fp32`, `fp16`, `bf16`, `fp8`).
The answer holds out (any float type, or uint16 with bits of bfloat16) and, where there is one, lse.
Places past a sequence's length hold NaN.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.attention_input import AttentionInput, out_dtype
from exonerate.kernels.number_formats import from_bf16_bits
from exonerate.kernels.prover.call import stored_kv
from exonerate.kernels.prover.placement import decode, encode
from exonerate.kernels.prover.runner import Answer, Call, Status

_NUMPY: dict[str, Any] = {
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": np.uint16,
    "fp8": np.uint8,
}


def write_call(path: Path, call: Call) -> None:
    """The request file; `options` is for our own worker, others need not read it."""
    given = call.given
    flat = AttentionInput(q=given.q, k=given.k, v=given.v, lengths=given.lengths)
    k, v, _ = stored_kv(flat, call.kv_poison)
    options = {
        "layout": given.layout,
        "scale": given.scale,
        "softcap": given.softcap,
        "page_size": given.page_size,
        "kv_poison": call.kv_poison,
        "memory_poison": call.memory_poison,
        "with_out": call.with_out,
    }
    arrays: dict[str, Any] = {} if given.sinks is None else {"sinks": given.sinks}
    np.savez(
        path,
        q=_typed(given.q, out_dtype(given.dtype)),
        k=_typed(k, given.dtype),
        v=_typed(v, given.dtype),
        lengths=given.lengths,
        splits=np.int64(call.splits),
        dtype=np.array(given.dtype),
        options=np.array(json.dumps(options)),
        **arrays,
    )


def read_call(path: Path) -> Call:
    """The call in a request file."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    dtype = str(arrays["dtype"])
    options = json.loads(str(arrays["options"]))
    given = AttentionInput(
        q=_values(arrays["q"], out_dtype(dtype)),
        k=_values(arrays["k"], dtype),
        v=_values(arrays["v"], dtype),
        lengths=arrays["lengths"],
        sinks=arrays.get("sinks"),
        dtype=dtype,
        layout=options["layout"],
        scale=options["scale"],
        softcap=options["softcap"],
        page_size=options["page_size"],
    )
    return Call(
        given=given,
        splits=int(arrays["splits"]),
        kv_poison=options["kv_poison"],
        memory_poison=options["memory_poison"],
        with_out=options["with_out"],
    )


def write_answer(path: Path, answer: Answer) -> None:
    """The answer file of our own worker: what any target writes, and what the worker saw."""
    arrays: dict[str, Any] = {
        name: array
        for name, array in (("out", answer.out), ("lse", answer.lse))
        if array is not None
    }
    seen = {
        "status": answer.status.value,
        "out_dtype": answer.out_dtype,
        "outside": answer.outside,
        "message": answer.message,
    }
    np.savez(path, seen=np.array(json.dumps(seen)), **arrays)


def read_answer(path: Path, given: AttentionInput) -> Answer:
    """The answer in a file that a target wrote; whatever is wrong with it is in its status."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        return Answer(status=Status.MALFORMED, message=f"its answer file cannot be read: {error}")
    if "seen" in arrays:
        seen = json.loads(str(arrays["seen"]))
        return Answer(
            status=Status(seen["status"]),
            out=arrays.get("out"),
            lse=arrays.get("lse"),
            out_dtype=seen["out_dtype"],
            outside=seen["outside"],
            message=seen["message"],
        )
    return _check(arrays, given)


def _check(arrays: dict[str, NDArray[Any]], given: AttentionInput) -> Answer:
    shape = (*given.q.shape[:2], given.v.shape[3])
    if "out" not in arrays or arrays["out"].shape != shape:
        got = arrays["out"].shape if "out" in arrays else "missing"
        return Answer(status=Status.MALFORMED, message=f"`out` is {got}, not {shape}")
    lse = arrays.get("lse")
    if lse is not None and lse.shape != shape[:2]:
        return Answer(status=Status.MALFORMED, message=f"`lse` is {lse.shape}, not {shape[:2]}")
    return Answer(
        status=Status.ANSWERED,
        out=_answered(arrays["out"]),
        lse=None if lse is None else _answered(lse),
        out_dtype=str(arrays["out"].dtype),
    )


def _answered(array: NDArray[Any]) -> NDArray[np.float32]:
    return from_bf16_bits(array) if array.dtype == np.uint16 else array.astype(np.float32)


def _typed(values: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    return encode(values, dtype).view(_NUMPY[dtype])


def _values(array: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    bits: Any = {1: np.uint8, 2: np.uint16, 4: np.uint32}[array.itemsize]
    return decode(array.view(bits), dtype)
