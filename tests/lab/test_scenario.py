"""Scenario files: what varies, what is checked, and that the built-in ones can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.lab.faulty_proxy.parse import parse_behaviour
from exonerate.lab.scenario import (
    Scenario,
    Template,
    builtin_scenarios,
    decoys_of,
    draw,
    read_template,
)
from exonerate.lab.scripted_engine.script import parse_script

SMALL = """
id = "X1"
title = "small"
decoys = 2
[vary]
n = { low = 2, high = 9 }
t = { low = 0.5, high = 2.5 }
word = ["a", "b"]
[[choose]]
first = 1
second = 2
[[part]]
name = "edge"
kind = "faulty-proxy"
settings = { rule = [{ when = { request_on_connection = "$n" }, do = "swallow" }] }
[[part]]
name = "engine"
kind = "scripted"
settings = { model = "m-$word", answer_tokens = "$second" }
environ = { BASE = "${url.engine}/v1", CONFIG = "$host stays" }
[victim]
think_s = "$t"
[expected]
outcome = "fault"
[[expected.fault]]
layer = "proxy"
class = "drops-requests"
hops = ["edge"]
details = { after_requests = "$first" }
"""


def template(tmp_path: Path, text: str = SMALL) -> Template:
    """The template in a file with this text."""
    path = tmp_path / "x1.toml"
    path.write_text(text)
    return read_template(path)


def drawn(one: Template, seed: int = 1) -> Scenario:
    """The scenario of a seed on made-up ports."""
    ports = {name: 20000 + index for index, name in enumerate(one.port_names)}
    return draw(one, seed=seed, ports=ports)


def test_variables_are_replaced_with_their_type(tmp_path: Path) -> None:
    """A value that is one variable takes its type; text around variables becomes text."""
    scenario = drawn(template(tmp_path))
    edge, engine = scenario.part
    rules = edge.settings["rule"]
    assert isinstance(rules, list)
    assert isinstance(rules[0]["when"]["request_on_connection"], int)
    assert str(engine.settings["model"]) in ("m-a", "m-b")
    assert engine.environ["BASE"] == "http://127.0.0.1:20001/v1"
    assert engine.environ["CONFIG"] == "$host stays"
    assert isinstance(scenario.victim["think_s"], float)
    assert scenario.expected.fault[0].details == {"after_requests": 1}


def test_a_seed_draws_the_same_and_seeds_differ(tmp_path: Path) -> None:
    """Equal seeds give equal scenarios; over some seeds the values vary."""
    one = template(tmp_path)
    assert drawn(one, 3) == drawn(one, 3)
    assert len({str(drawn(one, seed)) for seed in range(8)}) > 4


def test_decoys_vary_and_stand_before_the_engine(tmp_path: Path) -> None:
    """Between none and the allowed number of neutral proxies, never behind the engine."""
    one = template(tmp_path)
    found = [decoys_of(one, seed) for seed in range(30)]
    assert {len(decoys) for decoys in found} >= {0, 1}
    assert all(index <= 1 for decoys in found for index in decoys)


@pytest.mark.parametrize("one", builtin_scenarios(), ids=lambda one: one.id)
def test_builtin_scenarios_can_be_drawn(one: Template) -> None:
    """Every scenario that comes along can be drawn, and its parts understand their settings."""
    for seed in range(5):
        scenario = drawn(one, seed)
        assert scenario.title
        for part in scenario.part:
            if part.kind == "faulty-proxy":
                parse_behaviour(part.settings)
            if part.kind == "scripted":
                parse_script(part.settings)


def test_builtin_scenarios_are_in_the_order_of_their_numbers() -> None:
    """P2 stands before P10, and all P before all S; no id comes twice."""
    ids = [one.id for one in builtin_scenarios()]
    assert ids.index("P2") < ids.index("P10") < ids.index("S1") < ids.index("S58")
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("[victim]", "[victm]"), "scenario.victm is not known; did you mean `victim`"),
        (('kind = "scripted"', 'kind = "scripte"'), "must be one of"),
        (('hops = ["edge"]', 'hops = ["egde"]'), "no part `egde`; did you mean `edge`"),
        (('layer = "proxy"', ""), "layer is missing"),
        (('name = "edge"', 'name = "engine"'), "two parts have the same name"),
        (('word = ["a", "b"]', "word = 3"), r"vary\.word must be a list"),
        (('kind = "scripted"', 'kind = "faulty-proxy"'), "the last part must be an engine"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    """A mistake in a scenario is reported with the file and the place."""
    with pytest.raises(ExonerateError, match=complaint) as raised:
        drawn(template(tmp_path, SMALL.replace(*change)))
    assert "x1.toml" in raised.value.problem


def test_a_file_without_parts(tmp_path: Path) -> None:
    """A file without parts is no scenario."""
    with pytest.raises(ExonerateError, match=r"no \[\[part\]\]"):
        template(tmp_path, 'id = "X"')
