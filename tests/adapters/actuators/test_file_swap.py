"""The atomic exchange of a file, killed and disturbed at every step."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exonerate.adapters.actuators import file_swap
from exonerate.adapters.actuators.file_backup import BackupStore
from exonerate.adapters.actuators.file_metadata import Metadata, metadata_of
from exonerate.adapters.actuators.file_swap import (
    CHECKPOINTS,
    Checkpoint,
    FileSwapper,
    SwapRefused,
    swap_file,
)
from exonerate.core.scene import SwapFile

OLD = b"#!/bin/sh\r\nexport A=1\r\nexec srv"
NEW = b"#!/bin/sh\r\nexport A=2\r\nexec srv"


def sha256(content: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A launch script with an odd mode and, where the file system has them, an attribute."""
    path = tmp_path / "configuration" / "serve.sh"
    path.parent.mkdir()
    path.write_bytes(OLD)
    path.chmod(0o4751)
    with contextlib.suppress(OSError):
        os.setxattr(path, "user.note", b"kept")
    return path


def swapper(script: Path, checkpoint: Checkpoint = lambda _: None) -> FileSwapper:
    """A swapper with its backups beside the folder of the script."""
    return FileSwapper(store=BackupStore(script.parents[1] / "backups"), checkpoint=checkpoint)


def metadata(path: Path) -> Metadata:
    """Owner, mode and attributes of a file."""
    with path.open("rb") as stream:
        return metadata_of(stream.fileno())


def in_child(action: Callable[[], object]) -> int:
    """Run the action in a forked process; its exit status, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        except SwapRefused as refusal:
            status = 7 if refusal.untouched else 8
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def alone(script: Path) -> bool:
    """Whether nothing is left beside the script."""
    return [path.name for path in script.parent.iterdir()] == [script.name]


def test_a_swap_keeps_everything_but_the_bytes(script: Path) -> None:
    """Owner, mode and attributes are those of the old file, and a backup was kept."""
    before = metadata(script)
    assert swapper(script).swap(script, sha256(OLD), NEW) == "exchange"
    assert script.read_bytes() == NEW
    assert metadata(script) == before
    assert alone(script)
    store = script.parents[1] / "backups"
    assert store.stat().st_mode & 0o777 == 0o700
    assert [path.read_bytes() for path in store.glob("*.bak")] == [OLD]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in store.iterdir())


@pytest.mark.parametrize("at", CHECKPOINTS)
def test_a_kill_at_any_step_leaves_old_or_new_and_the_next_run_finishes(
    script: Path, at: str
) -> None:
    """Whole bytes, right metadata, and nothing left over after the next run."""
    before = metadata(script)

    def kill(step: str) -> None:
        if step == at:
            os.kill(os.getpid(), signal.SIGKILL)

    status = in_child(lambda: swapper(script, kill).swap(script, sha256(OLD), NEW))
    assert status == -signal.SIGKILL
    assert script.read_bytes() in (OLD, NEW)
    assert metadata(script) == before
    assert swapper(script).swap(script, sha256(OLD), NEW) in ("exchange", "already")
    assert script.read_bytes() == NEW
    assert metadata(script) == before
    assert alone(script)


@pytest.mark.parametrize(
    "at", ["read", "kept", "staged", "sealed", "exchanged", "checked", "synced"]
)
@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_an_edit_made_at_the_same_moment_is_kept(script: Path, at: str, how: str) -> None:
    """Whenever somebody else writes, the edit is live at the end, or the swap came first."""
    edited = OLD + b" --more\n"
    held = script.open("r+b")

    def edit(step: str) -> None:
        if step != at:
            return
        if how == "in place":
            held.write(edited)
            held.flush()
        else:
            other = script.with_name("editor.tmp")
            other.write_bytes(edited)
            other.replace(script)

    with held:
        try:
            swapper(script, edit).swap(script, sha256(OLD), NEW)
        except SwapRefused as refusal:
            assert refusal.untouched  # noqa: PT017  # either way is right, with its own state
        assert script.read_bytes() == edited
    assert alone(script)


def test_an_edit_displaced_by_a_killed_run_goes_back_to_its_place(script: Path) -> None:
    """A kill right after the exchange cannot swallow an edit that came in between."""
    edited = OLD + b" --more\n"

    def disturb(step: str) -> None:
        if step == "sealed":
            script.write_bytes(edited)
        if step == "exchanged":
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(lambda: swapper(script, disturb).swap(script, sha256(OLD), NEW))
    assert script.read_bytes() == NEW
    with pytest.raises(SwapRefused, match="somebody edited it"):
        swapper(script).swap(script, sha256(OLD), NEW)
    assert script.read_bytes() == edited
    assert alone(script)


def test_other_bytes_than_expected_are_left_alone(script: Path) -> None:
    """The plan was made for another file than this one."""
    with pytest.raises(SwapRefused, match="somebody edited it"):
        swapper(script).swap(script, sha256(b"something else"), NEW)
    assert script.read_bytes() == OLD
    assert alone(script)


def test_a_link_is_kept_and_its_target_is_replaced(script: Path) -> None:
    """A rename onto the link itself would destroy it."""
    link = script.with_name("link.sh")
    link.symlink_to(script.name)
    swapper(script).swap(link, sha256(OLD), NEW)
    assert link.is_symlink()
    assert script.read_bytes() == NEW


def test_a_link_out_of_the_folder_is_refused_unless_allowed(script: Path, tmp_path: Path) -> None:
    """A file elsewhere may belong to somebody else."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = elsewhere / "serve.sh"
    link.symlink_to(script)
    with pytest.raises(SwapRefused, match="leads out of its folder"):
        swapper(script).swap(link, sha256(OLD), NEW)
    allowing = FileSwapper(store=BackupStore(tmp_path / "b"), allowed=(script.parent,))
    assert allowing.swap(link, sha256(OLD), NEW) == "exchange"


