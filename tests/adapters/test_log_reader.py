"""A log that is followed while it grows, is rotated and is emptied."""

from pathlib import Path

import pytest

from exonerate.adapters.log_reader import LogReader


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with an old line."""
    path = tmp_path / "access.log"
    path.write_text("old\n")
    return path


def following(log: Path, bytes_max: int = 1000) -> LogReader:
    """A reader that has begun."""
    reader = LogReader(log, bytes_max=bytes_max)
    reader.begin()
    return reader


def append(log: Path, text: str) -> None:
    """More of the log."""
    with log.open("a") as file:
        file.write(text)


def test_only_what_comes_later_is_read_and_only_whole_lines(log: Path) -> None:
    """Half a line waits for its other half."""
    reader = following(log)
    append(log, "one\ntw")
    assert reader.appended().lines == ("one",)
    append(log, "o\r\n")
    assert reader.appended().lines == ("two",)
    assert reader.appended().lines == ()
    reader.close()


def test_nothing_is_lost_when_the_log_is_rotated(log: Path) -> None:
    """The rest of the old file first, then the new one from its start."""
    reader = following(log)
    append(log, "last of the old\n")
    log.rename(log.with_suffix(".1"))
    append(log.with_suffix(".1"), "written by a worker that has not reopened\n")
    log.write_text("first of the new\n")
    assert reader.appended().lines == (
        "last of the old", "written by a worker that has not reopened", "first of the new",
    )  # fmt: skip
    reader.close()


def test_a_file_that_was_renamed_and_not_yet_made_again_is_no_error(log: Path) -> None:
    """Between two steps of a rotation."""
    reader = following(log)
    log.unlink()
    assert reader.appended().lines == ()
    log.write_text("new\n")
    assert reader.appended().lines == ("new",)
    reader.close()


def test_a_file_that_was_emptied_is_read_from_its_start(log: Path) -> None:
    """As with `copytruncate`."""
    reader = following(log)
    append(log, "some long line\n")
    reader.appended()
    log.write_text("new\n")
    assert reader.appended().lines == ("new",)
    reader.close()


def test_a_flood_is_cut_at_its_beginning_and_counted(log: Path) -> None:
    """The newest lines are the ones that matter."""
    reader = following(log, bytes_max=20)
    append(log, "".join(f"line {number:03}\n" for number in range(100)))
    told = reader.appended()
    assert told.lines[-1] == "line 099"
    assert len(told.lines) <= 2
    assert told.skipped_bytes >= 880
    reader.close()


def test_bytes_that_are_no_text_do_not_matter(log: Path) -> None:
    """A log can hold anything that a client sent."""
    reader = following(log)
    with log.open("ab") as file:
        file.write(b"\xff\xfe odd\n")
    assert len(reader.appended().lines) == 1
    reader.close()


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    """The performer says so in an event."""
    with pytest.raises(FileNotFoundError):
        LogReader(tmp_path / "none", bytes_max=10).begin()
