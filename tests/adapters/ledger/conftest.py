"""Ledgers to test: SQLite always, PostgreSQL where EXONERATE_TEST_POSTGRES names a server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.instant import Instant

POSTGRES = os.environ.get("EXONERATE_TEST_POSTGRES")
KINDS = ["sqlite", *(["postgres"] if POSTGRES else [])]

Opener: TypeAlias = Callable[[], SqlLedger]


class CountingClock:
    """A clock on which a second passes with every question."""

    def __init__(self) -> None:
        self._asked = 0

    def now(self) -> Instant:
        """The next second."""
        self._asked += 1
        return Instant(self._asked * 1_000_000_000)

    def wall(self) -> str:
        """The next second of one hour in 2026."""
        self._asked += 1
        minute, second = divmod(self._asked, 60)
        return f"2026-01-01T00:{minute % 60:02}:{second:02}.000000Z"


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a ledger that does not exist yet."""
    if request.param == "sqlite":
        yield str(tmp_path / ".exonerate" / "ledger.db")
        return
    assert POSTGRES is not None
    url = make_url(POSTGRES).set(drivername="postgresql+psycopg")
    schema = f"exonerate_{uuid.uuid4().hex}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    inside = url.update_query_dict({"options": f"-csearch_path={schema}"})
    yield inside.render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def opened(address: str, tmp_path: Path) -> Opener:
    """Opens the ledger again, as the next command would."""

    def open_again() -> SqlLedger:
        return open_ledger(address, clock=CountingClock(), key_folder=tmp_path / "key")

    return open_again


@pytest.fixture
def ledger(opened: Opener) -> SqlLedger:
    """A ledger that nothing was written to yet."""
    return opened()
