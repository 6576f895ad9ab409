"""Many lab runs, some at a time, with what is left of them in sight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.lab_runs import Results, end_running, play_scenario
from exonerate.lab.durations import estimate_s, recorded_s
from exonerate.lab.scarce import at_a_time, scarce
from exonerate.lab.scenario import Template
from exonerate.report.lab import LabRun, NotRun

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """One run to play."""

    template: Template
    seed: int


@dataclass(slots=True)
class Queue:
    """The runs that are left, and how long they will take."""

    todo: Sequence[Wanted]
    results: Results
    jobs: int = 1
    keep: Path | None = None
    within: Path | None = None
    say: Say = print
    not_run: list[NotRun] = field(default_factory=list)
    _left: dict[Wanted, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        recorded = recorded_s()
        for wanted in self.todo:
            own = [r.wall_s for r in self.results.runs if r.scenario == wanted.template.id]
            timed = [seconds for seconds in own if seconds > 0]
            self._left[wanted] = estimate_s(wanted.template.id, timed, recorded)

    def left_s(self) -> float:
        """Seconds until the last run will have ended."""
        longest = max(self._left.values(), default=0.0)
        by_need: dict[str, float] = {}
        for wanted, seconds in self._left.items():
            for need in scarce(wanted.template):
                by_need[need] = by_need.get(need, 0.0) + seconds / at_a_time(need)
        return max(longest, sum(self._left.values()) / self.jobs, *by_need.values())

    def play(self) -> None:
        """Play all; what breaks is noted and the others go on."""
        pool = ThreadPoolExecutor(max_workers=self.jobs)
        # What has to wait for its kind goes first, or it would be left over at the end.
        waiting = sorted(self.todo, key=lambda wanted: not scarce(wanted.template))
        running: dict[Future[str], Wanted] = {}
        try:
            while waiting or running:
                while len(running) < self.jobs and (ready := _ready(waiting, running.values())):
                    waiting.remove(ready)
                    running[pool.submit(self._play_one, ready)] = ready
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    self._tell(running.pop(done), done.result())
        except BaseException:
            # Interrupted: what has not begun never begins, what runs ends, and both are waited for.
            pool.shutdown(wait=False, cancel_futures=True)
            end_running()
            raise
        finally:
            pool.shutdown(wait=True)

    def _tell(self, wanted: Wanted, came_to: str) -> None:
        del self._left[wanted]
        played = len(self.todo) - len(self._left)
        left = f"{played} of {len(self.todo)}, about {minutes(self.left_s())} left"
        self.say(f"{wanted.template.id} seed {wanted.seed}: {came_to} ({left})")

    def _play_one(self, wanted: Wanted) -> str:
        template, seed = wanted.template, wanted.seed
        try:
            run = play_scenario(template, seed, keep=self.keep, within=self.within)
        except ExonerateError as error:
            self.not_run.append(
                NotRun(scenario=template.id, seed=seed, why=error.problem, hint=error.hint)
            )
            return f"not run: {error.problem}"
        self.results.add(run)
        return outcome(run)


def _ready(waiting: Iterable[Wanted], running: Iterable[Wanted]) -> Wanted | None:
    """The first run that waits and can go beside those that run; None if none can."""
    taken = [need for wanted in running for need in scarce(wanted.template)]
    full = {need for need in taken if taken.count(need) >= at_a_time(need)}
    return next((w for w in waiting if not full & scarce(w.template)), None)


def outcome(run: LabRun) -> str:
    """One run in a few words."""
    if run.false_accusation:
        worth = "FALSE ACCUSATION"
    elif run.points >= 1:
        worth = "right"
    else:
        worth = f"{run.points:g} points, was {run.wanted}"
    return f"{run.got}, {worth}, {run.wall_s:.0f} s"


def minutes(seconds: float) -> str:
    """A time to wait, rounded up so that it is kept."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} minutes"
