"""GPUs read while a scene is played.

No GPU is needed: a script that prints the documented table stands in for `nvidia-smi`, and a file
for the kernel's log.
"""

import asyncio
from pathlib import Path

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.gpu_watching import GpuPerformer
from exonerate.adapters.player import ScenePlayer
from exonerate.core.diagnosis.beside import read_beside
from exonerate.core.diagnosis.gpu_readings import QUERIES
from exonerate.core.scene import Event, Scene, WatchGpus

WATCH = WatchGpus(name="gpus", count=2, every_s=0.0, background=False)
TABLE = f"index, temperature.gpu\n0, 41\n1, 93\n# {QUERIES[0]}"
XID = "3,901,8123456,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n"


def played(performer: GpuPerformer) -> list[Event]:
    """The events of a scene that only watches."""
    player = ScenePlayer(clock=SystemClock(), performers={WatchGpus: performer})
    scene = Scene(id="s", why="", activities=(WATCH,))
    return list(asyncio.run(player.play(scene, lambda what, share: None)))


def test_a_host_without_the_tool_is_silent() -> None:
    """Not one event: such hosts are the rule."""
    assert played(GpuPerformer(find=lambda: None)) == []


def test_readings_and_new_messages_become_facts(tmp_path: Path) -> None:
    """A message of the kernel comes once, with its own moment."""
    tool, log = tmp_path / "nvidia-smi", tmp_path / "kmsg"
    tool.write_text(f"#!/bin/sh\ncat <<END\n{TABLE}\nEND\n")
    tool.chmod(0o755)
    log.write_text(XID)
    events = played(GpuPerformer(find=lambda: str(tool), kernel_log=log))
    samples = read_beside(events).gpus
    assert [[gpu.temperature_c for gpu in sample.gpus] for sample in samples] == [[41, 93]] * 2
    assert [[sign.code for sign in sample.kernel] for sample in samples] == [[79], []]
    moment_s = samples[0].kernel[0].at_ns / 1e9
    assert abs(moment_s - 8.123456) < 0.01
