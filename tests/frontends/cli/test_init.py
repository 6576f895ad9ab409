"""`exonerate init` as a user runs it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from exonerate.compose import load_deployment
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.init import init

DEAD = "http://127.0.0.1:9"


def run(*words: str) -> None:
    """Run it; errors come out as they are."""
    CliRunner().invoke(init, [DEAD, "--model", "m", *words], catch_exceptions=False)


def test_the_file_can_be_loaded_although_no_hop_answers(tmp_path: Path) -> None:
    """It is a beginning also where nothing runs yet."""
    path = tmp_path / "exonerate.toml"
    run("-o", str(path))
    assert load_deployment(path).model == "m"


def test_a_file_that_is_there_is_replaced_only_on_demand(tmp_path: Path) -> None:
    """With `--force` it is the new one, whole, and nothing lies beside it."""
    path = tmp_path / "exonerate.toml"
    path.write_text("mine")
    with pytest.raises(ExonerateError, match="is there already"):
        run("-o", str(path))
    assert path.read_text() == "mine"
    run("-o", str(path), "--force")
    assert load_deployment(path).model == "m"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["nowhere/x.toml", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    """A missing folder, and a folder instead of a file."""
    with pytest.raises(ExonerateError):
        run("-o", str(tmp_path / place), "--force")
    assert list(tmp_path.iterdir()) == []
