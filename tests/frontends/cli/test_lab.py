"""`exonerate lab list`, `parts` and `generate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.frontends.cli.main import cli
from exonerate.lab.scenario import builtin_scenarios, read_template


def lab(*words: str | Path) -> int:
    """Exit status of `exonerate lab` with these words."""
    status = cli.main(["lab", *map(str, words)], standalone_mode=False)
    assert isinstance(status, int)
    return status


def test_every_scenario_is_listed_with_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host without any program is told for each scenario how to get what it needs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("EXONERATE_CACHE", str(tmp_path))
    assert lab("list") == 0
    said = capsys.readouterr().out
    assert all(f"{template.id:6} " in said for template in builtin_scenarios())
    assert "get it: apt-get install nginx" in said
    assert "get it: exonerate lab parts sglang-router" in said


def test_parts_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name it says what is there and installs nothing."""
    monkeypatch.setenv("EXONERATE_CACHE", str(tmp_path))
    assert lab("parts") == 0
    assert "exonerate lab parts mitmproxy" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_generated_scenarios_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many files as asked for, each a scenario whose id is its name."""
    assert lab("generate", tmp_path / "unseen", "--seed", "3", "--count", "4") == 0
    names = sorted(path.name for path in (tmp_path / "unseen").iterdir())
    assert names == [f"u3-{number}.toml" for number in range(1, 5)]
    assert {read_template(tmp_path / "unseen" / name).id for name in names} == {
        f"U3-{number}" for number in range(1, 5)
    }
    assert "U3-1" in capsys.readouterr().out
