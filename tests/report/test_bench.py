"""A benchmark for people."""

from __future__ import annotations

from typing import Any

from exonerate.report.bench import bench_markdown, bench_text
from exonerate.report.bench_html import bench_html


def quantiles(p50: float | None, p99: float | None = None) -> dict[str, Any]:
    """Quantiles of one metric."""
    return {
        "p50": {"value": p50, "ci": None if p50 is None else [p50 * 0.9, p50 * 1.1]},
        "p90": {"value": None, "ci": None},
        "p99": {"value": p99, "ci": None},
    }


def answer(**changes: Any) -> dict[str, Any]:
    """A run of one cell."""
    cell: dict[str, Any] = {
        "load": "C64",
        "requests": 100,
        "complete": 100,
        "output_tokens_per_s": 811.7,
        "requests_per_s": 8.1,
        "ttft_ms": quantiles(58.6, 71.0),
        "itl_ms": quantiles(10.0),
        "tpot_ms": quantiles(10.1),
        "e2e_ms": quantiles(1050.0),
        "ends": {"ok": 100},
        "window": "full load",
        "steady": True,
        "mean_in_flight": 64.0,
        "asked_in_flight": 64,
        "usage_tokens": 6400,
        "counted_events": 6400,
        "goodput": None,
        "instrument": {"cpu_share": 0.06, "lag_ms_p99": 0.5, "client_bound": False},
        "engine": {},
    }
    cell.update(changes.pop("cell", {}))
    tree: dict[str, Any] = {
        "valid": True,
        "invalid": None,
        "result": "run.exbench",
        "header": {
            "url": "http://h:1",
            "request": {
                "path": "/v1/chat/completions",
                "model": "m",
                "max_tokens": 64,
                "prompt": {"prompt_tokens": 200},
            },
        },
        "cells": [cell],
        "notes": [],
    }
    return {**tree, **changes}


def test_a_quantile_stands_beside_its_interval() -> None:
    """The median has an interval; a tail that n does not allow is a dash."""
    text = bench_text(answer())
    assert "58.60 [52.74, 64.46]" in text
    assert "  -  " in text


def test_an_invalid_result_says_so_first() -> None:
    """Whoever reads one line reads that the client was the limit."""
    tree = answer(
        valid=False,
        invalid="client-bound",
        cell={"instrument": {"client_bound": True, "why": "a load worker used 97% of its core"}},
    )
    assert bench_text(tree).splitlines()[0] == "invalid: client-bound"
    assert "a load worker used 97% of its core" in bench_text(tree)
    assert "invalid: client-bound" in bench_html(tree)


def test_failures_and_disagreements_are_listed() -> None:
    """End codes, other counts and a run that is not steady are notes of their cell."""
    cell = {
        "ends": {"hFD": 3, "ok": 97},
        "counted_events": 6000,
        "steady": False,
        "engine": {"generated_to_client": 1.05},
    }
    text = bench_text(answer(cell=cell))
    assert "3 × hFD" in text
    assert "6000 events for 6400 tokens" in text
    assert "not steady" in text
    assert "1.050 tokens for each of ours" in text


def test_markdown_is_one_table_and_a_list() -> None:
    """The same rows and notes, for a document."""
    lines = bench_markdown(answer()).splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 3
    assert lines[-1] == "- raw records: run.exbench"


def test_the_page_escapes_what_it_shows() -> None:
    """A URL with markup in it cannot become part of the page."""
    tree = answer()
    tree["header"]["url"] = "http://h/<script>"
    assert "<script>" not in bench_html(tree, [[(0.0, 5), (0.1, 6)]])
