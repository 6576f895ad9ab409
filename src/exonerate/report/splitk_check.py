"""The proof of a split-K implementation as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from exonerate.core.exactness import MEANINGS, ErrorPoint, Finding, Proof, Property, sentence

WIDTH = 100


def text(proof: Proof) -> str:
    """The whole report, without a newline at its end."""
    lines = [*_head(proof), "", *_properties(proof)]
    for title, block in (
        ("Error against float64 on ordinary inputs", list(_errors(proof.error_by_splits))),
        ("Findings", list(_findings(proof))),
        ("Habits", [f"  {name}: {', '.join(v)}" for name, v in proof.conventions.items()]),
        ("Not examined", [f"  {item}" for item in proof.not_examined]),
        ("To quote in a change review", textwrap.wrap(sentence(proof), WIDTH - 2)),
    ):
        if block:
            lines += ["", title, *(line if line[:1] == " " else f"  {line}" for line in block)]
    return "\n".join(lines)


def _head(proof: Proof) -> list[str]:
    broken = sum(finding.broken for finding in proof.findings)
    outcome = f"{broken} broken promises" if broken > 1 else "a promise is broken"
    versions = ", ".join(f"{name} {version}" for name, version in proof.versions.items())
    return [
        f"{proof.target}: {outcome if broken else 'every promise holds'}",
        f"  {', '.join(proof.dtypes) or 'no format answered'}; sweep {proof.level}, seed "
        f"{proof.seed}, {proof.calls} calls in {proof.elapsed_s:.1f} s"
        + (f"; {versions}" if versions else ""),
    ]


def _properties(proof: Proof) -> Iterator[str]:
    for check in Property:
        promised = "promised" if check in proof.promised else "-"
        verdict = proof.verdict(check)
        trials, violated = proof.trials.get(check, 0), proof.violated.get(check, 0)
        count = f"{violated} of {trials}" if violated else f"{trials} trials" if trials else ""
        shown = verdict.replace("_", " ")
        if verdict == "broken" and check not in proof.promised:
            shown = "no"
        yield f"  {promised:<9}{check.value:<22}{shown:<14}{count:<12}{MEANINGS[check]}"


def _errors(points: Sequence[ErrorPoint]) -> Iterator[str]:
    if points:
        yield "  dtype  splits    largest        rms   of bound   changed from 1 split   by ulp"
    for point in points:
        changed = "-" if point.splits == 1 else f"{point.changed_share:.1%}"
        ulp = "-" if point.splits == 1 else f"{point.ulp_max:.3g}"
        yield (
            f"  {point.dtype:<6}{point.splits:>7}{point.error_max:>11.2e}{point.error_rms:>11.2e}"
            f"{point.of_bound:>11.1%}{changed:>23}{ulp:>9}"
        )


def _findings(proof: Proof) -> Iterator[str]:
    for finding in sorted(proof.findings, key=lambda one: not one.broken):
        mark = "BROKEN" if finding.broken else "told  "
        yield (
            f"  {mark} {finding.property.value} [{finding.condition}] {finding.dtype}, "
            f"{finding.splits} splits: {finding.what}"
        )
        if finding.why:
            yield f"         {finding.why}"
        yield f"         {_shape(finding)}"
        if finding.saved:
            yield f"         replay: exonerate splitk check {proof.target} --replay {finding.saved}"


def _shape(finding: Finding) -> str:
    shown = [f"{name} {value}" for name, value in finding.shape.items() if name != "layout"]
    layout = finding.shape.get("layout")
    return ", ".join(shown) + (f", {layout}" if layout and layout != "contiguous" else "")
