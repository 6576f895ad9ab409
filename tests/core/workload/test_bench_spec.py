"""A benchmark as data: how its load is split, and what its header tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.bench_spec import (
    BenchCell,
    BenchSpec,
    incomparable,
    worker_plans,
)

RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=50),
    max_tokens=8,
    headers=(("X-Token", "s3cret"),),
)


def spec(cell: BenchCell, **changes: Any) -> BenchSpec:
    """A run of one cell."""
    fields: dict[str, Any] = {
        "url": "http://user:pa55@host:1",
        "request": RECIPE,
        "cells": (cell,),
        "deadline_s": 9.0,
        "seed": 1,
    }
    fields.update(changes)
    return BenchSpec(**fields)


@given(st.integers(1, 300), st.integers(0, 900), st.integers(1, 16))
def test_workers_share_a_closed_loop_exactly(concurrency: int, requests: int, workers: int) -> None:
    """Together the workers have the asked concurrency and send the asked requests."""
    cell = BenchCell(kind="closed", concurrency=concurrency, requests=requests)
    plans = worker_plans(cell, spec(cell, workers=workers))
    assert sum(plan["concurrency"] for plan in plans) == concurrency
    assert sum(plan["requests"] for plan in plans) == requests
    assert all(plan["concurrency"] >= 1 for plan in plans)


@given(st.floats(0.5, 90), st.integers(1, 200), st.integers(1, 8))
def test_workers_share_an_open_loop_exactly(rate: float, requests: int, workers: int) -> None:
    """The workers' times together are the plan of one."""
    cell = BenchCell(kind="poisson", rate_per_s=rate, requests=requests)
    alone = worker_plans(cell, spec(cell))[0]["offsets_ns"]
    plans = worker_plans(cell, spec(cell, workers=workers))
    assert sorted(offset for plan in plans for offset in plan["offsets_ns"]) == alone


def test_the_header_holds_no_secret() -> None:
    """Names of headers are kept, their values and the credentials of a URL are not."""
    cell = BenchCell(kind="closed", concurrency=1, requests=1)
    header = spec(cell).header(version="1", wall="now")
    assert "s3cret" not in repr(header)
    assert "pa55" not in repr(header)
    assert header["url"] == "http://host:1"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"deadline_s": 1.0}, "deadline_s"),
        ({"request": {**{"model": "other"}}}, "request.model"),
        ({"request": {"prompt": {"prompt_tokens": 9}}}, "prompt.prompt_tokens"),
        ({"request": {"prompt": {"salt": "x"}}}, "caches"),
    ],
)
def test_unlike_runs_are_told_apart(changes: dict[str, Any], word: str) -> None:
    """Whatever makes two runs another experiment is named."""
    cell = BenchCell(kind="closed", concurrency=1, requests=1)
    before: dict[str, Any] = dict(spec(cell).header(version="1", wall="now"))
    after = {**before, **changes}
    if "request" in changes:
        request = before["request"]
        prompt = {**request["prompt"], **changes["request"].get("prompt", {})}
        after["request"] = {**request, **changes["request"], "prompt": prompt}
    assert incomparable(before, before) == []
    (reason,) = incomparable(before, after)
    assert word in reason
