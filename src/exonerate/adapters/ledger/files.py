"""Files that are either whole and on the disk, or not there: blobs and the key.

Rules
-----
1. Content is written under a temporary name, synced, renamed (or linked), and then the folder is
   synced: after a power cut a name stands for the whole content or does not exist.
2. A blob's name is the SHA-256 of its content, so writing one twice is harmless.
3. Files are readable by their owner only: blobs hold launch scripts as they are, and the key is
   what keeps redacted values secret.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
from pathlib import Path

from exonerate.adapters.ledger.faults import file_faults
from exonerate.errors import ExonerateError

KEY_BYTES = 32
_HASH = re.compile(r"[0-9a-f]{64}")


class BlobFolder:
    """Raw bytes in files named by their hash: `ab/abcd...`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, content: bytes) -> str:
        """Store the bytes durably; returns their hex SHA-256."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        with file_faults(str(path)):
            if path.is_file() and path.read_bytes() == content:
                return digest
            make_folder(path.parent)
            temporary = _write_temporary(path.parent, content)
            temporary.replace(path)
            sync_folder(path.parent)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of that hash.

        Raises:
            ExonerateError: the blob is missing or is not what was stored.
        """
        if not _HASH.fullmatch(digest):
            raise missing_blob(digest)
        path = self._path(digest)
        with file_faults(str(path)):
            try:
                content = path.read_bytes()
            except FileNotFoundError as error:
                raise missing_blob(digest) from error
        return checked_blob(digest, content)

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest


def missing_blob(digest: str) -> ExonerateError:
    """The error for a blob that is not there."""
    return ExonerateError(
        f"the ledger has no raw data named `{digest}`",
        "take the `blobs` folder beside the ledger from a backup",
    )


def checked_blob(digest: str, content: bytes) -> bytes:
    """The content, if it is what was stored under that name."""
    if hashlib.sha256(content).hexdigest() != digest:
        raise ExonerateError(
            f"the raw data named `{digest}` was altered",
            "take the `blobs` folder beside the ledger from a backup",
        )
    return content


def read_or_make_key(path: Path) -> bytes:
    """The key in that file, which is made once and never replaced.

    Raises:
        ExonerateError: the file cannot be read or written, or holds something else.
    """
    with file_faults(str(path)):
        if not path.exists():
            make_folder(path.parent)
            temporary = _write_temporary(path.parent, secrets.token_bytes(KEY_BYTES))
            try:
                # A link, unlike a rename, loses against a key that another process made first.
                path.hardlink_to(temporary)
            except FileExistsError:
                pass
            finally:
                temporary.unlink()
            sync_folder(path.parent)
        key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise ExonerateError(
            f"`{path}` is not a key of a ledger ({len(key)} bytes instead of {KEY_BYTES})",
            "take it from a backup, or remove it to have a new one made",
        )
    return key


def make_folder(folder: Path) -> None:
    """Make the folder and at most two above it, each synced into the one that holds it."""
    missing: list[Path] = []
    while not folder.exists() and len(missing) < 3:
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in the folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_temporary(folder: Path, content: bytes) -> Path:
    """A new synced file with the content; it is removed again when it cannot be written whole."""
    descriptor, name = tempfile.mkstemp(prefix=".writing-", dir=folder)
    path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