def _hard_link(script: Path) -> None:
    os.link(script, script.with_name("second"))


def _folder(script: Path) -> None:
    script.unlink()
    script.mkdir()


def _pipe(script: Path) -> None:
    script.unlink()
    os.mkfifo(script)


@pytest.mark.parametrize(
    ("disturb", "why"),
    [
        (_hard_link, "2 names"),
        (_folder, "not a regular file"),
        (_pipe, "not a regular file"),
        (Path.unlink, "No such file"),
    ],
)
def test_what_a_rename_would_break_is_refused(
    script: Path, disturb: Callable[[Path], None], why: str
) -> None:
    """Second names, folders, pipes and missing files are named."""
    disturb(script)
    with pytest.raises(SwapRefused, match=why):
        swapper(script).swap(script, sha256(OLD), NEW)


def test_a_mount_point_is_refused(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bind-mounted file cannot be renamed over, and is said to be one."""
    odd = script.with_name("a b\\c")
    script.rename(odd)
    table = script.parents[1] / "mountinfo"
    name = str(odd).replace("\\", "\\134").replace(" ", "\\040")
    table.write_text(f"36 35 98:0 /mnt1 {name} rw,noatime master:1 - ext4 /dev/root rw\n")
    real_path = Path
    monkeypatch.setattr(
        file_swap, "Path", lambda p: real_path(table if p == "/proc/self/mountinfo" else p)
    )
    with pytest.raises(SwapRefused, match="mount point"):
        swapper(odd).swap(odd, sha256(OLD), NEW)


def test_two_swaps_at_once_do_not_meet(script: Path) -> None:
    """The second one is refused at once and touches nothing."""
    lock = script.with_name(f".{script.name}.exonerate.lock")
    with lock.open("w") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(SwapRefused, match="another process is changing"):
            swapper(script).swap(script, sha256(OLD), NEW)
    assert script.read_bytes() == OLD
    assert swapper(script).swap(script, sha256(OLD), NEW) == "exchange"
    assert alone(script)


def test_a_disk_that_is_full_leaves_the_old_file(script: Path) -> None:
    """The new bytes do not fit, so nothing changes and nothing is left behind."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        swapper(script).swap(script, sha256(OLD), NEW * 100)

    assert in_child(limited) == 7
    assert script.read_bytes() == OLD
    assert alone(script)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_a_folder_that_may_not_be_written_is_refused(open_folder: Path) -> None:
    """The refusal says so, and the file is as it was."""
    script = open_folder / "serve.sh"
    script.write_bytes(OLD)
    store = open_folder / "backups"
    store.mkdir()
    store.chmod(0o777)
    open_folder.chmod(0o555)

    def as_nobody() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        FileSwapper(store=BackupStore(store / "own")).swap(script, sha256(OLD), NEW)

    assert in_child(as_nobody) == 7
    assert script.read_bytes() == OLD
    open_folder.chmod(0o755)


def test_where_names_cannot_be_exchanged_the_weaker_way_is_named(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain rename is used and the event says so."""

    def unsupported(one: Path, other: Path) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(file_swap, "exchange_names", unsupported)
    before = metadata(script)
    assert swapper(script).swap(script, sha256(OLD), NEW) == "replace"
    assert script.read_bytes() == NEW
    assert metadata(script) == before
    assert alone(script)


def test_the_activity_becomes_one_event(script: Path) -> None:
    """A swap that was done, one that was done before, and one that was refused."""
    blobs = {sha256(NEW): NEW}
    activity = SwapFile(
        name="swap", path=str(script), expected_sha256=sha256(OLD), target_sha256=sha256(NEW)
    )

    def perform() -> tuple[str, object]:
        kind, data = asyncio.run(
            swap_file(activity, read_blob=blobs.__getitem__, swapper=swapper(script))
        )
        return kind, data.get("method", data.get("file"))

    assert perform() == ("swapped", "exchange")
    assert perform() == ("swapped", "already")
    script.write_bytes(b"edited")
    assert perform() == ("failed", "unchanged")
