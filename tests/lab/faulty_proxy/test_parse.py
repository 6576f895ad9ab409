"""The grammar of the rules file, and what it says about mistakes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.lab.compare import Compare
from exonerate.lab.faulty_proxy.parse import parse_behaviour, read_behaviour
from exonerate.lab.faulty_proxy.rules import ACTIONS, Behaviour, Refuse, Swallow, Trigger
from exonerate.lab.tables import WrongTable

REQUIRED = {
    "delay": "seconds = 1",
    "throttle": "bytes_per_s = 100",
    "misroute": 'upstream = "http://127.0.0.1:1"',
}


def test_an_empty_file_is_a_neutral_proxy() -> None:
    """Nothing written means nothing done."""
    assert parse_behaviour({}) == Behaviour()


def test_a_rule_with_all_parts() -> None:
    """Name, condition, moment and action are read as written."""
    behaviour = parse_behaviour(
        tomllib.loads(
            """
            seed = 7
            [[rule]]
            name = "late refusal"
            when = { request_on_connection = ">= 4", stream = true }
            at = { silence_s = 2 }
            do = { action = "refuse", status = 504 }
            """
        )
    )
    (rule,) = behaviour.rules
    assert behaviour.seed == 7
    assert rule.name == "late refusal"
    assert rule.when.request_on_connection == Compare(">=", 4)
    assert rule.when.stream is True
    assert rule.trigger == Trigger(silence_s=2.0)
    assert rule.action == Refuse(status=504)


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_action_can_be_written(name: str) -> None:
    """Each action of the table is reachable by its name."""
    at = "at = { events = 1 }, " if name == "invent-ending" else ""
    options = ", ".join(filter(None, [f'action = "{name}"', REQUIRED.get(name)]))
    behaviour = parse_behaviour(tomllib.loads(f"rule = [{{ {at}do = {{ {options} }} }}]"))
    assert isinstance(behaviour.rules[0].action, ACTIONS[name])


def test_json_is_read_too(tmp_path: Path) -> None:
    """A file whose name ends in .json holds the same tables as JSON."""
    path = tmp_path / "rules.json"
    path.write_text('{"rule": [{"do": "swallow"}]}')
    assert read_behaviour(path).rules[0].action == Swallow()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rules = []", "rules is not known; did you mean `rule`"),
        ("rule = [{}]", r"rule\[0\]\.do is missing"),
        ('rule = [{ do = "swalow" }]', "no action `swalow`; did you mean `swallow`"),
        ('rule = [{ do = { action = "delay" } }]', r"do\.seconds is missing"),
        ('rule = [{ do = { action = "refuse", stat = 1 } }]', "did you mean `status`"),
        ('rule = [{ do = { action = "refuse", status = "x" } }]', "must be of type int"),
        ('rule = [{ do = { action = "delay", seconds = 1, what = "x" } }]', "must be one of"),
        ('rule = [{ do = "stall", when = { request_on_conection = 4 } }]', "did you mean"),
        ('rule = [{ do = "stall", when = { request_bytes = "many" } }]', "is not a number"),
        ('rule = [{ do = "stall", when = { request_bytes = "every 0" } }]', "from 1 on"),
        ('rule = [{ do = "buffer", at = { events = 1 } }]', "holds for a whole answer"),
        ('rule = [{ do = "invent-ending" }]', "at is missing"),
        ("downstream = { half_close = 1 }", "must be one of"),
        ("seed = 'x'", "seed must be a whole number"),
    ],
)
def test_mistakes_are_named(text: str, complaint: str) -> None:
    """Each mistake is refused with its place and, where there is one, the nearest right word."""
    with pytest.raises(WrongTable, match=complaint):
        parse_behaviour(tomllib.loads(text))


def test_file_errors_name_the_file(tmp_path: Path) -> None:
    """A missing, broken or wrong file is named."""
    path = tmp_path / "rules.toml"
    with pytest.raises(ExonerateError, match="cannot be read"):
        read_behaviour(path)
    path.write_text("rule = [")
    with pytest.raises(ExonerateError, match="not well-formed"):
        read_behaviour(path)
    path.write_text("seeds = 3")
    with pytest.raises(ExonerateError, match=r"rules\.toml`: seeds is not known"):
        read_behaviour(path)
