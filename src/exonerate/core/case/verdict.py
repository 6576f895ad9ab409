"""What a decider returns when it needs no further scene."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.json_types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The computed answer of one run.

    Args:
        job: which job decided (`locate`, `ab`, ...).
        rules: the version of the rules that decided; a verdict can be recomputed only by these.
        answer: what the job prints with `--json`; must hold nothing that the run's records
            do not determine (no clock, no environment).
    """

    job: str
    rules: str
    answer: JsonObject
