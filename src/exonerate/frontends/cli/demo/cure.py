"""Does the cure cure? The harness in all four corners: proxy faulty or repaired, knob or not."""

from __future__ import annotations

from contextlib import ExitStack

from exonerate.compose import system_clock
from exonerate.frontends.cli.case_options import CaseOptions
from exonerate.frontends.cli.demo.narrator import Narrator
from exonerate.frontends.cli.demo.stage import KNOB, KNOB_BASELINE, KNOB_TUNED, HarnessRun, Stage
from exonerate.jobs.cure import Corner, cure_answer, record_cure

SUSPECT = "ubatch-wedges"
REVERTED, RESTORED = f"reverted ({KNOB_BASELINE})", f"restored ({KNOB_TUNED})"


def check_cure(stage: Stage, narrator: Narrator, processes: ExitStack) -> bool:
    """Run the harness in all four corners; True when only the repaired proxy cures."""
    narrator.step(
        "Does the cure cure?",
        "The harness runs in all four corners: proxy faulty or repaired, knob restored or "
        "reverted.",
    )
    corners = [_corner(stage, narrator, "faulty", RESTORED)]
    processes.close()
    with stage.proxy(faulty=False):
        corners.append(_corner(stage, narrator, "repaired", RESTORED))
        narrator.command(
            ["knob", "revert", KNOB, "--to", KNOB_BASELINE, "--tests", SUSPECT,
             "--predict", "the harness completes all the same, with the proxy repaired",
             "--reason", "to see whether the cure cures", "--yes"]
        )  # fmt: skip
        corners.append(_corner(stage, narrator, "repaired", REVERTED))
    with stage.proxy(faulty=True):
        corners.append(_corner(stage, narrator, "faulty", REVERTED))
    narrator.command(["knob", "restore", KNOB, "--yes"])
    where = CaseOptions(config=stage.config, ledger=None, case=None)
    ledger, book = where.open_book()
    answer = cure_answer(fault="proxy edge", knob=KNOB, corners=corners)
    record_cure(ledger, book, answer, clock=system_clock())
    narrator.say(f"{answer['why']}.")
    return bool(answer["cured"])


def _corner(stage: Stage, narrator: Narrator, fault: str, knob: str) -> Corner:
    run: HarnessRun = stage.harness()
    end = "completes" if run.completed else f"wedges at round {run.wedged_at}"
    narrator.say(f"proxy {fault}, knob {knob}: the harness {end}.")
    return Corner(fault=fault, knob=knob, done=run.done, wanted=run.wanted)
