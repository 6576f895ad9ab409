"""Programs in containers, whose sockets this host does not show and whose packets pass it.

Needs root: the test makes network namespaces of its own, and captures packets in them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.namespaces import EDGE, ENGINE, PORTS, containers

SWALLOW = {
    "rule": [{"name": "swallow", "when": {"request_on_connection": 4}, "do": "swallow"}]
}  # fmt: skip


def faulty(folder: Path, rules: dict[str, Any]) -> list[str]:
    """A proxy with these rules."""
    (folder / "rules.json").write_text(json.dumps(rules))
    return [
        *(sys.executable, "-m", "exonerate.lab.faulty_proxy"),
        *(
            "--listen",
            f"{EDGE}:{PORTS['edge']}",
            "--upstream",
            f"http://{ENGINE}:{PORTS['engine']}",
        ),
        *("--rules", str(folder / "rules.json")),
    ]


def verdict(answer: dict[str, Any]) -> tuple[str, list[tuple[str, str, list[str]]]]:
    """Outcome, and layer, class and hops of each fault."""
    faults = [(f["layer"], f["class"], f["hops"]) for f in answer["faults"]]
    return answer["outcome"], faults


@pytest.mark.timeout(300)
def test_a_container_is_named_by_its_packets_and_not_without_them(tmp_path: Path) -> None:
    """It swallows the fourth request of a connection; what did not leave it shows on its cable."""
    with containers(tmp_path, faulty(tmp_path, SWALLOW), {}) as host:
        blind, seen = host.locate(), host.locate("--packets")
    assert verdict(blind) == ("fault", [("boundary", "drops-requests", ["edge", "engine"])])
    assert verdict(seen) == ("fault", [("proxy", "drops-requests", ["edge"])])
    said: Any = {o["id"]: o["text"] for o in seen["observations"]}
    assert "by packets on this host" in said["request-left@edge=no"]


@pytest.mark.timeout(300)
def test_what_a_container_sent_and_nobody_took_is_the_networks_fault(tmp_path: Path) -> None:
    """Large packets are dropped where they arrive: they were seen to leave, again and again."""
    with containers(tmp_path, faulty(tmp_path, {}), {}) as host:
        host.drop_large_packets("engine", "INPUT")
        seen = host.locate("--packets")
    assert verdict(seen) == ("fault", [("network", "mtu-black-hole", ["edge", "engine"])])


@pytest.mark.timeout(300)
def test_what_a_container_lost_within_itself_is_not_laid_to_its_program(tmp_path: Path) -> None:
    """Its own kernel dropped what the program had sent: nothing of it shows outside."""
    with containers(tmp_path, faulty(tmp_path, {}), {}) as host:
        host.drop_large_packets("edge", "OUTPUT")
        seen = host.locate("--packets")
    assert all(fault["hops"] != ["edge"] for fault in seen["faults"])
