"""Judges one trial: runs it at every number of splits and says which properties failed.

The baseline is one split. Infinity and NaN are compared with the baseline of the same target, not
with float64: a score that overflows float32 is wrong at one split too and no effect of splitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exonerate.core.exactness import Property
from exonerate.kernels import oracle
from exonerate.kernels.attention_input import AttentionInput, out_dtype
from exonerate.kernels.number_formats import number_format, ulp
from exonerate.kernels.prover import bounds
from exonerate.kernels.prover.runner import Answer, Call, Capabilities, Runner, Status
from exonerate.kernels.prover.trial import Judgement, Measurement, Trial

REPEATS_MAX = 2
"""Split counts of a trial at which calls are repeated: the smallest and the largest above one."""

Float32Array = NDArray[np.float32]


class Judge:
    """Asks one target about trials."""

    def __init__(
        self, runner: Runner, *, partial_dtype: str = "fp32", ulp_allowed: float = 0.0
    ) -> None:
        self._runner = runner
        self._partial_dtype = partial_dtype
        self._ulp_allowed = ulp_allowed

    @property
    def capabilities(self) -> Capabilities:
        """What the target can be asked."""
        return self._runner.capabilities

    def judge(self, trial: Trial) -> Judgement:
        """What the target did wrong, if anything."""
        found = Judgement()
        found.refused = _out_of_reach(trial, self._runner.capabilities)
        if found.refused:
            return found
        found.examined |= {Property.ANSWERS, Property.WRITES_WITHIN_OUTPUT}
        answers = self._answers(trial, found)
        if trial.must_refuse:
            for splits in answers:
                found.add(Property.ANSWERS, splits, "answered where the shapes do not fit")
            return found
        if not answers:
            return found
        self._judge_values(trial, answers, found)
        for splits in _to_repeat(answers):
            self._judge_repeats(trial, splits, answers[splits], found)
        if Property.BATCH_INVARIANT in trial.checks:
            self._judge_mates(trial, answers, found)
        return found

    def _answers(self, trial: Trial, found: Judgement) -> dict[int, Answer]:
        """The answer at each number of splits; stops at a hang or a death."""
        answers: dict[int, Answer] = {}
        for splits in trial.splits:
            if trial.before is not None:
                self._run(found, Call(given=trial.before, splits=splits, with_out=False))
            call = Call(given=trial.given, splits=splits, with_out=trial.with_out)
            answer = self._run(found, call)
            if answer.outside:
                found.add(Property.WRITES_WITHIN_OUTPUT, splits, answer.outside)
            if answer.status is Status.ANSWERED:
                answers[splits] = answer
                continue
            if _is_refusal(trial, answer):
                found.refused = answer.message
                return {}
            found.add(Property.ANSWERS, splits, _unanswered(answer))
            if answer.status in (Status.DIED, Status.HUNG):
                break
        return answers

    def _run(self, found: Judgement, call: Call) -> Answer:
        found.calls += 1
        answer = self._runner.run(call)
        found.raised += answer.status is Status.RAISED
        found.hangs += answer.status is Status.HUNG
        found.deaths += answer.status is Status.DIED
        return answer

    def _judge_values(self, trial: Trial, answers: dict[int, Answer], found: Judgement) -> None:
        truth = oracle.attend(trial.given)
        found.examined |= trial.checks & {
            Property.ACCURATE,
            Property.SAME_CLASS,
            Property.SPLIT_INVARIANT,
        }
        for splits, answer in answers.items():
            if Property.ACCURATE in trial.checks:
                self._judge_error(trial, splits, answer, truth, found)
            base = answers.get(1)
            if base is not None:
                self._compare(trial, splits, answer, base, truth, found)

    def _judge_error(
        self,
        trial: Trial,
        splits: int,
        answer: Answer,
        truth: oracle.Oracle,
        found: Judgement,
    ) -> None:
        assert answer.out is not None
        bound = bounds.out_bound(
            trial.given,
            truth,
            partial_dtype=self._partial_dtype,
            exact_scores=trial.exact_scores,
        )
        error = _error(answer.out, truth.out, trial.given.dtype)
        beyond = ~(error <= bound)
        if np.any(beyond):
            found.add(
                Property.ACCURATE, splits, _describe_error(error, bound, answer.out), _rows(beyond)
            )
        if answer.lse is not None and trial.given.sinks is None:
            _judge_lse(trial, splits, answer.lse, truth, found)

    def _compare(
        self,
        trial: Trial,
        splits: int,
        answer: Answer,
        base: Answer,
        truth: oracle.Oracle,
        found: Judgement,
    ) -> None:
        """The answer at this number of splits beside the one at one split."""
        assert answer.out is not None
        assert base.out is not None
        if Property.SAME_CLASS in trial.checks:
            changed = _class_of(answer.out) != _class_of(base.out)
            if np.any(changed):
                what = _describe_class(base.out[changed][0], answer.out[changed][0])
                found.add(Property.SAME_CLASS, splits, what, _rows(changed))
        if Property.SPLIT_INVARIANT not in trial.checks:
            return
        measured = self._measure(trial, splits, answer.out, base.out, truth)
        if trial.curve:
            found.measurements.append(measured)
        if measured.changed and not 0 < measured.ulp_max <= self._ulp_allowed:
            share = f"{measured.changed} of {measured.elements} outputs differ"
            what = f"{share}, by up to {measured.ulp_max:.2g} ulp"
            found.add(Property.SPLIT_INVARIANT, splits, what)

    def _measure(
        self,
        trial: Trial,
        splits: int,
        out: Float32Array,
        base: Float32Array,
        truth: oracle.Oracle,
    ) -> Measurement:
        error = _error(out, truth.out, trial.given.dtype)
        bound = bounds.out_bound(
            trial.given, truth, partial_dtype=self._partial_dtype, exact_scores=trial.exact_scores
        )
        with np.errstate(all="ignore"):
            # Cancellation makes an output small without making the terms' last places smaller.
            size = np.maximum(truth.magnitude, np.abs(truth.out))
            step = np.maximum(
                ulp(size, self._partial_dtype),
                ulp(truth.out, out_dtype(trial.given.dtype)),
            )
            difference = np.abs(out.astype(np.float64) - base) / step
        changed = ~_same(out, base)
        return Measurement(
            condition=trial.condition,
            dtype=trial.given.dtype,
            splits=splits,
            error_max=_largest(error),
            error_squares=float(np.sum(error**2)),
            of_bound=_largest(error / bound),
            elements=out.size,
            changed=int(np.count_nonzero(changed)),
            ulp_max=float(np.nanmax(np.where(changed, difference, 0.0), initial=0.0)),
        )

    def _judge_repeats(self, trial: Trial, splits: int, answer: Answer, found: Judgement) -> None:
        """The same call after others, and with other contents of memory that is not its own."""
        call = Call(given=trial.given, splits=splits, with_out=trial.with_out)
        first = answer
        if Property.DETERMINISTIC in trial.checks:
            found.examined.add(Property.DETERMINISTIC)
            same = True
            for _ in range(trial.repeats):
                self._run(found, replace(call, given=_other_values(trial.given)))
                again = self._run(found, call)
                how = "repeated after another call"
                same &= _expect_same(Property.DETERMINISTIC, splits, first, again, how, found)
            other = self._run(found, replace(call, memory_poison=3e4))
            how = "other scratch contents"
            same &= _expect_same(Property.DETERMINISTIC, splits, first, other, how, found)
            if not same:
                return  # what differs by itself says nothing of what it reads
        if Property.READS_WITHIN_LENGTH in trial.checks:
            found.examined.add(Property.READS_WITHIN_LENGTH)
            for poison in (0.0, float("inf"), 3e4):
                other = self._run(found, replace(call, kv_poison=poison))
                _expect_same(
                    Property.READS_WITHIN_LENGTH,
                    splits,
                    first,
                    other,
                    f"NaN and then {poison:g} past the length",
                    found,
                )

    def _judge_mates(self, trial: Trial, answers: dict[int, Answer], found: Judgement) -> None:
        """A few sequences alone, beside the same ones in their batch."""
        found.examined.add(Property.BATCH_INVARIANT)
        batch = len(trial.given.lengths)
        splits, answer = max(answers.items())
        assert answer.out is not None
        for row in sorted({0, batch // 2, batch - 1}):
            alone = self._run(found, Call(given=trial.given.rows([row]), splits=splits))
            if alone.status is not Status.ANSWERED or alone.out is None:
                found.add(Property.ANSWERS, splits, f"alone: {_unanswered(alone)}", [row])
                continue
            same = _same(alone.out[0], answer.out[row])
            if not np.all(same):
                count = int(np.count_nonzero(~same))
                found.add(
                    Property.BATCH_INVARIANT,
                    splits,
                    f"{count} of {same.size} outputs of sequence {row} differ when it is alone",
                    [row, (row + 1) % batch],
                )


def _out_of_reach(trial: Trial, capabilities: Capabilities) -> str:
    """Why this target cannot be asked this; empty when it can."""
    given = trial.given
    needs = {
        "page_table": given.page_size is not None,
        "softcap": given.softcap is not None,
        "sinks": given.sinks is not None,
        "scale": given.scale is not None,
    }
    for keyword, needed in needs.items():
        if needed and keyword not in capabilities.keywords:
            return f"takes no `{keyword}`"
    if trial.exact_scores and capabilities.merges:
        return "a log-sum-exp cannot carry this offset, whoever merges it"
    if given.layout != "contiguous" and capabilities.merges:
        return "the layout of q, k and v never reaches a merge"
    if given.layout != "contiguous" and not capabilities.layouts:
        return "arrays cross to it as files, so their layout cannot be chosen"
    return ""


def _is_refusal(trial: Trial, answer: Answer) -> bool:
    return answer.status is Status.REFUSED or (
        answer.status is Status.RAISED and (trial.optional or trial.noted_only)
    )


def _unanswered(answer: Answer) -> str:
    words = {
        Status.RAISED: "raised",
        Status.MALFORMED: "answered in another form:",
        Status.DIED: "died:",
        Status.HUNG: "did not answer:",
        Status.REFUSED: "refused:",
    }
    return f"{words.get(answer.status, answer.status.value)} {answer.message}"


def _to_repeat(answers: dict[int, Answer]) -> Sequence[int]:
    many = sorted(splits for splits in answers if splits > 1)
    return sorted({many[0], many[-1]})[:REPEATS_MAX] if many else list(answers)[:1]


def _error(out: Float32Array, truth: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """|out - truth|; 0 where the truth itself is beyond the format or not finite."""
    with np.errstate(all="ignore"):
        judged = np.isfinite(truth) & (np.abs(truth) <= number_format(out_dtype(dtype)).largest)
        return np.where(judged, np.abs(out.astype(np.float64) - truth), 0.0)


def _judge_lse(
    trial: Trial, splits: int, lse: Float32Array, truth: oracle.Oracle, found: Judgement
) -> None:
    empty = truth.lse == -np.inf
    for value in {_lse_of_nothing(float(value)) for value in lse[empty]}:
        found.convention("lse_of_no_tokens", value)
        if value.startswith("finite") or value == "NaN":
            what = f"log-sum-exp of no tokens is {value}: a merge takes it for weight"
            found.add(Property.ACCURATE, splits, what, _rows(empty))
    bound = bounds.lse_bound(trial.given, truth, exact_scores=trial.exact_scores)
    with np.errstate(all="ignore"):
        beyond = ~(np.abs(lse - truth.lse) <= bound) & ~empty & np.isfinite(truth.lse)
        if not np.any(beyond):
            return
        base_two = np.all(np.abs(lse * np.log(2) - truth.lse)[~empty] <= 2 * bound[~empty])
        worst = float(np.max(np.abs(lse - truth.lse)[beyond]))
    what = (
        "log-sum-exp is in base 2, not natural" if base_two else f"log-sum-exp off by {worst:.3g}"
    )
    found.add(Property.ACCURATE, splits, what, _rows(beyond))


def _lse_of_nothing(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "+inf" if value > 0 else "-inf"
    return f"sentinel {value:.3g}" if value <= -1e29 else f"finite ({value:.6g})"


def _expect_same(
    check: Property, splits: int, first: Answer, again: Answer, how: str, found: Judgement
) -> bool:
    """Whether both are the same; if not, that is noted."""
    if again.status is not Status.ANSWERED or again.out is None:
        found.add(Property.ANSWERS, splits, f"{how}: {_unanswered(again)}")
        return False
    assert first.out is not None
    same = _same(first.out, again.out)
    if not np.all(same):
        what = f"{how}: {int(np.count_nonzero(~same))} of {same.size} outputs differ"
        found.add(check, splits, what, _rows(~same))
    return bool(np.all(same))


def _other_values(given: AttentionInput) -> AttentionInput:
    """An input of the same shape whose answer is another one."""
    return replace(given, q=-given.q, v=-given.v[:, ::-1], lengths=given.lengths[::-1].copy())


def _largest(values: NDArray[np.float64]) -> float:
    """The largest value; a NaN is larger than all."""
    return float(np.max(np.where(np.isnan(values), np.inf, values), initial=0.0))


def _same(one: Float32Array, other: Float32Array) -> NDArray[np.bool_]:
    """Element by element the same number; NaNs are alike."""
    same: NDArray[np.bool_] = (one == other) | (np.isnan(one) & np.isnan(other))
    return same


def _class_of(values: Float32Array) -> NDArray[np.int64]:
    """0 finite, 1 and 2 infinities, 3 NaN."""
    return np.select([np.isnan(values), values == np.inf, values == -np.inf], [3, 1, 2], 0)


def _describe_class(base: float, changed: float) -> str:
    return f"{_word(base)} at one split, {_word(changed)} here"


def _word(value: float) -> str:
    return "finite" if np.isfinite(value) else str(float(value)).replace("nan", "NaN")


def _describe_error(
    error: NDArray[np.float64], bound: NDArray[np.float64], out: Float32Array
) -> str:
    if not np.all(np.isfinite(out[~(error <= bound)])):
        return "NaN or infinity where float64 attention is finite"
    with np.errstate(all="ignore"):
        ratio = np.where(np.isfinite(bound), error / bound, 0.0)
        worst = np.unravel_index(int(np.argmax(ratio)), error.shape)
    return f"error {error[worst]:.3g}, {error[worst] / bound[worst]:.3g} times the bound"


def _rows(where: NDArray[np.bool_]) -> list[int]:
    """The sequences in which something is true."""
    axes = tuple(range(1, where.ndim))
    return [int(row) for row in np.flatnonzero(np.any(where, axis=axes))]
