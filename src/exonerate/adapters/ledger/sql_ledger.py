"""The ledger in an SQL database: SQLite by default, PostgreSQL by URL, the same statements.

Rules
-----
1. One append is one transaction: it takes the write lock, reads the last record, writes the next.
   So two processes can never continue the chain from the same record.
2. A ledger that does not exist reads as empty; it is made by the first append.
3. Every wait has a limit (`lock_wait_s`), every connection is closed after its transaction: a
   process that is killed leaves nothing that the next one has to know about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Row, func, insert, select
from sqlalchemy.exc import DBAPIError

from exonerate.adapters.ledger.faults import database_faults, is_damage
from exonerate.adapters.ledger.files import (
    BlobFolder,
    checked_blob,
    missing_blob,
    read_or_make_key,
)
from exonerate.adapters.ledger.schema import (
    BLOB_TABLE,
    MIGRATIONS,
    RECORD_TABLE,
    Migration,
    migrate,
    missing_migrations,
)
from exonerate.adapters.ledger.stores import Store, store_of
from exonerate.core.case.records import (
    GENESIS_HASH,
    RECORD_KINDS,
    ChainCheck,
    Record,
    RecordKind,
    canonical_json,
    follows,
    record_hash,
)
from exonerate.core.case.redaction import Redactor
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock
from exonerate.errors import ExonerateError

LOCK_WAIT_S = 10.0


def open_ledger(
    url_or_path: str | Path,
    *,
    clock: Clock,
    lock_wait_s: float = LOCK_WAIT_S,
    key_folder: Path | None = None,
) -> SqlLedger:
    """The ledger at a path (SQLite) or at a `postgresql://` URL; nothing is made or opened yet.

    `key_folder` is where a PostgreSQL ledger keeps the key of its redacted values on this host
    (default: `.exonerate` in the current folder); SQLite keeps it beside the database.

    Raises:
        ExonerateError: the address is of another kind of database, or its driver is missing.
    """
    return SqlLedger(store_of(url_or_path, lock_wait_s, key_folder), clock)


class SqlLedger:
    """Append-only records in a hash chain, and raw data named by hash."""

    def __init__(
        self, store: Store, clock: Clock, migrations: Sequence[Migration] = MIGRATIONS
    ) -> None:
        self._store = store
        self._clock = clock
        self._migrations = migrations
        self._redactor: Redactor | None = None

    @property
    def where(self) -> str:
        """The address of the ledger, without its password."""
        return self._store.where

    def key(self) -> bytes:
        """The secret key of this ledger's redacted values, made when first asked for."""
        self._store.prepare_folder()
        return read_or_make_key(self._store.key_file)

    def append(
        self, *, case: str, kind: RecordKind, body: JsonObject, run: str | None = None
    ) -> Record:
        """Write one record durably and return it; raises ExonerateError when it cannot.

        What still looks like a secret is replaced here, as the last line of defence; `redacted`
        in the body then says where.
        """
        assert kind in RECORD_KINDS, kind
        if self._redactor is None:
            self._store.prepare()
            self._redactor = Redactor(self.key(), None)
        safe = self._redactor.last_line(body)
        with self._writing() as connection:
            record = self._next_record(connection, case=case, kind=kind, body=safe, run=run)
            connection.execute(insert(RECORD_TABLE).values(**_row(record)))
        return record

    def records(self, *, case: str | None = None, run: str | None = None) -> Sequence[Record]:
        """Every record (of a case, of a run), in order.

        Raises:
            ExonerateError: the ledger cannot be read, or a record is not what was written.
        """
        statement = select(RECORD_TABLE).order_by(RECORD_TABLE.c.seq)
        if case is not None:
            statement = statement.where(RECORD_TABLE.c.case_id == case)
        if run is not None:
            statement = statement.where(RECORD_TABLE.c.run == run)
        with self._reading() as connection:
            rows = connection.execute(statement).all() if connection is not None else []
        return [self._whole(row) for row in rows]

    def check_chain(self) -> ChainCheck:
        """How far the ledger is what was written: the sound records, and the first bad one."""
        rows, damaged = self._readable_rows()
        sound: list[Record] = []
        for row in rows:
            record = _record(row)
            if record is None or not follows(record, sound[-1] if sound else None):
                return ChainCheck(sound=tuple(sound), first_bad=row.seq, records=len(rows))
            sound.append(record)
        first_bad = len(sound) + 1 if damaged else None
        return ChainCheck(sound=tuple(sound), first_bad=first_bad, records=len(rows))

    def put_blob(self, content: bytes) -> str:
        """Store raw bytes durably; returns their hex SHA-256."""
        self._store.prepare_folder()
        folder = self._store.blob_folder
        if folder is not None:
            return BlobFolder(folder).put(content)
        with self._writing() as connection:
            return _put_blob_row(connection, content)

    def get_blob(self, sha256: str) -> bytes:
        """The bytes of that hash; raises ExonerateError when they are missing or altered."""
        folder = self._store.blob_folder
        if folder is not None:
            return BlobFolder(folder).get(sha256)
        statement = select(BLOB_TABLE.c.content).where(BLOB_TABLE.c.sha256 == sha256)
        with self._reading() as connection:
            content = connection.execute(statement).scalar() if connection is not None else None
        if content is None:
            raise missing_blob(sha256)
        return checked_blob(sha256, bytes(content))

    def _next_record(
        self,
        connection: Connection,
        *,
        case: str,
        kind: RecordKind,
        body: JsonObject,
        run: str | None,
    ) -> Record:
        columns = RECORD_TABLE.c
        last = connection.execute(
            select(columns.seq, columns.hash).order_by(columns.seq.desc()).limit(1)
        ).first()
        seq, prev = (last.seq + 1, last.hash) if last is not None else (1, GENESIS_HASH)
        at = self._clock.wall()
        digest = record_hash(seq=seq, case=case, run=run, kind=kind, at=at, body=body, prev=prev)
        return Record(
            seq=seq, case=case, run=run, kind=kind, at=at, body=body, prev=prev, hash=digest
        )

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction that holds the write lock, on a ledger that has every migration."""
        self._store.prepare()
        with (
            database_faults(self.where),
            self._store.connect(writes=True) as connection,
            connection.begin(),
        ):
            self._store.lock(connection)
            missing = missing_migrations(connection, self._migrations, self.where)
            if missing is None or missing:
                migrate(connection, missing or self._migrations, self._clock.wall())
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        """A transaction that sees one state of the ledger, or None when there is no ledger."""
        if not self._store.exists():
            yield None
            return
        with (
            database_faults(self.where),
            self._store.connect(writes=False) as connection,
            connection.begin(),
        ):
            missing = missing_migrations(connection, self._migrations, self.where)
            # What an older Exonerate wrote lacks tables, but never the records.
            yield None if missing is None else connection

    def _readable_rows(self) -> tuple[list[Row[Any]], bool]:
        """The rows up to the first that the database itself cannot read, and whether it stopped."""
        rows: list[Row[Any]] = []
        statement = select(RECORD_TABLE).order_by(RECORD_TABLE.c.seq)
        with self._reading() as connection:
            if connection is None:
                return rows, False
            try:
                for row in connection.execution_options(yield_per=100).execute(statement):
                    rows.append(row)
            except DBAPIError as error:
                if not is_damage(error):
                    raise
                return rows, True
        return rows, False

    def _whole(self, row: Row[Any]) -> Record:
        record = _record(row)
        if record is None:
            raise ExonerateError(
                f"record {row.seq} of the ledger `{self.where}` is damaged",
                "run `exonerate case verify` to see how far it can be read",
            )
        return record


def _row(record: Record) -> Mapping[str, Any]:
    return {
        "seq": record.seq,
        "case_id": record.case,
        "run": record.run,
        "kind": record.kind,
        "at": record.at,
        "body": canonical_json(record.body).decode(),
        "prev": record.prev,
        "hash": record.hash,
    }


def _record(row: Row[Any]) -> Record | None:
    """The record of a row, or None when the row cannot have been written by `append`."""
    texts = (row.case_id, row.kind, row.at, row.body, row.prev, row.hash)
    well_typed = isinstance(row.seq, int) and all(isinstance(text, str) for text in texts)
    if not well_typed or not isinstance(row.run, str | None) or row.kind not in RECORD_KINDS:
        return None
    try:
        # Bytes that are not UTF-8 came through as halves of surrogate pairs, which do not encode.
        "".join((*texts, row.run or "")).encode()
        body = json.loads(row.body)
        # A text that means the same but is spelled otherwise was altered too.
        unaltered = canonical_json(body) == row.body.encode() and isinstance(body, dict)
    except ValueError:
        return None
    if not unaltered:
        return None
    return Record(
        seq=row.seq,
        case=row.case_id,
        run=row.run,
        kind=cast(RecordKind, row.kind),
        at=row.at,
        body=body,
        prev=row.prev,
        hash=row.hash,
    )


def _put_blob_row(connection: Connection, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    known = connection.execute(
        select(func.count()).where(BLOB_TABLE.c.sha256 == digest)
    ).scalar_one()
    if not known:
        connection.execute(insert(BLOB_TABLE).values(sha256=digest, content=content))
    return digest
