"""Where a ledger may live, and what the operator is told when it cannot."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.instant import Instant
from exonerate.errors import ExonerateError


class StoppedClock:
    """A clock that always shows the same time."""

    def now(self) -> Instant:
        """Always zero."""
        return Instant(0)

    def wall(self) -> str:
        """Always the same."""
        return "2026-01-01T00:00:00.000000Z"


def ledger_at(path: Path | str, lock_wait_s: float = 10.0) -> SqlLedger:
    return open_ledger(path, clock=StoppedClock(), lock_wait_s=lock_wait_s)


def note(ledger: SqlLedger, text: str = "seen") -> int:
    return ledger.append(case="c1", kind="comment", body={"text": text, "by": "ann"}).seq


def refusal(ledger: SqlLedger) -> ExonerateError:
    """The error that appending gives."""
    with pytest.raises(ExonerateError) as caught:
        note(ledger)
    return caught.value


def notes_that_fit(ledger: SqlLedger) -> int:
    """Append until it fails; returns how many records were acknowledged."""
    for count in range(25):
        try:
            note(ledger, "x" * 3000)
        except ExonerateError:
            return count
    return 25


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, which no file permission stops."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextmanager
def files_no_larger_than(size_bytes: int) -> Iterator[None]:
    """Every write past that size fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_reading_makes_no_file(tmp_path: Path) -> None:
    """Looking at a ledger that does not exist leaves the folder as it was."""
    ledger = ledger_at(tmp_path / ".exonerate" / "ledger.db")
    assert ledger.records() == []
    assert ledger.check_chain().records == 0
    assert list(tmp_path.iterdir()) == []


def test_ledger_can_be_given_as_sqlite_address(tmp_path: Path) -> None:
    """`sqlite:///path` and the path alone are the same ledger."""
    note(ledger_at(f"sqlite:///{tmp_path}/a b#1.db"))
    assert len(ledger_at(tmp_path / "a b#1.db").records()) == 1


def test_ledger_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path keeps meaning the same file when the command changes its folder."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = ledger_at("ledger.db")
    monkeypatch.chdir(tmp_path / "sub")
    note(ledger)
    ledger.put_blob(b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "blobs",
        "ledger.db",
        "ledger.key",
        "sub",
    ]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    """Only the ledger's own folder is made; a mistyped path above it is an error."""
    error = refusal(ledger_at(tmp_path / "typo" / ".exonerate" / "ledger.db"))
    assert f"the folder `{tmp_path}/typo` does not exist" in error.problem
    assert list(tmp_path.iterdir()) == []


def test_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """A folder given as `--ledger` is an error, not a crash."""
    assert "cannot open the ledger" in refusal(ledger_at(tmp_path)).problem


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """A file where the ledger's folder should be is an error, not a crash."""
    (tmp_path / "file").write_text("mine")
    ledger = ledger_at(tmp_path / "file" / "ledger.db")
    with pytest.raises(ExonerateError):
        ledger.put_blob(b"x")
    assert str(tmp_path / "file") in refusal(ledger).problem
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("content", [b"# Notes\n" * 300, b"\x00" * 4096, b"short"])
def test_garbage_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    """A file that is not a database is neither read nor written."""
    path = tmp_path / "notes.md"
    path.write_bytes(content)
    assert "is not a ledger" in refusal(ledger_at(path)).problem
    with pytest.raises(ExonerateError, match="is not a ledger"):
        ledger_at(path).records()
    assert path.read_bytes() == content


def test_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Another program's SQLite file gets no table of ours."""
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (id)")
    connection.close()
    before = path.read_bytes()
    assert "database of something else (it has a table `runs`)" in refusal(ledger_at(path)).problem
    assert path.read_bytes() == before


def test_ledger_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """A ledger with a migration that we do not know is neither read nor written."""
    path = tmp_path / "ledger.db"
    note(ledger_at(path))
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO exonerate_migration VALUES ('m900_future', 'later')")
    connection.close()
    assert "newer Exonerate (it has `m900_future`)" in refusal(ledger_at(path)).problem
    with pytest.raises(ExonerateError, match="newer"):
        ledger_at(path).records()


def test_empty_file_is_an_empty_ledger(tmp_path: Path) -> None:
    """What a crash right after the first touch leaves can be used."""
    path = tmp_path / "ledger.db"
    path.touch()
    assert ledger_at(path).records() == []
    assert note(ledger_at(path)) == 1


def test_locked_for_too_long_is_an_error_that_loses_nothing(tmp_path: Path) -> None:
    """A lock that another process keeps ends the wait; afterwards appending works again."""
    path = tmp_path / "ledger.db"
    note(ledger_at(path))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert "stayed locked" in refusal(ledger_at(path, lock_wait_s=0.05)).problem
    with pytest.raises(ExonerateError, match="stayed locked"):
        ledger_at(path, lock_wait_s=0.05).records()
    holder.rollback()
    holder.close()
    assert note(ledger_at(path, lock_wait_s=0.05)) == 2


