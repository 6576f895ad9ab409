"""What a knob is set to, where its file is not what it should be."""

import os
from pathlib import Path

import pytest

from exonerate.adapters.knob_files import read_knob
from exonerate.core.deployment.model import Deployment, Knob


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "device"])
def test_a_file_that_cannot_be_read_is_part_of_the_answer(tmp_path: Path, kind: str) -> None:
    """A pipe or a device is not even opened: reading it could have no end."""
    name = {"device": "/dev/zero"}.get(kind, "serve.sh")
    if kind == "folder":
        (tmp_path / name).mkdir()
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    knob = Knob(name="K", service="s", file=name, form="export")
    reading = read_knob(Deployment(name="d", model="m", folder=str(tmp_path)), knob)
    assert (reading.written, reading.live) == (None, None)
    assert name in str(reading.error)
