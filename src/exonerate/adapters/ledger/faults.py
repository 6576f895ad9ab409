"""What goes wrong under a ledger, as something the operator can act on.

Every failure that a database or file system reports is converted here, once. A message never
holds a password: `where` is already free of it, and the database's own text is quoted only for
failures that carry no connection string.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from exonerate.errors import ExonerateError

_DISK_HINT = "nothing recorded so far is lost; free some space and run the command again"
_DAMAGE_HINT = "run `exonerate case verify` to see how far it can be read, or take it from a backup"
_READ_ONLY = (
    "cannot write the ledger `{where}`: the file or its folder is read-only",
    "change the permissions, or give `--ledger` a path that you may write",
)
_LOCKED = (
    "the ledger `{where}` stayed locked by another process",
    "wait until the other command has ended, then run this one again",
)

_SQLITE: Mapping[str, tuple[str, str]] = {
    "SQLITE_FULL": ("no space is left for the ledger `{where}`", _DISK_HINT),
    "SQLITE_IOERR": ("the disk refused to read or write the ledger `{where}`", _DISK_HINT),
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_AUTH": _READ_ONLY,
    "SQLITE_CANTOPEN": (
        "cannot open the ledger `{where}`",
        "check that it is a file, and that you may read it and write its folder",
    ),
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_NOTADB": (
        "`{where}` is not a ledger: it is not an SQLite database",
        "give `--ledger` another path; the file was left as it is",
    ),
    "SQLITE_CORRUPT": ("the ledger `{where}` is damaged", _DAMAGE_HINT),
}

_POSTGRES_BY_STATE: Mapping[str, tuple[str, str]] = {
    "55P03": _LOCKED,  # lock_not_available; states from appendix A of the PostgreSQL manual
    "53100": ("no space is left for the ledger `{where}`", _DISK_HINT),  # disk_full
    "42501": (  # insufficient_privilege
        "the ledger `{where}` does not let this user write",
        "grant the user of `--ledger` the right to create and write tables",
    ),
    "25006": (  # read_only_sql_transaction
        "the ledger `{where}` is read-only",
        "give `--ledger` the primary server, not a replica",
    ),
}


@contextmanager
def database_faults(where: str) -> Iterator[None]:
    """Convert what the database reports inside into ExonerateError."""
    try:
        yield
    except DBAPIError as error:
        raise _converted(error, where) from error
    except UnicodeDecodeError as error:
        # SQLite quotes a damaged schema in its message, and Python cannot decode the quotation.
        raise ExonerateError(f"the ledger `{where}` is damaged", _DAMAGE_HINT) from error
    except SQLAlchemyError as error:
        raise ExonerateError(
            f"cannot use the ledger `{where}`: {type(error).__name__}",
            "check the address given with `--ledger`",
        ) from error


@contextmanager
def file_faults(where: str) -> Iterator[None]:
    """Convert what the file system reports inside into ExonerateError."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            problem, hint = f"no space is left for `{where}`", _DISK_HINT
        elif error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            problem = f"cannot write `{where}`: {error.strerror}"
            hint = "change the permissions, or give `--ledger` a path that you may write"
        else:
            problem = f"cannot use `{where}`: {error.strerror or error}"
            hint = "give `--ledger` a path in a folder that exists"
        raise ExonerateError(problem, hint) from error


def is_damage(error: BaseException) -> bool:
    """True when SQLite says that what it reads is not what it wrote."""
    name = _sqlite_name(error.orig if isinstance(error, DBAPIError) else error)
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR"))


def _converted(error: DBAPIError, where: str) -> ExonerateError:
    cause = error.orig
    for prefix, (problem, hint) in _SQLITE.items():
        if _sqlite_name(cause).startswith(prefix):
            return ExonerateError(problem.format(where=where), hint)
    state = str(getattr(cause, "sqlstate", None) or "")
    if state in _POSTGRES_BY_STATE:
        problem, hint = _POSTGRES_BY_STATE[state]
        return ExonerateError(problem.format(where=where), hint)
    if isinstance(cause, sqlite3.Error):
        return ExonerateError(f"cannot read the ledger `{where}`: {cause}", _DAMAGE_HINT)
    return ExonerateError(
        f"the database of the ledger `{where}` refused ({state or 'no connection'})",
        "check that the server runs, and the address, user and password given with `--ledger`",
    )


def _sqlite_name(cause: BaseException | None) -> str:
    return str(getattr(cause, "sqlite_errorname", ""))
