"""Two names that swap their files."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from exonerate.adapters.actuators.rename_exchange import exchange_names, is_unsupported


def test_the_two_files_change_places(tmp_path: Path) -> None:
    """Both are still there, each under the other's name."""
    one, other = tmp_path / "one", tmp_path / "\xe9t\xe9 2"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    inode = one.stat().st_ino
    exchange_names(one, other)
    assert (one.read_bytes(), other.read_bytes()) == (b"2", b"1")
    assert other.stat().st_ino == inode


def test_a_missing_file_is_an_error_and_not_a_missing_feature(tmp_path: Path) -> None:
    """Only a kernel or file system without the call leads to the weaker way."""
    one = tmp_path / "one"
    one.write_bytes(b"1")
    with pytest.raises(FileNotFoundError) as error:
        exchange_names(one, tmp_path / "none")
    assert not is_unsupported(error.value)
    assert is_unsupported(OSError(errno.ENOSYS, "no such call"))
    assert one.read_bytes() == b"1"
