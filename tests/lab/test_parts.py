"""Third-party programs: where they are looked for, and what is said when they are not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.lab import parts
from exonerate.lab.parts import (
    PACKAGED,
    PackagedPart,
    find_program,
    how_to_get,
    install_part,
    packaged_part,
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part that happens to be installed on this host."""
    monkeypatch.setenv("EXONERATE_CACHE", str(tmp_path / "cache"))


def test_every_part_is_pinned_to_the_last_version() -> None:
    """Each part has a file of exact versions, and its own package is among them."""
    for part in PACKAGED:
        lines = [line for line in part.pins.read_text().splitlines() if not line.startswith("#")]
        assert all("==" in line for line in lines)
        assert any(line.lower().startswith(f"{part.name}==") for line in lines)


def test_a_program_on_path_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator's own installation comes first."""
    own = tmp_path / "bin" / "mitmdump"
    own.parent.mkdir()
    own.touch(0o755)
    monkeypatch.setenv("PATH", str(own.parent))
    assert find_program("mitmdump") == str(own)
    assert find_program(sys.executable) == sys.executable


def test_only_a_whole_installation_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its stamp, or with that of other versions, an environment is not used."""
    monkeypatch.setenv("PATH", str(tmp_path))
    part = packaged_part("sglang-router")
    part.folder.mkdir(parents=True)
    assert find_program("smg") is None
    (part.folder / parts.STAMP).write_text("of other versions")
    assert find_program("smg") is None
    (part.folder / parts.STAMP).write_text(parts._digest(part.pins))
    assert find_program("smg") == str(part.folder / "bin" / "smg")
    assert find_program("sglang-router/python") == str(part.folder / "bin" / "python")


@pytest.mark.parametrize(
    ("need", "advice"),
    [
        ("smg", "exonerate lab parts sglang-router"),
        ("litellm/python", "exonerate lab parts litellm"),
        ("varnishd", "apt-get install varnish"),
        ("root", "run it as root"),
        ("some-tool", "install `some-tool` and put it on PATH"),
    ],
)
def test_it_says_how_to_get_what_is_missing(need: str, advice: str) -> None:
    """Whatever a scenario needs comes with what an operator has to type."""
    assert how_to_get(need) == advice


def test_a_part_that_cannot_be_installed_leaves_nothing_that_counts(tmp_path: Path) -> None:
    """What pip said is passed on, and the half-made environment is not taken for a whole one."""
    (tmp_path / "ghost.txt").write_text("--no-index\nghost-of-no-index==1.0\n")
    part = PackagedPart("ghost", ("ghost",), tmp_path)
    with pytest.raises(ExonerateError, match="pip could not install ghost"):
        install_part(part, lambda _text, _share: None)
    assert not part.installed


def test_installing_twice_is_installing_once(tmp_path: Path) -> None:
    """An environment without requirements is made, runs, and is left alone the second time."""
    (tmp_path / "empty.txt").write_text("# nothing\n")
    part = PackagedPart("empty", ("python",), tmp_path)
    said: list[str] = []
    for _ in range(2):
        folder = install_part(part, lambda text, _share: said.append(text))
    assert (folder / "bin" / "python").exists()
    assert part.installed
    assert len(said) == 1


def test_an_unknown_part_is_named() -> None:
    """The known ones are listed."""
    with pytest.raises(ExonerateError, match="no part `smug`"):
        packaged_part("smug")
