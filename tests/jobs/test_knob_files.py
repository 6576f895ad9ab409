"""Finding a knob and its file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import open_ledger
from exonerate.core.deployment.model import Deployment, Knob, Service
from exonerate.errors import ExonerateError
from exonerate.jobs.knob_files import knob_file, knob_named, read_bytes


def deployment(folder: Path, *names: str) -> Deployment:
    """A deployment with those knobs."""
    knobs = tuple(Knob(name=n, service="s", file="serve.sh", form="export") for n in names)
    service = Service(name="s", start=("./serve.sh",))
    return Deployment(name="d", model="m", folder=str(folder), services=(service,), knobs=knobs)


def test_a_knob_may_be_named_by_its_end(tmp_path: Path) -> None:
    """The long prefix of an engine need not be typed, unless two knobs end alike."""
    site = deployment(tmp_path, "SGLANG_SM120_MMA_TARGET_CTAS", "A_LEVEL", "B_LEVEL", "LEVEL_C")
    assert knob_named(site, "TARGET_CTAS").name == "SGLANG_SM120_MMA_TARGET_CTAS"
    assert knob_named(site, "A_LEVEL").name == "A_LEVEL"
    for name, why in (("LEVEL", "more than one knob"), ("CTA", "no knob"), ("S", "no knob")):
        with pytest.raises(ExonerateError, match=why):
            knob_named(site, name)


def test_a_file_that_is_not_there_is_the_operators_to_correct(tmp_path: Path) -> None:
    """The message names the path."""
    site = deployment(tmp_path, "KNOB")
    ledger = open_ledger(tmp_path / "ledger.db", clock=SystemClock())
    with pytest.raises(ExonerateError, match=r"serve\.sh` cannot be read"):
        knob_file(site, site.knobs[0], ledger)


def test_a_file_without_a_history_was_not_edited_since(tmp_path: Path) -> None:
    """Nothing is on record, so nothing can differ from it."""
    site = deployment(tmp_path, "KNOB")
    (tmp_path / "serve.sh").write_text("export KNOB=5\nexec srv\n")
    ledger = open_ledger(tmp_path / "ledger.db", clock=SystemClock())
    found = knob_file(site, site.knobs[0], ledger)
    assert (found.edited_since, found.standing, found.changes) == (False, None, ())


@pytest.mark.parametrize("kind", ["missing", "pipe", "device"])
def test_only_a_regular_file_is_read(tmp_path: Path, kind: str) -> None:
    """A pipe or a device could have no end; it is named instead."""
    path = Path("/dev/zero") if kind == "device" else tmp_path / "serve.sh"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(ExonerateError, match=str(path)):
        read_bytes(path)
