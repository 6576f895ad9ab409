"""Backups of configuration files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from exonerate.adapters.actuators.file_backup import BackupStore
from exonerate.adapters.actuators.file_metadata import Metadata

METADATA = Metadata(1000, 100, 0o4755, (("user.note", b"\x00kept"),))


def test_a_backup_says_what_it_is_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    """Bytes, where they were, and what went with them."""
    store = BackupStore(tmp_path / "deep" / "backups")
    path = store.keep(Path("/srv/serve.sh"), b"old\r\n", METADATA)
    assert path.read_bytes() == b"old\r\n"
    assert json.loads(path.with_suffix(".json").read_text()) == {
        **{"path": "/srv/serve.sh", "uid": 1000, "gid": 100, "mode": "4755"},
        "xattrs": {"user.note": "AGtlcHQ="},
    }
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(list(path.parent.iterdir())) == 2


def test_a_backup_is_found_by_file_and_hash(tmp_path: Path) -> None:
    """The same bytes of another file are another backup, and a damaged one is none."""
    store = BackupStore(tmp_path)
    digest = hashlib.sha256(b"old").hexdigest()
    path = store.keep(Path("/srv/serve.sh"), b"old", METADATA)
    assert store.has(Path("/srv/serve.sh"), digest)
    assert not store.has(Path("/srv/other.sh"), digest)
    path.write_bytes(b"new")
    assert not store.has(Path("/srv/serve.sh"), digest)
    with pytest.raises(OSError, match="does not read back"):
        store.keep(Path("/srv/serve.sh"), b"old", METADATA)
