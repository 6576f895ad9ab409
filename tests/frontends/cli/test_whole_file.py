"""Files for the operator: what was there before is never half gone."""

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.whole_file import write_whole


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """As on a disk that is full after so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_no_room_leaves_the_old_file(tmp_path: Path) -> None:
    """Whole, and without a draft beside it."""
    path = tmp_path / "report.md"
    path.write_text("old")
    with room_for(1000), pytest.raises(ExonerateError, match="cannot write"):
        write_whole(path, "x" * 5000)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file that it names gets the text."""
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new\n"


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    """As is a device: `-o /dev/null` must not take the device away from the machine."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write_whole(path, "text")
    reader.join(60)
    assert read == ["text\n"]
    assert path.is_fifo()


@pytest.mark.parametrize("place", ["nowhere/x.md", "folder", ".", "/"])
def test_what_cannot_be_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A missing folder, a folder, the folder we are in."""
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExonerateError, match="cannot write"):
        write_whole(Path(place), "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
