"""What the scripted engine writes to stderr is what `locate` reads in real engines' logs."""

import pytest

from exonerate.core.diagnosis.logs.engine import STANDS_STILL, parse_engine
from exonerate.lab.scripted_engine.log_lines import watchdog_line, works_line
from exonerate.lab.scripted_engine.metrics_page import Counters
from exonerate.lab.scripted_engine.script import Names


@pytest.mark.parametrize("names", ["sglang", "vllm"])
def test_its_lines_are_those_of_the_engine_it_stands_for(names: Names) -> None:
    """It works, and its watchdog says after how long it spoke."""
    works = parse_engine(works_line(names, Counters(running=2), new_tokens=80))
    assert works is not None
    assert works.word == "works"
    spoke = parse_engine(watchdog_line(names, 3.0))
    assert spoke is not None
    assert (spoke.word in STANDS_STILL, spoke.lasted_s) == (True, 3.0)
