"""Scenarios that are made up: always the same for a seed, always well-formed, of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.lab.faulty_proxy.parse import parse_behaviour
from exonerate.lab.generate import RECIPES, unseen
from exonerate.lab.scenario import Scenario, draw, read_template
from exonerate.lab.scripted_engine.script import parse_script

COUNT = 150


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Scenario]:
    """Many generated scenarios, read from their files as the lab reads them."""
    folder = tmp_path_factory.mktemp("unseen")
    found = []
    for one in unseen(7, COUNT):
        path = folder / f"{one.id}.toml"
        path.write_text(one.text)
        template = read_template(path)
        found.append(draw(template, seed=1, ports=dict.fromkeys(template.port_names, 1)))
    return found


def test_a_seed_gives_the_same_and_another_gives_others() -> None:
    """The number of scenarios asked for does not change those that come first."""
    assert unseen(3, 5) == unseen(3, 9)[:5]
    assert [one.text for one in unseen(3, 5)] != [one.text for one in unseen(4, 5)]


def test_all_settings_are_understood(drawn: list[Scenario]) -> None:
    """Every hop's rules and every engine's script can be read."""
    for scenario in drawn:
        for part in scenario.part:
            if part.kind == "faulty-proxy":
                parse_behaviour(part.settings)
            else:
                parse_script(part.settings)


def test_at_most_one_hop_is_guilty_and_it_is_named(drawn: list[Scenario]) -> None:
    """A culprit among the hops stands in the chain; where nobody is to blame, nobody is named."""
    for scenario in drawn:
        named = {hop for fault in scenario.expected.fault for hop in fault.hops} - {"client"}
        assert named <= {part.name for part in scenario.part}
        assert (scenario.expected.outcome == "no_fault") == (not scenario.expected.fault)


def test_chains_and_culprits_vary(drawn: list[Scenario]) -> None:
    """Chains of different lengths, culprits in every layer, and often enough nobody."""
    assert {len(scenario.part) for scenario in drawn} >= {2, 3, 4, 5}
    layers = {fault.layer for scenario in drawn for fault in scenario.expected.fault}
    assert layers == {"proxy", "engine", "client", "boundary", "host"}
    classes = {fault.kind for scenario in drawn for fault in scenario.expected.fault}
    assert len(classes) > 15
    assert sum(scenario.expected.outcome == "no_fault" for scenario in drawn) > COUNT / 10


def test_titles_are_as_many_as_kinds_of_trouble(tmp_path: Path) -> None:
    """Every kind in the table of weights is drawn sooner or later."""
    assert len({one.title for one in unseen(7, COUNT)}) > len(RECIPES)
