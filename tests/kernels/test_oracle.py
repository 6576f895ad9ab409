"""The float64 oracle against answers that are known without it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exonerate.kernels import oracle
from exonerate.kernels.attention_input import AttentionInput


def _uniform(tokens: int) -> AttentionInput:
    return AttentionInput(
        q=np.zeros((1, 2, 4), np.float32),
        k=np.ones((1, tokens, 1, 4), np.float32),
        v=np.arange(tokens, dtype=np.float32)[None, :, None, None].repeat(4, axis=3),
        lengths=np.array([tokens]),
    )


def test_equal_scores_give_the_mean_of_the_values() -> None:
    """A query of zeros attends to every token alike; lse is the logarithm of their number."""
    truth = oracle.attend(_uniform(5))
    assert truth.out[0, 1].tolist() == pytest.approx([2.0] * 4)
    assert truth.lse[0, 0] == pytest.approx(np.log(5))


def test_tokens_past_the_length_do_not_exist() -> None:
    """Poison there changes nothing; a length of zero answers 0 and -inf."""
    one = _uniform(5)
    one.v[0, 2:] = np.nan
    assert oracle.attend(replace(one, lengths=np.array([2]))).out[0, 0, 0] == pytest.approx(0.5)
    nothing = oracle.attend(replace(one, lengths=np.array([0])))
    assert nothing.out.tolist() == [[[0.0] * 4] * 2]
    assert nothing.lse.tolist() == [[-np.inf] * 2]


def test_a_sink_of_the_same_score_takes_its_share() -> None:
    """Five tokens and a sink, all alike: each token weighs a sixth; lse leaves the sink out."""
    truth = oracle.attend(replace(_uniform(5), sinks=np.zeros(2, np.float32)))
    assert truth.out[0, 0, 0] == pytest.approx(10 / 6)
    assert truth.lse[0, 0] == pytest.approx(np.log(5))


def test_a_soft_cap_bounds_the_scores() -> None:
    """With a cap of 1, a score of 1000 weighs e against 1 for a score of 0."""
    one = _uniform(2)
    one.q[...] = 1.0
    one.k[0, 0] = 500.0
    one.k[0, 1] = 0.0
    truth = oracle.attend(replace(one, softcap=1.0))
    assert truth.out[0, 0, 0] == pytest.approx(1 / (1 + np.e))