def test_read_only_ledger_can_be_read_but_not_written(open_folder: Path) -> None:
    """A ledger that somebody else owns can be looked at; writing says what to do."""
    path = open_folder / "ledger.db"
    note(ledger_at(path))
    (open_folder / "ledger.key").chmod(0o444)
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with as_nobody():
        assert len(ledger_at(path).records()) == 1
        assert "read-only" in refusal(ledger_at(path)).problem


def test_read_only_folder_is_an_error(open_folder: Path) -> None:
    """A ledger cannot be begun in a folder that may not be written."""
    open_folder.chmod(0o555)
    with as_nobody():
        error = refusal(ledger_at(open_folder / "ledger.db"))
        with pytest.raises(ExonerateError, match="cannot write"):
            ledger_at(open_folder / "ledger.db").put_blob(b"x")
    assert "cannot write" in error.problem


def test_full_disk_loses_nothing(tmp_path: Path) -> None:
    """An append that does not fit fails whole; with space again the chain goes on."""
    path = tmp_path / "ledger.db"
    ledger = ledger_at(path)
    note(ledger)
    with files_no_larger_than(path.stat().st_size + 8192):
        with pytest.raises(ExonerateError) as caught:
            note(ledger, "x" * 100_000)
        with pytest.raises(ExonerateError, match="no space is left"):
            ledger.put_blob(b"x" * 1_000_000)
    assert "nothing recorded so far is lost" in caught.value.hint
    assert [path.name for path in tmp_path.rglob(".writing-*")] == []
    assert note(ledger) == 2
    assert ledger.check_chain().first_bad is None


def test_disk_that_is_full_from_the_start_leaves_a_usable_folder(tmp_path: Path) -> None:
    """A first append that does not fit leaves nothing that stops the next one."""
    path = tmp_path / "ledger.db"
    with files_no_larger_than(0):
        refusal(ledger_at(path))
    with files_no_larger_than(4096):
        refusal(ledger_at(path))
    assert note(ledger_at(path)) == 1
    assert ledger_at(path).check_chain().first_bad is None


@pytest.mark.parametrize("size_bytes", range(4096, 61_000, 8_000))
def test_disk_that_fills_up_keeps_what_was_acknowledged(tmp_path: Path, size_bytes: int) -> None:
    """Wherever the disk runs full, every record that was acknowledged is there and no other."""
    ledger = ledger_at(tmp_path / "ledger.db")
    with files_no_larger_than(size_bytes):
        acknowledged = notes_that_fit(ledger)
    chain = ledger.check_chain()
    assert (chain.first_bad, chain.records) == (None, acknowledged)
    assert acknowledged < 25
    assert note(ledger) == acknowledged + 1


@pytest.mark.parametrize("address", ["mysql://host/x", "http://host", "sqlite://", "://"])
def test_address_of_another_kind_is_refused(address: str) -> None:
    """An address that is no ledger is refused before anything is touched."""
    with pytest.raises(ExonerateError, match="ledger"):
        ledger_at(address)


def test_postgres_without_its_driver_or_server_says_so() -> None:
    """A PostgreSQL address whose driver or server is missing is an error without the password."""
    with pytest.raises(ExonerateError) as caught:
        note(ledger_at("postgresql://ann:hunter2@127.0.0.1:1/x"))
    assert "PostgreSQL" in caught.value.problem or "127.0.0.1:1" in caught.value.problem
    assert "hunter2" not in caught.value.problem + caught.value.hint


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_changed_byte_is_noticed_or_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """One changed byte of the file breaks the chain or the file, or no record is different."""
    path = tmp_path_factory.getbasetemp() / "flipped" / "ledger.db"
    if not path.exists():
        ledger = ledger_at(path)
        for number in range(30):
            ledger.append(
                case="c1", kind="comment", body={"text": "y" * (number * 40), "n": number}, run="r"
            )
    whole = path.read_bytes()
    original = ledger_at(path).check_chain()
    assert original.first_bad is None
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    try:
        chain = ledger_at(path).check_chain()
    except ExonerateError:
        return
    finally:
        path.write_bytes(whole)
    assert chain.first_bad is not None or chain == original
    assert chain.sound == original.sound[: len(chain.sound)]


def test_changed_word_in_a_record_is_found_at_its_number(tmp_path: Path) -> None:
    """A record that was edited in place is named; the ones before it stay sound."""
    path = tmp_path / "ledger.db"
    for text in ("one", "two", "three"):
        note(ledger_at(path), text)
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"tow"'))
    chain = ledger_at(path).check_chain()
    assert (chain.first_bad, chain.records, len(chain.sound)) == (2, 3, 1)


def test_removed_record_is_found(tmp_path: Path) -> None:
    """A record that was taken out leaves a gap that is named."""
    path = tmp_path / "ledger.db"
    for text in ("one", "two", "three"):
        note(ledger_at(path), text)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM exonerate_record WHERE seq = 2")
    connection.close()
    assert ledger_at(path).check_chain().first_bad == 3
