"""Real proxies whose sockets are not seen: log, page or tap give the verdict instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.proxied import haproxy_path, located, nginx_path

SILENT = {"fault": [{"do": {"action": "silence", "after_tokens": 4, "seconds": 4}}]}
CUT = {"fault": [{"do": {"action": "cut", "after_tokens": 4}}]}
TAP = 'tap = "http://127.0.0.1:%(next)s"'


def verdict(answer: dict[str, Any]) -> tuple[str, list[tuple[str, str, list[str]]]]:
    """Outcome, and layer, class and hops of each fault."""
    faults = [(f["layer"], f["class"], f["hops"]) for f in answer["faults"]]
    return answer["outcome"], faults


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("hop", "between", "layer", "hops"),
    [
        ("", "", "boundary", ["edge", "engine"]),
        ('log = "edge.access"\nerror_log = "edge.error"', "", "proxy", ["edge"]),
        ("", TAP, "proxy", ["edge"]),
    ],
    ids=["blind", "log", "tap"],
)
def test_nginx_is_named_by_its_log_or_by_a_tap(
    tmp_path: Path, hop: str, between: str, layer: str, hops: list[str]
) -> None:
    """With one face alone the verdict stays between two hops."""
    with nginx_path(
        tmp_path, SILENT, location="proxy_read_timeout 1s;", hop=hop, between=between
    ):  # fmt: skip
        answer = located(tmp_path)
    assert verdict(answer) == ("fault", [(layer, "idle-timer", hops)])


@pytest.mark.timeout(600)
def test_haproxy_is_named_by_its_log(tmp_path: Path) -> None:
    """`sD` in its log: it was the one that lost patience."""
    with haproxy_path(tmp_path, SILENT):
        answer = located(tmp_path)
    assert verdict(answer) == ("fault", [("proxy", "idle-timer", ["edge"])])


@pytest.mark.timeout(600)
def test_a_proxy_whose_log_blames_the_engine_is_not_accused(tmp_path: Path) -> None:
    """The engine cuts its answers, directly as well as through the proxy."""
    with haproxy_path(tmp_path, CUT):
        answer = located(tmp_path)
    assert all(fault["hops"] != ["edge"] for fault in answer["faults"])
    assert "ended-by@edge=upstream" in {o["id"] for o in answer["observations"]}


@pytest.mark.timeout(600)
def test_a_tap_between_healthy_hops_accuses_nobody(tmp_path: Path) -> None:
    """And clears both."""
    with nginx_path(tmp_path, {}, between=TAP):
        answer = located(tmp_path)
    assert verdict(answer) == ("no_fault", [])
