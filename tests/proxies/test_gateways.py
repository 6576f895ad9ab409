"""Real Envoy, Caddy, litellm and sglang-router: what their logs and pages say, in our codes.

`locate` sees no sockets of theirs here: the log that the deployment file names must do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.boxes import BOXES, boxed_path
from tests.support.proxied import located

from exonerate.compose import build_workbench, load_deployment
from exonerate.core.diagnosis.beside import Beside, read_beside
from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.matching import line_about
from exonerate.core.diagnosis.surroundings import watches
from exonerate.core.scene import (
    ProbeSession,
    PromptRecipe,
    RequestRecipe,
    SampleMetrics,
    Scene,
)
from exonerate.core.wire.exchange_json import exchange_from_json

MISDEEDS: Mapping[str, object] = {
    "refused": {"action": "status", "status": 429},
    "cut": {"action": "cut", "after_tokens": 4},
    "silent": {"action": "silence", "after_tokens": 4, "seconds": 4},
    "lost": "lost",
}
"""What the engine does to its first requests; those after them it answers."""
ASKED = (*MISDEEDS, "well")
SAID: Mapping[str, tuple[str | None, ...]] = {
    "envoy": ("sXH", "sXD", "sZD", "sZH", "---"),
    "caddy": ("sXH", "sFD", "sZD", "sZH", "---"),
    "litellm": ("sXH", None, None, "sZH", None),
    "sglang-router": (None, None, None, "sZH", None),
}
"""The end codes of the requests in their order; None: the log does not say how it ended.

litellm names no request in an error that it meets in mid-answer, and the router writes none.
"""


def told(folder: Path, kind: str) -> tuple[dict[str, LogEntry | None], Beside]:
    """What log and page of a box say of one request of each sort, played as `locate` plays them."""
    faults = [
        {"when": {"request_in_process": number}, "do": do}
        for number, do in enumerate(MISDEEDS.values(), start=1)
    ]
    with boxed_path(folder, kind, {"fault": faults}):
        deployment = load_deployment(folder / "exonerate.toml")
        edge = deployment.hops[0]
        sessions = [
            ProbeSession(
                name=name, hop="edge", url=edge.url, rounds=1, connection="fresh", think_s=0.0,
                deadline_s=8.0, once_over=ASKED[max(0, place - 1):place],
                request=RequestRecipe(
                    path="/v1/chat/completions", model="scripted", max_tokens=12,
                    prompt=PromptRecipe(seed=1, prompt_tokens=20),
                ),
            )
            for place, name in enumerate(ASKED)
        ]  # fmt: skip
        workbench = build_workbench(deployment, folder / "l.db")
        pages = [
            SampleMetrics(name="page", hop="edge", url=url, count=99, background=True)
            for url in (edge.metrics,)
            if url is not None
        ]
        scene = Scene(id="s", why="", activities=(*sessions, *pages, *watches(deployment)))
        events = asyncio.run(workbench.player.play(scene, lambda what, share: None))
    beside = read_beside(events)
    exchanges = {e.activity: exchange_from_json(e.data) for e in events if e.kind == "exchange"}
    entries = {
        name: line_about(beside.log_lines, exchange, "edge", entered_here=True)
        for name, exchange in exchanges.items()
    }
    return entries, beside


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", BOXES)
def test_refusals_cuts_and_lost_patience_come_out_in_our_codes(tmp_path: Path, kind: str) -> None:
    """One request of each sort; the engine is to blame, and the log says so where it says how."""
    entries, beside = told(tmp_path, kind)
    assert {n: e.end for n, e in entries.items() if e} == dict(zip(ASKED, SAID[kind], strict=True))
    assert not any(state.error for _, state in beside.logs)
    known = [page for page in beside.pages if page.hop == "edge" and page.values]
    assert {page.kind for page in known} == ({kind} if BOXES[kind].page else set())


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", BOXES)
def test_a_gateway_that_loses_patience_is_named(tmp_path: Path, kind: str) -> None:
    """After a second, while the engine thinks for three: by its log alone, which is evidence."""
    with boxed_path(tmp_path, kind, {"first_byte_s": 3}):
        answer = located(tmp_path)
    role = BOXES[kind].role
    found = [(f["layer"], f["class"], f["hops"]) for f in answer["faults"]]
    assert found == [(role, "idle-timer", ["edge"])]
    said = {o["id"]: o["text"] for o in answer["observations"]}
    assert "by its log" in said["request-left@edge=yes"]


@pytest.mark.timeout(600)
def test_an_error_event_ends_the_answer_that_it_stands_in(tmp_path: Path) -> None:
    """litellm says in the stream that its patience is over, and then ends it well; its log names
    no request for that, so that the verdict stays between the two."""
    with boxed_path(tmp_path, "litellm", {"fault": [{"do": MISDEEDS["silent"]}]}):
        answer = located(tmp_path)
    found = [(f["layer"], f["class"], f["hops"]) for f in answer["faults"]]
    assert found == [("boundary", "idle-timer", ["edge", "engine"])]
