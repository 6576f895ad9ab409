"""Result files that somebody has called arms."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.core.documents.arms import Arm, Refused, compare_arms
from exonerate.core.documents.formats import Options, Unreadable, read_source
from exonerate.core.documents.model import Source

DATA = Path(__file__).parents[2] / "data" / "documents"
SGLANG = (DATA / "sglang.jsonl").read_text()


def source(name: str, text: str) -> Source:
    """The source of a text with that name."""
    found = read_source(name, text.encode(), Options())
    assert not isinstance(found, Unreadable)
    return found


def run(throughput: float, **changes: str) -> Source:
    """A sglang file with that output throughput and those replaced keys."""
    measured = '"output_throughput":6091.081950081372'
    text = SGLANG.replace(measured, f'"output_throughput":{throughput}')
    for key, value in changes.items():
        text = text.replace(f'"{key}":64,', f'"{key}":{value},', 1)
    return source(f"{throughput}.jsonl", text)


def test_two_files_of_one_tool_are_compared() -> None:
    """Two runs of one tool become a comparison with one run per cell: never above D."""
    found = compare_arms([Arm("256", run(700.0)), Arm("512", run(770.0))])
    assert not isinstance(found, Refused)
    comparison = found.comparisons[0]
    assert comparison.arms == ("256", "512")
    assert comparison.cells[0].computed_gain == pytest.approx(0.1)
    assert comparison.grade in ("D", "E")


def test_several_files_of_an_arm_are_repeats() -> None:
    """Two files called the same arm count as two runs of it."""
    arms = [Arm("256", run(700.0)), Arm("256", run(710.0)), Arm("512", run(770.0))]
    found = compare_arms([*arms, Arm("512", run(780.0))])
    assert not isinstance(found, Refused)
    assert found.comparisons[0].cells[0].values["256"].runs == 2


def test_different_tools_are_refused_with_a_reason() -> None:
    """Arms measured with different tools are not compared unless somebody insists."""
    arms = [Arm("256", run(700.0)), Arm("512", source("v.json", (DATA / "vllm.json").read_text()))]
    refused = compare_arms(arms)
    assert isinstance(refused, Refused)
    assert "different tools (sglang, vllm)" in refused.reason
    insisted = compare_arms(arms, across_tools=True)
    assert not isinstance(insisted, Refused)
    assert insisted.comparisons[0].grade == "E"


def test_different_workloads_are_said() -> None:
    """Arms with other prompt lengths are compared at D at most, with the difference named."""
    found = compare_arms([Arm("256", run(700.0)), Arm("512", run(770.0, random_input_len="128"))])
    assert not isinstance(found, Refused)
    assert found.warnings == ("the arms differ in input_tokens: 128, 64",)
    assert found.warnings[0] in found.comparisons[0].why


@pytest.mark.parametrize("second", [("256", 770.0), ("512", 700.0)])
def test_one_arm_or_one_file_twice_is_refused(second: tuple[str, float]) -> None:
    """Two files of one arm only, or one file called two arms, are no comparison."""
    found = compare_arms([Arm("256", run(700.0)), Arm(second[0], run(second[1]))])
    assert isinstance(found, Refused)


def test_a_document_is_no_arm() -> None:
    """A file without runs cannot be an arm."""
    found = compare_arms([Arm("256", run(700.0)), Arm("512", source("a.md", "text"))])
    assert isinstance(found, Refused)
    assert "no complete run" in found.reason
