"""Which scenarios cannot go side by side on one host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exonerate.lab.scarce import COMPUTING, NETWORKS, at_a_time, scarce
from exonerate.lab.scenario import find_template, read_template


def test_a_real_engine_and_a_hog_compute_and_a_network_is_one() -> None:
    """The scenarios that come along say by their own parts what they need."""
    assert scarce(find_template("S1")) == {COMPUTING}
    assert scarce(find_template("P19")) == {COMPUTING}
    assert scarce(find_template("P7")) == {NETWORKS}
    assert scarce(find_template("P1")) == frozenset()


def test_a_hog_beside_a_scripted_engine_computes_as_well(tmp_path: Path) -> None:
    """Whatever computes without pause counts, engine or not."""
    path = tmp_path / "x.toml"
    path.write_text(
        'id = "X"\n[[part]]\nname = "engine"\nkind = "scripted"\n'
        '[[background]]\nprogram = "hog"\nat = "engine"\n'
    )
    assert scarce(read_template(path)) == {COMPUTING}


@pytest.mark.parametrize(("cores", "engines"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_each_engine_has_two_cores_and_networks_are_built_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch, cores: int, engines: int
) -> None:
    """One at least, however small the host."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(cores)))
    assert (at_a_time(COMPUTING), at_a_time(NETWORKS)) == (engines, 1)
