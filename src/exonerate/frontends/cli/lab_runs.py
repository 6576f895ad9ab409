"""One lab run: a scenario staged, `locate` run on it as a user would, its verdict scored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from exonerate.adapters.clock import SystemClock
from exonerate.errors import ExonerateError
from exonerate.lab.provenance import file_digest, provenance
from exonerate.lab.scenario import Template
from exonerate.lab.scoring import details_off, score
from exonerate.lab.stage import Stage, staged
from exonerate.report.lab import LabRun

__all__ = ["LabRun", "Results", "play_scenario"]

GRACE_S = 120.0
STAGING_TRIES = 2
"""A port that was free when it was drawn may be taken by the time a part listens."""
NS_PER_S = 1e9
KNOWN = frozenset(item.name for item in fields(LabRun))


@dataclass(slots=True)
class Results:
    """Runs that were played, kept as JSON lines where a path is given; safe for threads."""

    path: Path | None
    runs: list[LabRun] = field(default_factory=list)
    _alone: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.runs.extend(read_results(self.path))

    def find(self, template: Template, seed: int, *, stale: bool = False) -> LabRun | None:
        """The newest run of this scenario and seed; of other code or file only where allowed."""
        found = [run for run in self.runs if (run.scenario, run.seed) == (template.id, seed)]
        now = (provenance().code, file_digest(template.path))
        fresh = [run for run in found if stale or (run.code, run.file) == now]
        return fresh[-1] if fresh else None

    def add(self, run: LabRun) -> None:
        """Keep a run; a kill loses at most the line that is being written."""
        with self._alone:
            self.runs.append(run)
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(asdict(run)) + "\n")


def read_results(path: Path) -> list[LabRun]:
    """The runs in a file of results; a line that a kill cut short is left out.

    Raises:
        ExonerateError: the file cannot be read, or holds something else.
    """
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be read: {error.strerror}", "name a file that `--results` wrote"
        ) from error
    runs = []
    for number, line in enumerate(lines, start=1):
        try:
            table = json.loads(line)
            runs.append(LabRun(**{key: item for key, item in table.items() if key in KNOWN}))
        except (ValueError, TypeError, AttributeError) as error:
            if number < len(lines):
                raise ExonerateError(
                    f"{path}:{number} is no run of the lab", "name a file that `--results` wrote"
                ) from error
    return runs


def play_scenario(
    template: Template, seed: int, *, keep: Path | None = None, within: Path | None = None
) -> LabRun:
    """Stage, locate, score; the verdict is kept in the folder `keep`.

    The scenario's own folder is made within another one, for whoever has to clean up after a kill.

    Raises:
        ExonerateError: the scenario cannot be staged, or there was no verdict.
    """
    clock = SystemClock()
    begun = clock.now()
    with ExitStack() as stack:
        stage = _standing(template, seed, within=within, stack=stack)
        verdict = _verdict(stage, seed)
        scenario = stage.scenario
    if keep is not None:
        _keep(keep / f"{template.id}-{seed}.json", verdict)
    scored = score(scenario.expected, verdict)
    wanted = [fault.kind for fault in scenario.expected.fault]
    made_by = provenance()
    return LabRun(
        scenario=template.id,
        seed=seed,
        version=made_by.version,
        commit=made_by.commit,
        code=made_by.code,
        file=file_digest(template.path),
        expected=scenario.expected.outcome if not wanted else "+".join(wanted),
        explanation=scenario.expected.explanation,
        got=_named(verdict),
        points=scored.points,
        false_accusation=scored.false_accusation,
        right_layer=scored.right_layer,
        right_class=scored.right_class,
        why=scored.why,
        details_off=details_off(scenario.expected, verdict),
        elapsed_s=float(verdict.get("elapsed_s", 0.0)),
        wall_s=round((clock.now() - begun) / NS_PER_S, 1),
        timers_s=scenario.timers_s,
        confidence=_confidence(verdict),
        beyond_victim=_beyond_victim(verdict, scenario.victim),
        paragraph=str(verdict.get("paragraph", "")),
    )


def _beyond_victim(verdict: Mapping[str, Any], victim: Mapping[str, object]) -> int | None:
    """How many more requests than the victim has were under way at an address, at the most."""
    at_once = verdict.get("requests_at_once")
    return max(at_once.values()) - int(str(victim.get("concurrency", 1))) if at_once else None


def _standing(template: Template, seed: int, *, within: Path | None, stack: ExitStack) -> Stage:
    """The scenario, staged until the stack ends."""
    for tries_left in reversed(range(STAGING_TRIES)):
        with ExitStack() as attempt:
            folder = attempt.enter_context(
                tempfile.TemporaryDirectory(prefix="exonerate-lab-", dir=within)
            )
            try:
                stage = attempt.enter_context(
                    staged(template, seed=seed, folder=Path(folder), progress=_silent)
                )
            except ExonerateError:
                if tries_left == 0:
                    raise
                continue
            stack.push(attempt.pop_all())
            return stage
    raise AssertionError("the last try returns or raises")


def _verdict(stage: Stage, seed: int) -> Mapping[str, Any]:
    budget = stage.scenario.budget_s
    command = [*stage.client_prefix, sys.executable, "-m", "exonerate", "locate", "--json"]
    command += ["-c", str(stage.deployment), "--seed", str(seed), "--budget", f"{budget:g}s"]
    if stage.scenario.symptom:
        command += ["--symptom", stage.scenario.symptom]
    if stage.scenario.client is not None:
        # Only the victim's own program shows what it does wrong; a probe would do it right.
        command += ["--run", "--", *stage.client_argv]
    process = subprocess.Popen(
        command,
        cwd=stage.folder,
        env={**os.environ, **stage.client_environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _running.add(process)
    try:
        said, complained = process.communicate(timeout=budget + GRACE_S)
    except subprocess.TimeoutExpired as error:
        raise _no_verdict(stage, f"it ran past {budget + GRACE_S:g} s") from error
    finally:
        _running.discard(process)
        process.kill()
        process.wait()
    if not said:
        raise _no_verdict(stage, complained.strip()[-400:])
    answer: Mapping[str, Any] = json.loads(said)
    return answer


_running: set[subprocess.Popen[str]] = set()


def end_running() -> None:
    """End every `locate` that is under way; its scenario then ends as one without a verdict."""
    for process in list(_running):
        process.terminate()


def _no_verdict(stage: Stage, why: str) -> ExonerateError:
    return ExonerateError(
        f"`locate` gave no verdict on {stage.scenario.id}: {why}",
        "run it by hand with `exonerate lab up`",
    )


def _keep(path: Path, verdict: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(verdict, indent=1) + "\n")


def _confidence(verdict: Mapping[str, Any]) -> float | None:
    faults = verdict.get("faults") or []
    return float(faults[0]["confidence"]) if faults and "confidence" in faults[0] else None


def _named(verdict: Mapping[str, Any]) -> str:
    faults = verdict.get("faults") or []
    if faults:
        return "+".join(f"{f['class']}@{'-'.join(f['hops'])}" for f in faults)
    explanation = verdict.get("explanation")
    if explanation:
        return str(explanation["class"])
    return str(verdict.get("outcome"))


def _silent(text: str, fraction: float | None) -> None:
    """Staging is quick."""
