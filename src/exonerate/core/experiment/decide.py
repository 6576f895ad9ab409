"""The decider of `ab` and `aa`: the next restart, the way back, or the verdict.

A pure function of the run's records. Whatever ends the experiment (all blocks played, a planned
look that settled it, a gate that makes going on pointless, a scene that was cut off), the original
bytes are put back and the service restarted before there is a verdict. After a cut the file may
hold one of two contents, so the restore tries the possible ones in turn; each attempt succeeds
only on the content that it names, so none can overwrite an edit made by somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.experiment.course import Course, course_of
from exonerate.core.experiment.measured_gates import environment_gate, start_gate
from exonerate.core.experiment.result import experiment_answer, question_of, table_of
from exonerate.core.experiment.scenes import restart_scene, restore_scene
from exonerate.core.experiment.setup import Setup, setup_of
from exonerate.core.scene import Scene
from exonerate.core.stats.comparison import compare
from exonerate.core.stats.stopping import LOOKS

RULES = "experiment/1"
RESTORE_ATTEMPTS_MAX = 4
"""Two possible contents of the file, and a second try of each step."""


def decide(records: Sequence[Record]) -> Scene | Verdict:
    """The next scene of an `ab` or `aa` run, or its verdict."""
    setup = setup_of(records)
    course = course_of(records, setup)
    stopped = why_stopped(course, setup)
    if stopped is None:
        return _next_restart(course, setup)
    if _needs_restore(course, setup):
        live = course.live[0] if course.live else None
        return restore_scene(setup, live, course.restores + 1)
    answer = experiment_answer(course, setup, stopped)
    return Verdict(job=setup.job, rules=setup.rules, answer=answer)


def why_stopped(course: Course, setup: Setup) -> str | None:
    """Why no further restart is played, or None while there are more to come."""
    if course.cut_off is not None:
        return f"interrupted in {course.cut_off}"
    for gate in (start_gate(course), environment_gate(course, setup)):
        if gate.status == "broken":
            return gate.why
    if len(course.restarts) >= 2 * setup.blocks:
        return "every block was played"
    return _settled_at_look(course, setup)


def _settled_at_look(course: Course, setup: Setup) -> str | None:
    blocks, half = divmod(len(course.restarts), 2)
    if not setup.looks or half or blocks not in LOOKS:
        return None
    found = compare(table_of(course, setup), question_of(setup))
    if found.primary.verdict == "undecided":
        return None
    return f"the look after {blocks} blocks settled it"


def _next_restart(course: Course, setup: Setup) -> Scene:
    block, half = divmod(len(course.restarts), 2)
    live = course.live[0] if course.live else None
    return restart_scene(setup, setup.schedule[block], half + 1, live)


def _needs_restore(course: Course, setup: Setup) -> bool:
    if not course.touched or course.restored or course.restores >= RESTORE_ATTEMPTS_MAX:
        return False
    at_rest = course.cut_off is None and course.restores == 0
    came_up = bool(course.restarts) and not course.restarts[-1].failures
    unchanged = setup.original_sha256 is None or course.live == [setup.original_sha256]
    return not (at_rest and came_up and unchanged)
