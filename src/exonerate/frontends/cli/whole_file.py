"""Files that a command writes for the operator: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from exonerate.errors import ExonerateError


def write_whole(path: Path, text: str) -> None:
    """Write the file so that a kill or a full disk leaves the old one or the new one, whole.

    A link stays a link, and into a device or a pipe it is just written.

    Raises:
        ExonerateError: it cannot be written.
    """
    content = text.rstrip("\n") + "\n"
    try:
        real = path.resolve()
        if real.exists() and not real.is_file() and not real.is_dir():
            real.write_text(content, encoding="utf-8")
        else:
            _exchange(real, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExonerateError(
            f"cannot write `{path}`: {reason}", "name a file in a folder that can be written to"
        ) from error


def _exchange(path: Path, content: str) -> None:
    draft = path.parent / f".{path.name}.{os.getpid()}.part"
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
