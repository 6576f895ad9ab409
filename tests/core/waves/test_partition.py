"""How a batch is cut into CTAs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.partition import (
    Batch,
    Partition,
    Run,
    balanced,
    split_evenly,
)

batches = st.builds(
    Batch,
    lengths=st.lists(st.integers(0, 3000), min_size=1, max_size=12).map(tuple),
    units=st.integers(1, 4),
    tile=st.sampled_from([1, 16, 64]),
)


def tokens_of(partition: Partition) -> float:
    """All work of a launch."""
    return sum(run.tokens * run.count for run in partition.runs)


def test_a_request_is_cut_at_whole_tiles() -> None:
    """1,000 tokens in three splits of tiles of 64: 384, 384 and the rest."""
    partition = split_evenly(Batch((1000,), 2, 64), [3])
    assert partition.runs == (Run(384.0, 4), Run(232.0, 2))
    assert (partition.splits, partition.ctas) == ((3,), 6)


def test_rounding_to_tiles_can_leave_fewer_splits_than_asked_for() -> None:
    """Eight tiles in seven splits are two tiles each, so four."""
    assert split_evenly(Batch((512,), 1, 64), [7]).splits == (4,)


def test_more_splits_than_tiles_give_one_split_a_tile() -> None:
    """No CTA is launched for nothing."""
    assert split_evenly(Batch((100,), 1, 64), [50]).splits == (2,)


def test_a_request_without_tokens_still_has_its_ctas() -> None:
    """A padded slot of a graph is launched, and does nothing."""
    assert split_evenly(Batch((0,), 3, 64), [4]).runs == (Run(0.0, 3),)


@given(batch=batches, splits=st.integers(1, 40))
def test_cutting_loses_and_invents_no_token(batch: Batch, splits: int) -> None:
    """Work is conserved, and never more splits than were asked for."""
    partition = split_evenly(batch, [splits] * len(batch.lengths))
    assert tokens_of(partition) == batch.units * sum(batch.lengths)
    assert all(1 <= taken <= splits for taken in partition.splits)
    assert partition.ctas == batch.units * sum(partition.splits)


@given(batch=batches, parts=st.integers(1, 40))
def test_persistent_parts_share_all_tokens_evenly(batch: Batch, parts: int) -> None:
    """Every CTA has the same work, and together they have all of it."""
    partition = balanced(batch, parts)
    assert tokens_of(partition) == pytest.approx(batch.units * sum(batch.lengths))
    if sum(batch.lengths):
        assert partition.ctas == parts * batch.units
        assert all(1 <= taken <= parts for taken in partition.splits)


def test_a_cut_at_the_end_of_a_request_does_not_split_it() -> None:
    """Two equal requests on two parts are one split each; on three, the cuts fall inside."""
    assert balanced(Batch((600, 600), 1, 64), 2).splits == (1, 1)
    assert balanced(Batch((600, 600), 1, 64), 3).splits == (2, 2)


def test_equal_neighbours_are_launched_split_by_split() -> None:
    """Ten requests of two equal chunks: twenty CTAs alike; rests come last."""
    assert split_evenly(Batch((128,) * 10, 1, 64), [2] * 10).runs == (Run(64.0, 20),)
    assert split_evenly(Batch((100,) * 2, 1, 64), [2] * 2).runs == (
        Run(64.0, 2),
        Run(36.0, 2),
    )


def test_the_mean_is_over_requests() -> None:
    """The unit of relative attention time."""
    assert Batch((100, 300), 2, 64).tokens_mean == 200
    assert Batch((100, 300), 2, 64).base == 4
