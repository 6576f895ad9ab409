"""Finds a smaller input that still shows a violation, by trying cuts and keeping what works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from exonerate.core.exactness import Property
from exonerate.kernels.attention_input import AttentionInput
from exonerate.kernels.prover.judge import Judge
from exonerate.kernels.prover.trial import Trial, Violation

ATTEMPTS_MAX = 60
"""Inputs tried for one finding; a target that hangs is not asked again at all."""

Cut = Callable[[AttentionInput], AttentionInput]


def shrink(judge: Judge, trial: Trial, violation: Violation) -> tuple[Trial, Violation]:
    """The smallest trial found that violates the same property, and its violation."""
    best = trial.narrowed(violation.property, violation.splits)
    attempts = 0
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(best, violation):
            if attempts == ATTEMPTS_MAX:
                return best, violation
            attempts += 1
            again = _violated(judge, candidate, violation.property)
            if again is not None:
                best, violation = candidate, again
                progress = True
                break
    return best, violation


def _violated(judge: Judge, trial: Trial, check: Property) -> Violation | None:
    """The violation of the property at the trial's largest number of splits, if there is one."""
    found = judge.judge(trial).violations
    wanted = [v for v in found if v.property is check and v.splits == max(trial.splits)]
    return wanted[0] if wanted else None


def _smaller(trial: Trial, violation: Violation) -> Iterator[Trial]:
    """Trials one cut smaller, the boldest cuts first."""
    for cut in _cuts(trial, violation):
        candidate = _apply(trial, cut)
        if candidate is not None:
            yield candidate
    splits = max(trial.splits)
    for fewer in (2, 3, splits // 2, splits - 1):
        if 1 < fewer < splits:
            yield trial.narrowed(violation.property, fewer)
    if trial.given.layout != "contiguous":
        yield replace(trial, given=replace(trial.given, layout="contiguous"))


def _cuts(trial: Trial, violation: Violation) -> Iterator[Cut]:
    yield from _batch_cuts(len(trial.given.lengths), violation)
    if trial.given.k.shape[2] > 1:
        yield lambda one: one.kv_heads(1)
    if trial.given.group > 1:
        yield _one_query_head
    yield from _token_cuts(trial.given)
    if trial.given.q.shape[2] >= 8:
        yield _dim(trial.given.q.shape[2] // 2)


def _batch_cuts(batch: int, violation: Violation) -> Iterator[Cut]:
    keep = 2 if violation.property is Property.BATCH_INVARIANT else 1
    if batch <= keep:
        return
    for row in violation.rows or range(min(batch, 4)):
        if row < batch:
            yield _rows([row, (row + 1) % batch][:keep])
    yield _rows(list(range(batch - 1)))


def _token_cuts(given: AttentionInput) -> Iterator[Cut]:
    longest = int(max(given.lengths, default=0))
    if given.k.shape[1] > longest + 1:
        yield lambda one: one.tokens(0, longest + 1)
    for stop in (longest // 2, longest - 1):
        if 0 < stop < longest:
            yield _stop_at(stop)
            yield _start_at(longest - stop)


def _apply(trial: Trial, cut: Cut) -> Trial | None:
    """The trial with the cut made in its input, and in the one before it; None if it does not."""
    before = trial.before
    try:
        smaller = cut(trial.given)
        earlier = None if before is None else cut(before)
    except IndexError:
        return None
    return (
        replace(trial, given=smaller, before=earlier) if smaller.size < trial.given.size else None
    )


def _rows(rows: list[int]) -> Cut:
    return lambda one: one.rows(rows)


def _stop_at(stop: int) -> Cut:
    """Leave tokens out at the end; one place past the length stays, to hold poison."""
    return lambda one: replace(
        one.tokens(0, stop + 1), lengths=one.lengths.clip(0, stop).astype(one.lengths.dtype)
    )


def _start_at(start: int) -> Cut:
    return lambda one: one.tokens(start, one.k.shape[1])


def _dim(dim: int) -> Cut:
    return lambda one: replace(
        one, q=one.q[..., :dim], k=one.k[..., :dim], v=one.v[..., : min(dim, one.v.shape[3])]
    )


def _one_query_head(one: AttentionInput) -> AttentionInput:
    """The first query head of each KV head."""
    sinks = None if one.sinks is None else one.sinks[:: one.group]
    return replace(one, q=one.q[:, :: one.group], sinks=sinks)
