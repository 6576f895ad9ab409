"""Plans of changes, on real files and a real ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.core.deployment.model import Deployment, Knob, Service
from exonerate.errors import ExonerateError
from exonerate.jobs.knob_changes import Hypothesis, Prepared, Start, plan_adopted, plan_revert
from exonerate.jobs.knob_files import KnobFile, knob_file

KNOB = Knob(
    name="KNOB",
    service="engine",
    file="serve.sh",
    form="export",
    values=("256", "512"),
    default="256",
)
HYPOTHESIS = Hypothesis(suspect="s1", tests="512 hangs it", predict="it stops", reason="incident")
SCRIPT = "#!/bin/sh\nexport A=1\nexport KNOB=512\nexec srv\n"


@pytest.fixture
def ledger(tmp_path: Path) -> SqlLedger:
    """An empty ledger."""
    return open_ledger(tmp_path / "ledger" / "ledger.db", clock=SystemClock())


def site(folder: Path, knob: Knob = KNOB, script: str = SCRIPT) -> Deployment:
    """A deployment with one knob in one script."""
    (folder / "serve.sh").write_text(script)
    return Deployment(
        name="d",
        model="m",
        folder=str(folder),
        services=(Service(name="engine", start=("./serve.sh",)),),
        knobs=(knob,),
    )


def found_in(deployment: Deployment, ledger: SqlLedger) -> tuple[KnobFile, Start]:
    """The knob's file and the beginning of a plan."""
    found = knob_file(deployment, deployment.knobs[0], ledger)
    return found, Start(id="revert-1", deployment=deployment, ledger=ledger)


def revert(folder: Path, ledger: SqlLedger, *, to: str | None = None, **knob: object) -> Prepared:
    """Plan a revert of the script's knob."""
    deployment = site(folder, replace(KNOB, **knob))  # type: ignore[arg-type]  # fields of Knob
    found, start = found_in(deployment, ledger)
    return plan_revert(found, start, HYPOTHESIS, to)


def test_a_revert_is_a_test_with_its_prediction_and_confounds(
    tmp_path: Path, ledger: SqlLedger
) -> None:
    """The default is written by taking the line out, and both states of the file are kept."""
    prepared = revert(tmp_path, ledger)
    plan = prepared.plan
    assert (plan.type, plan.was, plan.to, plan.file_to) == ("revert", "512", "256", None)
    assert (plan.suspect, plan.prediction, plan.confounds) == ("s1", "it stops", ("restart",))
    assert plan.purpose == "tests 512 hangs it"
    assert ledger.get_blob(plan.base_sha256).decode() == SCRIPT
    assert b"KNOB" not in ledger.get_blob(plan.target_sha256)
    assert prepared.proof.lines_removed == ("export KNOB=512\n",)
    assert (tmp_path / "serve.sh").read_text() == SCRIPT


def test_the_value_is_the_default_or_the_only_other_one(tmp_path: Path, ledger: SqlLedger) -> None:
    """Without either the operator must say it."""
    assert revert(tmp_path, ledger, default=None).plan.to == "256"
    assert revert(tmp_path, ledger, to="128", values=()).plan.file_to == "128"
    with pytest.raises(ExonerateError, match="what KNOB shall be reverted to"):
        revert(tmp_path, ledger, default=None, values=())


@pytest.mark.parametrize(("to", "why"), [("512", "is 512 already"), ("7", "none of the values")])
def test_a_value_that_makes_no_sense_is_refused(
    tmp_path: Path, ledger: SqlLedger, to: str, why: str
) -> None:
    """The live value, and one that the deployment does not know."""
    with pytest.raises(ExonerateError, match=why):
        revert(tmp_path, ledger, to=to)


def test_a_script_that_cannot_be_proved_is_not_touched(tmp_path: Path, ledger: SqlLedger) -> None:
    """The refusal says which line is in the way."""
    deployment = site(tmp_path, script=SCRIPT.replace("exec srv", "exec srv --n $KNOB"))
    found, start = found_in(deployment, ledger)
    with pytest.raises(ExonerateError, match="line 4 sets KNOB where it may not run, or reads it"):
        plan_revert(found, start, HYPOTHESIS, None)


def test_an_adopted_revert_says_that_it_was_not_watched(tmp_path: Path, ledger: SqlLedger) -> None:
    """What else changed then is not known, and that stands in its confounds."""
    backup = tmp_path / "serve.sh.bak"
    backup.write_text(SCRIPT)
    deployment = site(tmp_path, script=SCRIPT.replace("export KNOB=512\n", ""))
    found, start = found_in(deployment, ledger)
    plan = plan_adopted(found, start, backup, HYPOTHESIS).plan
    assert (plan.type, plan.was, plan.to, plan.restart) == ("adopt", "512", "256", False)
    assert "not known" in plan.confounds[0]
    backup.write_text(SCRIPT.replace("A=1", "A=2"))
    with pytest.raises(ExonerateError, match="other settings differ too: A"):
        plan_adopted(found, start, backup, HYPOTHESIS)


def test_a_missing_backup_is_named(tmp_path: Path, ledger: SqlLedger) -> None:
    """The message has the path."""
    found, start = found_in(site(tmp_path), ledger)
    with pytest.raises(ExonerateError, match=r"none\.bak` cannot be read"):
        plan_adopted(found, start, tmp_path / "none.bak", HYPOTHESIS)
