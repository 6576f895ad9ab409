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
