"""Blobs and the key: whole files or none."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from exonerate.adapters.ledger.files import KEY_BYTES, BlobFolder, read_or_make_key
from exonerate.errors import ExonerateError


def test_altered_blob_is_noticed(tmp_path: Path) -> None:
    """Raw data that was changed on the disk is refused, and stored anew when it is put again."""
    blobs = BlobFolder(tmp_path / "blobs")
    name = blobs.put(b"export KNOB=512\n")
    (tmp_path / "blobs" / name[:2] / name).write_bytes(b"export KNOB=256\n")
    with pytest.raises(ExonerateError, match="was altered"):
        blobs.get(name)
    assert blobs.put(b"export KNOB=512\n") == name
    assert blobs.get(name) == b"export KNOB=512\n"


def test_blobs_and_key_are_for_their_owner_only(tmp_path: Path) -> None:
    """Nobody else on the host can read launch scripts or the key."""
    name = BlobFolder(tmp_path).put(b"secret")
    read_or_make_key(tmp_path / "ledger.key")
    for path in (tmp_path / name[:2] / name, tmp_path / "ledger.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_key_is_made_once(tmp_path: Path) -> None:
    """The key stays the same, so that hashes of one ledger can be compared."""
    path = tmp_path / "ledger.key"
    key = read_or_make_key(path)
    assert len(key) == KEY_BYTES
    assert read_or_make_key(path) == key
    assert [entry.name for entry in tmp_path.iterdir()] == ["ledger.key"]


def test_key_that_is_no_key_is_refused(tmp_path: Path) -> None:
    """A truncated key is refused instead of being used or replaced."""
    path = tmp_path / "ledger.key"
    path.write_bytes(b"half")
    with pytest.raises(ExonerateError, match="4 bytes instead of 32"):
        read_or_make_key(path)
    assert path.read_bytes() == b"half"
