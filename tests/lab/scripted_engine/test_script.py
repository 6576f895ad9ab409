"""The script of the engine, and what is said about mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.lab.compare import Compare
from exonerate.lab.scripted_engine.script import (
    MISBEHAVIOURS,
    EngineScript,
    Fault,
    FaultWhen,
    Status,
    parse_script,
    read_script,
)
from exonerate.lab.tables import WrongTable


def test_an_empty_script_is_a_healthy_engine() -> None:
    """Nothing written means nothing wrong."""
    assert parse_script({}) == EngineScript()


@pytest.mark.parametrize("name", sorted(MISBEHAVIOURS))
def test_every_misbehaviour_can_be_written(name: str) -> None:
    """Each misbehaviour of the table is reachable by its name."""
    script = parse_script({"fault": [{"do": name}]})
    assert isinstance(script.faults[0].do, MISBEHAVIOURS[name])


def test_a_file(tmp_path: Path) -> None:
    """Settings and faults are read as written."""
    path = tmp_path / "engine.toml"
    path.write_text(
        'names = "sglang"\ntoken_s = 1\n[[fault]]\nwhen = { running = ">= 4" }\n'
        'do = { action = "status", status = 500 }\n'
    )
    script = read_script(path)
    assert (script.names, script.token_s) == ("sglang", 1.0)
    assert script.faults == (
        Fault(do=Status(status=500), when=FaultWhen(running=Compare(">=", 4))),
    )


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ({"tokens_s": 1}, "did you mean `token_s`"),
        ({"names": "tgi"}, "must be one of"),
        ({"fault": {}}, r"write \[\[fault\]\]"),
        ({"faults": []}, r"did you mean \[\[fault\]\]"),
        ({"fault": [{}]}, r"fault\[0\] must be a table"),
        ({"fault": [{"do": 3}]}, r"fault\[0\]\.do must be a name"),
        ({"fault": [{"do": "stuk"}]}, "did you mean `stuck`"),
        ({"fault": [{"do": {"action": "cut", "after_token": 1}}]}, "did you mean `after_tokens`"),
        ({"fault": [{"do": "cut", "when": {"runing": 1}}]}, "did you mean `running`"),
    ],
)
def test_mistakes_are_named(tables: dict[str, object], complaint: str) -> None:
    """Each mistake is refused with its place and the nearest right word."""
    with pytest.raises(WrongTable, match=complaint):
        parse_script(tables)


def test_file_errors_name_the_file(tmp_path: Path) -> None:
    """A wrong key is reported with the file it is in."""
    path = tmp_path / "engine.toml"
    path.write_text("bogus = 1")
    with pytest.raises(ExonerateError, match=r"engine\.toml`: script\.bogus is not known"):
        read_script(path)
