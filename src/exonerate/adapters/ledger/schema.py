"""The tables of a ledger and the ordered steps that make them.

Rules
-----
1. A migration is a function in `MIGRATIONS`; its name is recorded in the transaction that
   performs it. A name never changes, an entry is never removed or reordered.
2. A name in the ledger that is not in `MIGRATIONS` was written by a newer Exonerate: refused.
3. Bodies are the canonical JSON text that was hashed, so that every database gives the same bytes
   back. There is no index beside the primary key: a reader always sees the rows that the chain
   covers, never an index that disagrees with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
)

from exonerate.errors import ExonerateError

Migration: TypeAlias = Callable[[Connection], None]

_metadata = MetaData()

MIGRATION_TABLE = Table(
    "exonerate_migration",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("at", Text, nullable=False),
)

RECORD_TABLE = Table(
    "exonerate_record",
    _metadata,
    # In SQLite only a column of exactly this type is the table's own key; any other has an index.
    Column(
        "seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    ),
    Column("case_id", Text, nullable=False),
    Column("run", Text),
    Column("kind", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("prev", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

BLOB_TABLE = Table(
    "exonerate_blob",
    _metadata,
    Column("sha256", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
"""Raw data of ledgers that have no folder of their own; SQLite keeps files beside the database."""


def m001_records(connection: Connection) -> None:
    """The chained records."""
    RECORD_TABLE.create(connection)


def m002_blobs(connection: Connection) -> None:
    """Raw data named by hash."""
    BLOB_TABLE.create(connection)


MIGRATIONS: tuple[Migration, ...] = (m001_records, m002_blobs)


def missing_migrations(
    connection: Connection, migrations: Sequence[Migration], where: str
) -> list[Migration] | None:
    """The steps that this ledger still needs, or None when it holds no ledger yet.

    Raises:
        ExonerateError: the database belongs to something else or to a newer Exonerate.
    """
    tables = inspect(connection).get_table_names()
    if MIGRATION_TABLE.name not in tables:
        if tables and connection.dialect.name == "sqlite":
            raise ExonerateError(
                f"`{where}` is a database of something else (it has a table `{tables[0]}`)",
                "give `--ledger` a path of its own",
            )
        return None
    applied = set(connection.execute(select(MIGRATION_TABLE.c.name)).scalars())
    unknown = applied - {step.__name__ for step in migrations}
    if unknown:
        raise ExonerateError(
            f"ledger `{where}` was written by a newer Exonerate (it has `{min(unknown)}`)",
            "upgrade Exonerate on this host, or give `--ledger` another path",
        )
    return [step for step in migrations if step.__name__ not in applied]


def migrate(connection: Connection, steps: Sequence[Migration], at: str) -> None:
    """Perform the steps and record each; the caller holds the transaction."""
    MIGRATION_TABLE.create(connection, checkfirst=True)
    for step in steps:
        step(connection)
        connection.execute(insert(MIGRATION_TABLE).values(name=step.__name__, at=at))
