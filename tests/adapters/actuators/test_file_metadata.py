"""Owner, mode and attributes carried from one file to another."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from exonerate.adapters.actuators.file_metadata import give_metadata, metadata_of


def test_everything_is_carried_and_what_was_there_goes(tmp_path: Path) -> None:
    """Mode bits above the permissions too; attributes of the new file that the old lacks go."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    new.write_bytes(b"")
    old.chmod(0o6751)
    with contextlib.suppress(OSError):
        os.setxattr(old, "user.note", b"kept")
        os.setxattr(new, "user.other", b"goes")
    with old.open("rb") as source, new.open("rb") as sink:
        wanted = metadata_of(source.fileno())
        give_metadata(sink.fileno(), wanted)
        assert metadata_of(sink.fileno()) == wanted
    assert new.stat().st_mode & 0o7777 == 0o6751


def test_what_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    """Nothing is copied as far as possible only."""
    path = tmp_path / "file"
    path.write_bytes(b"")
    with path.open("rb") as stream:
        wanted = metadata_of(stream.fileno())
        impossible = replace(wanted, xattrs=(("nonsense.name", b"x"),))
        with pytest.raises(OSError, match=r"supported|permitted"):
            give_metadata(stream.fileno(), impossible)
