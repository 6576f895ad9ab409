"""One lab run: a scenario staged, `locate` run on it as a user would, its verdict scored."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from exonerate.core.version import VERSION
from exonerate.errors import ExonerateError
from exonerate.lab.scenario import Template
from exonerate.lab.scoring import score
from exonerate.lab.stage import Stage, staged
from exonerate.report.lab import LabRun

__all__ = ["LabRun", "Results", "play_scenario"]

GRACE_S = 120.0


@dataclass(slots=True)
class Results:
    """Runs that were played, kept as JSON lines where a path is given."""

    path: Path | None
    runs: list[LabRun] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text().splitlines():
            self.runs.append(LabRun(**json.loads(line)))

    def has(self, scenario: str, seed: int) -> bool:
        """Whether this version has played the scenario with this seed."""
        return any(
            (run.scenario, run.seed, run.version) == (scenario, seed, VERSION) for run in self.runs
        )

    def add(self, run: LabRun) -> None:
        """Keep a run."""
        self.runs.append(run)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(run)) + "\n")


def play_scenario(template: Template, seed: int) -> LabRun:
    """Stage, locate, score.

    Raises:
        ExonerateError: the scenario cannot be staged.
    """
    with (
        tempfile.TemporaryDirectory(prefix="exonerate-lab-") as folder,
        staged(template, seed=seed, folder=Path(folder), progress=_silent) as stage,
    ):
        verdict = _verdict(stage, seed)
        scenario = stage.scenario
    scored = score(scenario.expected, verdict)
    wanted = [fault.kind for fault in scenario.expected.fault]
    return LabRun(
        scenario=scenario.id,
        seed=seed,
        version=VERSION,
        expected=scenario.expected.outcome if not wanted else "+".join(wanted),
        explanation=scenario.expected.explanation,
        got=_named(verdict),
        points=scored.points,
        false_accusation=scored.false_accusation,
        right_layer=scored.right_layer,
        right_class=scored.right_class,
        why=scored.why,
        elapsed_s=float(verdict.get("elapsed_s", 0.0)),
        timers_s=scenario.timers_s,
        paragraph=str(verdict.get("paragraph", "")),
    )


def _verdict(stage: Stage, seed: int) -> Mapping[str, Any]:
    budget = stage.scenario.budget_s
    command = [
        sys.executable, "-m", "exonerate", "locate", "--json", "-c", str(stage.deployment),
        "--seed", str(seed), "--budget", f"{budget:g}s",
    ]  # fmt: skip
    if stage.scenario.symptom:
        command += ["--symptom", stage.scenario.symptom]
    done = subprocess.run(
        command,
        cwd=stage.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=budget + GRACE_S,
    )
    if not done.stdout:
        raise ExonerateError(
            f"`locate` gave no verdict on {stage.scenario.id}: {done.stderr.strip()[-400:]}",
            "run it by hand with `exonerate lab up`",
        )
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


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
