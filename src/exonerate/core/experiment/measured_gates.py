"""The validity gates of an experiment that Exonerate ran itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exonerate.core.change.gates import PROCESS_FORMS, setting_gate
from exonerate.core.deployment.knobs import written_value
from exonerate.core.experiment.answer import Instrument
from exonerate.core.experiment.cell import CellRun
from exonerate.core.experiment.course import RESTART, SWAP, Course, Restart
from exonerate.core.experiment.gate import Gate
from exonerate.core.experiment.setup import Setup
from exonerate.core.stats.wording import share

FAILED_SHARE_MAX = 0.005
TOKENS_MISMATCH_MAX = 0.005
IN_FLIGHT_TOLERANCE = 0.1
STEADY_SHARE_MIN = 0.5


def gates_of_course(course: Course, setup: Setup) -> tuple[Gate, ...]:
    """Every gate of the experiment so far, whole ones first."""
    whole = (start_gate(course), environment_gate(course, setup), restore_gate(course))
    cells = tuple(gate for cell in setup.cells for gate in _cell_gates(course, setup, cell))
    return (*whole, *cells)


def start_gate(course: Course) -> Gate:
    """Whether every restart got its bytes and came up."""
    for restart in course.restarts:
        for step in (SWAP, RESTART):
            if step in restart.failures:
                why = f"{_name(restart)}: {step} failed: {restart.failures[step]}"
                return Gate("start", "broken", why)
    return Gate("start", "kept", f"{len(course.restarts)} restarts came up")


def environment_gate(course: Course, setup: Setup) -> Gate:
    """Whether every process of every restart got the value of its arm."""
    knob = setup.knob_model
    if knob is None:
        return Gate("environment", "not_examined", "no knob is exchanged")
    if knob.form not in PROCESS_FORMS:
        why = f"a setting of the form {knob.form} does not show in a process"
        return Gate("environment", "not_examined", why)
    for restart in course.restarts:
        wrong = wrong_setting(restart, setup)
        if wrong is not None:
            return Gate("environment", "broken", f"{_name(restart)}: {wrong}")
    return Gate("environment", "kept", f"every restart got its value of {knob.name}")


def wrong_setting(restart: Restart, setup: Setup) -> str | None:
    """Why the processes of a restart do not have the value of its arm, or None.

    The rule is the one by which a change of the knob is judged (`core.change.gates`).
    """
    if RESTART in restart.failures or setup.knob_model is None:
        return None
    expected = written_value(setup.knob_model, restart.arm)
    found = setting_gate(restart.setting, setup.knob_model.form, expected)
    return None if found.passed else found.why


def restore_gate(course: Course) -> Gate:
    """Whether the original state is back."""
    if course.restored is False:
        return Gate("restore", "broken", f"the original state is NOT back: {course.restore_why}")
    why = "the original state is back" if course.restored else "the original state is in place"
    return Gate("restore", "kept", why)


def instrument_of(course: Course) -> Instrument:
    """The worst of the load generator over every cell that was measured."""
    runs = [run for restart in course.restarts for run in restart.cells.values()]
    if not runs:
        return Instrument()
    return Instrument(
        client_bound=any(run.client_bound for run in runs),
        cpu_share=max(run.cpu_share for run in runs),
        lag_ms_p99=max(run.lag_ms_p99 for run in runs),
    )


def _cell_gates(course: Course, setup: Setup, cell: int) -> Iterable[Gate]:
    runs = [(restart, restart.cells[cell]) for restart in course.restarts if cell in restart.cells]
    if not runs:
        yield Gate("errors", "not_examined", "the cell was not measured", cell)
        return
    yield _errors(course, runs, cell)
    yield _tokens(runs, setup, cell)
    yield _in_flight(runs, cell)
    yield _instrument(runs, cell)
    yield _steady(runs, cell)


def _errors(course: Course, runs: Sequence[tuple[Restart, CellRun]], cell: int) -> Gate:
    for restart in course.restarts:
        # A restart that never came up is the matter of its own gate.
        if f"cell-{cell}" in restart.failures and RESTART not in restart.failures:
            why = f"{_name(restart)}: {restart.failures[f'cell-{cell}']}"
            return Gate("errors", "broken", why, cell)
    for arm in dict.fromkeys(restart.arm for restart, _ in runs):
        of_arm = [run for restart, run in runs if restart.arm == arm]
        requests, failed = sum(run.requests for run in of_arm), sum(run.failed for run in of_arm)
        if failed > FAILED_SHARE_MAX * requests:
            ends = sorted({end for run in of_arm for end in run.ends})
            why = f"{failed} of {requests} requests failed under {arm} ({', '.join(ends)})"
            return Gate("errors", "broken", why, cell)
    return Gate("errors", "kept", "no more than 0.5 % of requests failed in either arm", cell)


def _tokens(runs: Sequence[tuple[Restart, CellRun]], setup: Setup, cell: int) -> Gate:
    """Both arms have to do the same work: output tokens per request agree to 0.5 %."""
    means = []
    for arm in setup.arms:
        of_arm = [run for restart, run in runs if restart.arm == arm and run.tokens_per_request > 0]
        if not of_arm:
            return Gate("tokens", "not_examined", f"{arm} was not measured", cell)
        means.append(sum(run.tokens_per_request for run in of_arm) / len(of_arm))
    mismatch = abs(means[1] / means[0] - 1)
    counts = f"{means[0]:.2f} and {means[1]:.2f} output tokens per request"
    if mismatch > TOKENS_MISMATCH_MAX:
        why = f"{counts} differ by {share(mismatch)}; the arms did different work"
        return Gate("tokens", "broken", why, cell)
    return Gate("tokens", "kept", counts, cell)


def _in_flight(runs: Sequence[tuple[Restart, CellRun]], cell: int) -> Gate:
    seen = [(restart, run.in_flight) for restart, run in runs if run.in_flight is not None]
    for restart, mean in seen:
        if abs(mean / cell - 1) > IN_FLIGHT_TOLERANCE:
            why = f"{_name(restart)}: {mean:.1f} requests were in flight instead of {cell}"
            return Gate("in-flight", "broken", why, cell)
    if not seen:
        why = f"too few requests to tell whether {cell} were in flight"
        return Gate("in-flight", "not_examined", why, cell)
    return Gate("in-flight", "kept", f"{cell} requests were in flight (Little's law)", cell)


def _instrument(runs: Sequence[tuple[Restart, CellRun]], cell: int) -> Gate:
    for restart, run in runs:
        if run.client_bound:
            why = f"{_name(restart)}: the client set the pace: {run.client_why}"
            return Gate("instrument", "broken", why, cell)
    return Gate("instrument", "kept", "the client kept up", cell)


def _steady(runs: Sequence[tuple[Restart, CellRun]], cell: int) -> Gate:
    """Broken when most restarts move: one in ten does by chance where windows depend on another."""
    judged = [(restart, run.steadiness) for restart, run in runs if run.steadiness is not None]
    if not judged:
        why = "too short to tell whether the cell was in a steady state"
        return Gate("steady-state", "not_examined", why, cell)
    moving = [(restart, found) for restart, found in judged if found.kind != "steady"]
    if not moving:
        return Gate("steady-state", "kept", "every restart was steady", cell)
    restart, first = moving[0]
    why = (
        f"{len(moving)} of {len(judged)} restarts were not steady at C{cell}, such as "
        f"{_name(restart)}: {first.kind} by {share(abs(first.moved))}"
    )
    mostly = len(moving) > STEADY_SHARE_MIN * len(judged)
    return Gate("steady-state", "broken" if mostly else "doubtful", why, cell)


def _name(restart: Restart) -> str:
    return f"block {restart.block}, {restart.arm}"
