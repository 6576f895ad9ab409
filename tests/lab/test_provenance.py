"""What a result says about the code that made it."""

from __future__ import annotations

from pathlib import Path

from exonerate.core.version import VERSION
from exonerate.lab.provenance import SHOWN, file_digest, provenance


def test_the_same_code_has_the_same_digest() -> None:
    """Two looks agree, and the version is the one of this copy."""
    assert provenance() == provenance()
    assert provenance().version == VERSION
    assert len(provenance().code) == SHOWN


def test_a_changed_scenario_has_another_digest(tmp_path: Path) -> None:
    """One letter is enough."""
    path = tmp_path / "x.toml"
    path.write_text("n = 1\n")
    before = file_digest(path)
    path.write_text("n = 2\n")
    assert file_digest(path) != before
