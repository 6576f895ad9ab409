"""Where a ledger lives: how it is connected to, locked, and what lies beside it."""

from __future__ import annotations

import importlib.util
import sqlite3
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from exonerate.adapters.ledger.faults import file_faults
from exonerate.adapters.ledger.files import make_folder, sync_folder
from exonerate.errors import ExonerateError

KEY_FILE = "ledger.key"
BLOB_FOLDER = "blobs"

POSTGRES_LOCK = 0x65786F6E
"""The advisory lock that writers of a PostgreSQL ledger take in turn ("exon" in ASCII)."""


class Store(Protocol):
    """One place that holds a ledger."""

    where: str
    key_file: Path
    blob_folder: Path | None

    def exists(self) -> bool:
        """False when nothing has been written there yet."""

    def prepare_folder(self) -> None:
        """Make the folder for what lies beside the ledger."""

    def prepare(self) -> None:
        """Make what must be there before the first write."""

    def connect(self, *, writes: bool) -> Connection:
        """A new connection; its transaction takes the write lock first where `writes`."""

    def lock(self, connection: Connection) -> None:
        """Wait, for a limited time, until no other writer is inside its transaction."""


def store_of(url_or_path: str | Path, lock_wait_s: float, key_folder: Path | None) -> Store:
    """The store at an address; raises ExonerateError for one that cannot hold a ledger."""
    text = str(url_or_path)
    if "://" not in text:
        return SqliteFile(Path(text), lock_wait_s)
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise _unknown_address("the address given with `--ledger` cannot be read") from error
    if url.drivername == "sqlite" and url.database:
        return SqliteFile(Path(url.database), lock_wait_s)
    if url.drivername in {"postgresql", "postgres", "postgresql+psycopg"}:
        return Postgres(url, lock_wait_s, key_folder or Path(".exonerate"))
    raise _unknown_address(f"a ledger cannot be kept in `{url.drivername}`")


class SqliteFile:
    """An SQLite file, with the blobs and the key beside it."""

    def __init__(self, path: Path, lock_wait_s: float) -> None:
        self.where = str(path)
        # A command may change its folder later; the ledger stays where it was opened.
        self._path = path.absolute()
        self.key_file = self._path.parent / KEY_FILE
        self.blob_folder: Path | None = self._path.parent / BLOB_FOLDER
        self._lock_wait_s = lock_wait_s
        self._engine = create_engine("sqlite://", creator=self._open, poolclass=NullPool)
        event.listen(self._engine, "begin", _begin_as_asked)

    def exists(self) -> bool:
        """True when the file is there."""
        with file_faults(self.where):
            return self._path.exists()

    def prepare_folder(self) -> None:
        """Make the folder of the file, but not the ones above it: those are a mistyped path."""
        folder = self._path.parent
        with file_faults(self.where):
            if not folder.is_dir() and not folder.parent.is_dir():
                raise ExonerateError(
                    f"cannot make the ledger `{self.where}`: "
                    f"the folder `{folder.parent}` does not exist",
                    "make the folder, or give `--ledger` another path",
                )
            make_folder(folder)

    def prepare(self) -> None:
        """Make the folder and an empty file, which is an empty ledger."""
        self.prepare_folder()
        with file_faults(self.where):
            if not self._path.exists():
                self._path.touch()
                sync_folder(self._path.parent)

    def connect(self, *, writes: bool) -> Connection:
        """A new connection to the file."""
        return self._engine.connect().execution_options(exonerate_writes=writes)

    def lock(self, connection: Connection) -> None:
        """Nothing more: the transaction began with the lock."""

    def _open(self) -> sqlite3.Connection:
        # mode=rw never makes a file: a reader must not leave an empty ledger behind.
        uri = f"{self._path.as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=self._lock_wait_s, isolation_level=None)
        # EXTRA is FULL plus a sync of the folder when the journal is removed; without that a
        # power cut can bring the journal, and with it the old state, back (sqlite.org/pragma.html).
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.text_factory = _decode
        return connection


class Postgres:
    """A PostgreSQL database; blobs are rows, the key lies on this host."""

    blob_folder: Path | None = None

    def __init__(self, url: URL, lock_wait_s: float, key_folder: Path) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise ExonerateError(
                "a ledger in PostgreSQL needs the package `psycopg`",
                "run `pip install 'exonerate[postgres]'`",
            )
        url = url.set(drivername="postgresql+psycopg")
        self.where = url.render_as_string(hide_password=True)
        self.key_file = key_folder / KEY_FILE
        self._lock_wait_ms = max(1, round(lock_wait_s * 1000))
        self._engine: Engine = create_engine(
            url, poolclass=NullPool, connect_args={"connect_timeout": max(1, round(lock_wait_s))}
        )

    def exists(self) -> bool:
        """True: whether the tables are there is asked inside the transaction."""
        return True

    def prepare_folder(self) -> None:
        """Nothing: the key makes its own."""

    def prepare(self) -> None:
        """Nothing: the server is there or it is not."""

    def connect(self, *, writes: bool) -> Connection:
        """A new connection to the server."""
        return self._engine.connect()

    def lock(self, connection: Connection) -> None:
        """Take the writers' lock, which ends with the transaction.

        The isolation level stays at read committed, so that the statement after the lock sees
        what the writer before us committed.
        """
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {self._lock_wait_ms}")
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({POSTGRES_LOCK})")


def _begin_as_asked(connection: Connection) -> None:
    writes = connection.get_execution_options().get("exonerate_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _decode(raw: bytes) -> str:
    # Bytes that are not UTF-8 are damage; they must reach the check of the chain, not crash here.
    return raw.decode("utf-8", "surrogateescape")


def _unknown_address(problem: str) -> ExonerateError:
    return ExonerateError(problem, "give a path, or an address `postgresql://user@host/database`")
