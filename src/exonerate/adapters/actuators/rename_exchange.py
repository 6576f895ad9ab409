"""`renameat2(RENAME_EXCHANGE)`: two names swap their files in one step (Linux 3.15, renameat2(2)).

Unlike a plain rename it loses nothing: the file that was there is still there, under the other
name, so it can be looked at afterwards and put back.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange_names(one: Path, other: Path) -> None:
    """Swap the two; OSError with ENOSYS or EINVAL where kernel or file system cannot."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    status = function(
        _AT_FDCWD,
        os.fsencode(one),
        _AT_FDCWD,
        os.fsencode(other),
        ctypes.c_uint(_RENAME_EXCHANGE),
    )
    if status != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(one))


def is_unsupported(error: OSError) -> bool:
    """Whether the exchange is not to be had here, rather than having gone wrong."""
    return error.errno in (errno.ENOSYS, errno.EINVAL)
