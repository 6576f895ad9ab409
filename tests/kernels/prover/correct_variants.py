"""Correct implementations that have little in common; none of them may be accused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def two_pass(q: Array, k: Array, v: Array, lengths: Array, splits: int) -> tuple[Array, Array]:
    """Whole rows at once, no split: the number of splits is not looked at."""
    out = np.zeros((*q.shape[:2], v.shape[3]), q.dtype)
    lse = np.full(q.shape[:2], np.inf, np.float32)  # the convention of some libraries
    for b, h, n in _rows(q, lengths):
        s, values = _scores(q, k, v, b, h, n)
        with np.errstate(all="ignore"):
            m = max(np.max(s), np.float32(np.finfo(np.float32).min))
            p = np.exp(s - m)
            total = np.sum(p)
            out[b, h] = (p / (total or 1)) @ values
            lse[b, h] = m + np.log(total)
    return out, lse


def running_mean(q: Array, k: Array, v: Array, lengths: Array, splits: int) -> Array:
    """A few tokens at a time, the answer so far kept as a mean that cannot overflow."""
    out = np.zeros((*q.shape[:2], v.shape[3]), q.dtype)
    for b, h, n in _rows(q, lengths):
        s, values = _scores(q, k, v, b, h, n)
        parts = [
            _stream(s[part], values[part]) for part in np.array_split(np.arange(n), min(splits, n))
        ]
        with np.errstate(all="ignore"):
            m, weight, mean = parts[0]
            for part in parts[1:]:
                m, weight, mean = _merge((m, weight, mean), part)
        out[b, h] = mean
    return out


def float64_inside(q: Array, k: Array, v: Array, lengths: Array, splits: int) -> Array:
    """Splits of a fixed size, everything in float64, rounded at the end; writes into `out`."""
    out = np.zeros((*q.shape[:2], v.shape[3]), q.dtype)
    for b, h, n in _rows(q, lengths):
        s, values = _scores(q, k, v, b, h, n, np.float64)
        numerator, denominator = np.zeros(v.shape[3]), 0.0
        with np.errstate(all="ignore"):
            m = np.max(s)
            m = 0.0 if m == -np.inf else m
            for start in range(0, n, 16):
                p = np.exp(s[start : start + 16] - m)
                numerator = numerator + p @ values[start : start + 16]
                denominator = denominator + np.sum(p)
            out[b, h] = numerator / (denominator if denominator != 0 else 1.0)
    return out


def normalised_partials(
    q: Array, k: Array, v: Array, lengths: Array, splits: int, out: Array | None = None
) -> Array:
    """Partials (m, l, o) with o = acc / l, merged as a tree, and an output given by the caller."""
    answer = np.zeros((*q.shape[:2], v.shape[3]), q.dtype) if out is None else out
    answer[...] = 0
    for b, h, n in _rows(q, lengths):
        s, values = _scores(q, k, v, b, h, n)
        parts = [
            _normalised(s[part], values[part])
            for part in np.array_split(np.arange(n), min(splits, n + 2))
        ]
        with np.errstate(all="ignore"):
            while len(parts) > 1:
                merged = [_merge(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
                parts = merged + parts[len(merged) * 2 :]
        answer[b, h] = parts[0][2]
    return answer


def fixed_size(q: Array, k: Array, v: Array, lengths: Array, splits: int) -> Array:
    """Cuts at fixed places, so neither the split count nor the batch mates change a bit."""
    return normalised_partials(q, k, v, lengths, 4)


def only_float32(q: Array, k: Array, v: Array, lengths: Array, splits: int) -> Array:
    """Takes one format and says so; refuses split counts that make no sense."""
    if q.dtype != np.float32:
        raise TypeError(f"only float32, not {q.dtype}")
    if splits < 1:
        raise ValueError("splits is at least 1")
    return normalised_partials(q, k, v, lengths, min(splits, 1 + int(max(lengths, default=0))))


VARIANTS = (
    two_pass,
    running_mean,
    float64_inside,
    normalised_partials,
    fixed_size,
    only_float32,
)


def _rows(q: Array, lengths: Array) -> list[tuple[int, int, int]]:
    return [
        (b, h, int(lengths[b]))
        for b in range(q.shape[0])
        for h in range(q.shape[1])
        if lengths[b] > 0
    ]


def _scores(
    q: Array, k: Array, v: Array, b: int, h: int, n: int, kind: Any = np.float32
) -> tuple[Array, Array]:
    group = q.shape[1] // k.shape[2]
    keys, values = k[b, :n, h // group].astype(kind), v[b, :n, h // group].astype(kind)
    with np.errstate(all="ignore"):
        return (keys @ q[b, h].astype(kind)) * kind(q.shape[2] ** -0.5), values


def _normalised(s: Array, values: Array) -> tuple[Any, Any, Array]:
    """(m, l, o) of a split; weights are divided before they meet values, so nothing overflows."""
    if not len(s):
        return np.float32(-np.inf), np.float32(0), np.zeros(values.shape[1], np.float32)
    with np.errstate(all="ignore"):
        m = np.max(s)
        p = np.exp(s - (np.float32(0) if m == -np.inf else m))
        total = np.sum(p)
        return m, total, (p / (total if total != 0 else np.float32(1))) @ values


def _stream(s: Array, values: Array) -> tuple[Any, Any, Array]:
    step = 8 + len(s) // 4
    state = _normalised(s[:4], values[:4])
    with np.errstate(all="ignore"):
        for start in range(4, len(s), step):
            stop = start + step
            state = _merge(state, _normalised(s[start:stop], values[start:stop]))
    return state


def _merge(one: tuple[Any, Any, Array], other: tuple[Any, Any, Array]) -> tuple[Any, Any, Array]:
    m = np.maximum(one[0], other[0])
    base = np.float32(0) if m == -np.inf else m
    a, b = np.exp(one[0] - base) * one[1], np.exp(other[0] - base) * other[1]
    total = a + b
    share = np.float32(1) if total == 0 else total
    return m, total, (a / share) * one[2] + (b / share) * other[2]
