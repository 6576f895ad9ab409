"""Result files that somebody has called arms, as comparisons.

Files become arms only when told: a file does not say which value the knob had. All arms must
come from one tool, because tools differ in what they call the first token, in whose token count
they trust and in whether waiting in the client counts; a difference between tools is not one
between arms.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exonerate.core.documents.compare import Sample, pair
from exonerate.core.documents.grade import capped, graded
from exonerate.core.documents.metrics import Metric
from exonerate.core.documents.model import Comparison, Run, Source, Value
from exonerate.core.documents.table import Row

METRICS = (
    Metric("output_tokens_per_s", "tokens/s", lower_is_better=False),
    Metric("ttft_ms_p50", "ms", lower_is_better=True),
    Metric("itl_ms_p50", "ms", lower_is_better=True),
)


@dataclass(frozen=True, slots=True)
class Arm:
    """A value of the knob and one file that was measured with it."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Refused:
    """Why files are not compared, and what would make them comparable."""

    reason: str
    hint: str


def compare_arms(arms: Sequence[Arm], *, across_tools: bool = False) -> Source | Refused:
    """One source that holds the comparison of the first arm with each other one."""
    refused = _refusal(arms, across_tools=across_tools)
    if refused is not None:
        return refused
    runs: dict[str, list[Run]] = defaultdict(list)
    for arm in arms:
        runs[arm.name] += [run for run in arm.source.runs if run.cell is not None and run.complete]
    tools = {run.tool for group in runs.values() for run in group}
    unlike = _unlike_workloads(runs)
    comparisons = []
    names = list(runs)
    for metric in METRICS:
        samples = {name: _samples(group, metric.name) for name, group in runs.items()}
        for candidate in names[1:]:
            if samples[names[0]] and samples[candidate]:
                made = _comparison(runs, samples, (names[0], candidate), metric)
                comparisons.append(_with_doubts(made, tools, unlike))
    paths = [arm.source.path for arm in arms]
    shas = sorted({arm.source.sha256 for arm in arms})
    return Source(
        path=" + ".join(f"{arm.name}={arm.source.path}" for arm in arms),
        sha256=hashlib.sha256("".join(shas).encode()).hexdigest(),
        format="arms",
        comparisons=tuple(comparisons),
        warnings=tuple(unlike) if comparisons else ("the files share no metric", *unlike),
        parts=tuple(dict.fromkeys(paths)),
    )


def _refusal(arms: Sequence[Arm], *, across_tools: bool) -> Refused | None:
    if len({arm.name for arm in arms}) < 2:
        return Refused(
            "a comparison needs two arms", "give --arm NAME=FILE once for each arm at least"
        )
    by_content: dict[str, str] = {}
    for arm in arms:
        if by_content.setdefault(arm.source.sha256, arm.name) != arm.name:
            return Refused(
                f"`{arm.source.path}` is given as arm {arm.name} and as arm "
                f"{by_content[arm.source.sha256]}",
                "give each arm a file of its own",
            )
        if not any(run.cell is not None and run.complete for run in arm.source.runs):
            return Refused(
                f"`{arm.source.path}` holds no complete run with a concurrency or rate",
                "give result files of a load tool; a table with both arms needs no --arm",
            )
    tools = sorted({run.tool for arm in arms for run in arm.source.runs})
    if len(tools) > 1 and not across_tools:
        return Refused(
            f"the arms were measured with different tools ({', '.join(tools)}), which differ in "
            "what they count as first token, tokens and waiting",
            "measure both arms with one tool, or say --across-tools and take grade E",
        )
    return None


def _comparison(
    runs: dict[str, list[Run]],
    samples: dict[str, dict[float, list[Sample]]],
    arms: tuple[str, str],
    metric: Metric,
) -> Comparison:
    both = [run for name in arms for run in runs[name]]
    kind = both[0].cell_kind or "concurrency"
    made = pair(samples, arms, metric=metric, line=1, cell_kind=kind)
    facts = tuple(dict.fromkeys(fact for run in both for fact in run.facts))
    mapping = tuple(
        f"arm `{name}` is {len(runs[name])} run(s) of {runs[name][0].tool}" for name in arms
    )
    return graded(replace(made, facts=facts, mapping=mapping), raw_data=True)


def _with_doubts(comparison: Comparison, tools: set[str], unlike: Sequence[str]) -> Comparison:
    for doubt in unlike:
        comparison = capped(comparison, "D", doubt)
    if len(tools) > 1:
        comparison = capped(comparison, "E", f"measured with {len(tools)} different tools")
    return comparison


def _samples(runs: Sequence[Run], metric: str) -> dict[float, list[Sample]]:
    samples: dict[float, list[Sample]] = defaultdict(list)
    for run in runs:
        number = run.metrics.get(metric)
        if number is not None and number > 0 and run.cell is not None:
            samples[run.cell].append(Sample(Value(number, 0.0, runs=1), Row(run.line, ())))
    return dict(samples)


def _unlike_workloads(runs: dict[str, list[Run]]) -> list[str]:
    """What differs between the arms' workloads: lengths, data set, model."""
    described: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, group in runs.items():
        for run in group:
            models = [("model", fact.value) for fact in run.facts if fact.kind == "model"]
            for key, value in [*run.workload.items(), *models]:
                described[key][value].add(name)
    return [
        f"the arms differ in {key}: {', '.join(sorted(values))}"
        for key, values in described.items()
        if len(values) > 1
    ]
