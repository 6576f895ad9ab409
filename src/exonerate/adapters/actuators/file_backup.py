"""Backups of configuration files: content and metadata in a folder that only its owner can read.

A backup is named by where the file was and by the hash of its bytes, is synced to the disk, and is
read back before anybody relies on it. The `.json` beside it says whose bytes they are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

from exonerate.adapters.actuators.file_metadata import Metadata


class BackupStore:
    """A folder of backups."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, origin: Path, content: bytes, metadata: Metadata) -> Path:
        """Write a backup and prove that it can be read; returns where it is. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        path = self.path_of(origin, content)
        if not path.exists():
            _write_synced(path, content)
        _write_synced(path.with_suffix(".json"), _described(origin, metadata))
        if path.read_bytes() != content:
            raise OSError(f"the backup `{path}` does not read back as it was written")
        _sync_folder(self._folder)
        return path

    def has(self, origin: Path, sha256: str) -> bool:
        """Whether bytes of that hash were kept for the file."""
        path = self._folder / f"{_place(origin)}-{sha256}.bak"
        return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256

    def path_of(self, origin: Path, content: bytes) -> Path:
        """Where the backup of these bytes is kept."""
        return self._folder / f"{_place(origin)}-{hashlib.sha256(content).hexdigest()}.bak"


def _place(origin: Path) -> str:
    return hashlib.sha256(os.fsencode(origin)).hexdigest()[:12]


def _described(origin: Path, metadata: Metadata) -> bytes:
    description = {
        "path": str(origin),
        "uid": metadata.uid,
        "gid": metadata.gid,
        "mode": f"{metadata.mode:04o}",
        "xattrs": {name: base64.b64encode(value).decode() for name, value in metadata.xattrs},
    }
    return json.dumps(description, indent=1).encode() + b"\n"


def _write_synced(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
