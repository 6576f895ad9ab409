"""Scenes that change the host, played on real files."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from exonerate.adapters.actuators.file_backup import BackupStore
from exonerate.adapters.actuators.file_swap import FileSwapper
from exonerate.adapters.actuators.process_service import ProcessServices
from exonerate.adapters.actuators.services import ServiceControl
from exonerate.adapters.actuators.systemd_service import SystemdServices
from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.changing import change_performers
from exonerate.adapters.player import ScenePlayer
from exonerate.core.scene import Event, ReadSetting, RestartService, Scene, SwapFile


def play(folder: Path, scene: Scene, blobs: dict[str, bytes]) -> list[Event]:
    """Play a scene with the change performers alone."""
    clock = SystemClock()
    services = ServiceControl(
        [],
        processes=ProcessServices(folder=folder, state=folder / "state", clock=clock),
        systemd=SystemdServices(clock=clock),
    )
    performers = change_performers(
        read_blob=blobs.__getitem__,
        swapper=FileSwapper(store=BackupStore(folder / "backups")),
        services=services,
    )
    player = ScenePlayer(clock=clock, performers=performers)
    return list(asyncio.run(player.play(scene, lambda text, fraction: None)))


def scene(folder: Path, expected: bytes, target: bytes) -> Scene:
    """A swap, a restart and a reading, each after the one before."""
    swap = SwapFile(
        name="swap",
        path=str(folder / "serve.sh"),
        expected_sha256=hashlib.sha256(expected).hexdigest(),
        target_sha256=hashlib.sha256(target).hexdigest(),
    )
    restart = RestartService(name="restart", service="none", after=("swap",))
    read = ReadSetting(name="read", service="none", setting="A", form="export", after=("restart",))
    return Scene(id="s", why="", activities=(swap, restart, read))


def test_what_fails_says_why_and_what_depends_on_it_is_skipped(tmp_path: Path) -> None:
    """The file was exchanged, the service is not known, and nothing is read back."""
    (tmp_path / "serve.sh").write_bytes(b"old")
    new = hashlib.sha256(b"new").hexdigest()
    events = play(tmp_path, scene(tmp_path, b"old", b"new"), {new: b"new"})
    assert [(e.activity, e.kind) for e in events] == [
        ("swap", "swapped"),
        ("restart", "failed"),
        ("read", "skipped"),
    ]
    assert (tmp_path / "serve.sh").read_bytes() == b"new"


def test_a_refused_swap_keeps_the_state_of_the_file_in_its_event(tmp_path: Path) -> None:
    """Whoever decides next must know that the file is unchanged."""
    (tmp_path / "serve.sh").write_bytes(b"edited")
    new = hashlib.sha256(b"new").hexdigest()
    events = play(tmp_path, scene(tmp_path, b"old", b"new"), {new: b"new"})
    assert (events[0].kind, events[0].data["file"]) == ("failed", "unchanged")
    assert [e.kind for e in events[1:]] == ["skipped", "skipped"]
