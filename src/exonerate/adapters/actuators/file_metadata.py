"""Owner, mode and extended attributes of a file, carried to another one and compared.

POSIX ACLs, SELinux labels and capabilities are extended attributes on Linux, so these three are
all there is to keep. Nothing is copied "as far as possible": what cannot be kept is an error.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a reader of the file may depend on, besides its bytes."""

    uid: int
    gid: int
    mode: int
    xattrs: tuple[tuple[str, bytes], ...]


class MetadataLost(OSError):
    """Owner, mode or attributes could not be carried over exactly."""


def metadata_of(descriptor: int) -> Metadata:
    """The metadata of an open file."""
    status = os.fstat(descriptor)
    names = sorted(os.listxattr(descriptor))
    xattrs = tuple((name, os.getxattr(descriptor, name)) for name in names)
    return Metadata(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode), xattrs)


def give_metadata(descriptor: int, wanted: Metadata) -> None:
    """Make an open file's metadata exactly the wanted one; raises MetadataLost or OSError.

    In this order, because a change of the owner clears the set-user-id bits and capabilities.
    """
    os.fchown(descriptor, wanted.uid, wanted.gid)
    os.fchmod(descriptor, wanted.mode)
    kept = dict(wanted.xattrs)
    present = {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    for name in present.keys() - kept.keys():
        os.removexattr(descriptor, name)
    for name, value in kept.items():
        if present.get(name) != value:
            os.setxattr(descriptor, name, value)
    if metadata_of(descriptor) != wanted:
        raise MetadataLost("owner, mode or attributes of the file could not be kept")
