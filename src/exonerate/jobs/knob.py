"""The job `knob`: list, diff, revert, restore and adopt one setting."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from exonerate.core.case.fold import fold_cases
from exonerate.core.case.model import MEASUREMENT_ARTEFACT, NONE_OF_THESE, Case
from exonerate.core.change.brief import RestoreBrief, restore_brief
from exonerate.core.change.history import recorded_changes
from exonerate.core.change.one_setting import OneSettingProof, prove_one_setting, unified_diff
from exonerate.core.change.plan import ChangePlan
from exonerate.core.deployment.knobs import effective_value, meant_value
from exonerate.core.deployment.model import Deployment, Knob
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import Ledger
from exonerate.errors import ExonerateError
from exonerate.jobs.change_run import ChangeTools, make_change, record_done_change
from exonerate.jobs.knob_changes import (
    EditedSince,
    Hypothesis,
    Prepared,
    Start,
    plan_adopted,
    plan_restore,
    plan_revert,
)
from exonerate.jobs.knob_files import (
    knob_file,
    knob_named,
    read_bytes,
    standing_revert,
    value_or_reason,
)

SettingsReader: TypeAlias = Callable[[str, str, str], Awaitable[Sequence[JsonObject]]]
"""What each process of a service (first) got for a setting (second) of a form (third)."""


async def knob_list(
    deployment: Deployment, ledger: Ledger, read_settings: SettingsReader
) -> JsonObject:
    """Every knob: in its file, in the running processes, and what stands (`exonerate.knobs/1`)."""
    knobs = [await _view(deployment, knob, ledger, read_settings) for knob in deployment.knobs]
    return {"schema": "exonerate.knobs/1", "deployment": deployment.name, "knobs": knobs}


def knob_diff(deployment: Deployment, name: str, ledger: Ledger) -> JsonObject:
    """The live file against what is on record of it (`exonerate.knob-diff/1`).

    Against the file before the standing revert; without one against what the last change left.
    """
    knob = knob_named(deployment, name)
    found = knob_file(deployment, knob, ledger)
    if found.standing is not None:
        identity = found.standing.intervention.id
        sums = [c.plan.base_sha256 for c in found.changes if c.plan.id == identity]
        against = f"the file before the revert {identity}"
        recorded = sums[0] if sums else found.recorded_sha256
    else:
        against = "the file as the last recorded change left it"
        recorded = found.recorded_sha256
    live, unproved = value_or_reason(found.content, knob)
    answer: dict[str, Json] = {
        "schema": "exonerate.knob-diff/1",
        "knob": knob.name,
        "file": str(found.path),
        "live": live,
        "unproved": unproved,
        "edited_since": found.edited_since,
    }
    if recorded is None:
        return {
            **answer,
            "against": None,
            "differs": False,
            "recorded": None,
            "diff": "",
            "proof": {"one_setting": None, "reasons": ["nothing is on record of this file"]},
        }
    base = ledger.get_blob(recorded)
    proof = prove_one_setting(found.content, base, knob)
    proved = isinstance(proof, OneSettingProof)
    return {
        **answer,
        "against": against,
        "differs": base != found.content,
        "recorded": value_or_reason(base, knob)[0],
        "diff": unified_diff(found.content, base, names=("live", "recorded")),
        "proof": {
            "one_setting": proved,
            "reasons": [] if isinstance(proof, OneSettingProof) else list(proof.reasons),
        },
    }


def prepare_revert(
    deployment: Deployment, name: str, *, hypothesis: Hypothesis, to: str | None, start: Start
) -> Prepared:
    """Plan a revert as the test of a hypothesis; nothing is touched yet."""
    found = knob_file(deployment, knob_named(deployment, name), start.ledger)
    return plan_revert(found, start, hypothesis, to)


def prepare_restore(
    deployment: Deployment, name: str, *, reason: str, start: Start
) -> Prepared | EditedSince:
    """Plan the way back, or say who edited the file in between; nothing is touched yet."""
    found = knob_file(deployment, knob_named(deployment, name), start.ledger)
    return plan_restore(found, start, reason)


async def make_prepared(
    prepared: Prepared, *, case: str, tools: ChangeTools, hypothesis: Hypothesis | None = None
) -> JsonObject:
    """Make a planned change; returns the answer `exonerate.change/1`."""
    if hypothesis is not None:
        add_suspect(prepared.plan, hypothesis, case=case, tools=tools)
    answer = await make_change(prepared.plan, case=case, tools=tools)
    return {**answer, "diff": prepared.proof.diff, "case": case}


def adopt(
    deployment: Deployment,
    name: str,
    *,
    backup: Path,
    hypothesis: Hypothesis,
    start: Start,
    into_case: Callable[[], str],
    tools: ChangeTools,
) -> JsonObject:
    """Take in a revert that was made before; the answer is `exonerate.change/1`.

    `into_case` gives the case to record into; it is asked only when there is something to record.
    """
    found = knob_file(deployment, knob_named(deployment, name), start.ledger)
    _refuse_known(found.standing is not None, found.knob, found.sha256, start.ledger)
    prepared = plan_adopted(found, start, backup, hypothesis)
    case = into_case()
    add_suspect(prepared.plan, hypothesis, case=case, tools=tools)
    record_done_change(prepared.plan, case=case, tools=tools)
    plan, proof = prepared.plan, prepared.proof
    return {
        "schema": "exonerate.change/1",
        "intervention": plan.id,
        "type": plan.type,
        "knob": plan.knob,
        "service": plan.service,
        "file": plan.file,
        "from": plan.was,
        "to": plan.to,
        "outcome": "committed",
        "live": plan.to,
        "why": "taken in; nothing was touched",
        "lines_removed": list(proof.lines_removed),
        "lines_added": list(proof.lines_added),
        "diff": proof.diff,
        "case": case,
    }


def hypothesis_of(
    case: Case | None, knob: Knob, *, tests: str, predict: str, reason: str
) -> Hypothesis:
    """The hypothesis that a revert tests: a suspect of the case by its id, or a new one."""
    known = {} if case is None else {suspect.id: suspect.claim for suspect in case.suspects}
    same_claim = next((i for i, claim in known.items() if claim == tests), None)
    words = "-".join(re.findall(r"[A-Za-z0-9]+", tests.lower()))[:60].strip("-")
    suspect = tests if tests in known else same_claim or words or knob.name
    return Hypothesis(
        suspect=suspect, tests=known.get(suspect, tests), predict=predict, reason=reason
    )


def add_suspect(plan: ChangePlan, hypothesis: Hypothesis, *, case: str, tools: ChangeTools) -> None:
    """Add the suspect that a change tests, unless the case has it already."""
    known = {
        str(record.body.get("id"))
        for record in tools.ledger.records(case=case)
        if record.kind == "suspect_added"
    } | {MEASUREMENT_ARTEFACT, NONE_OF_THESE}
    if hypothesis.suspect in known:
        return
    body: JsonObject = {
        "id": hypothesis.suspect,
        "claim": hypothesis.tests,
        "mechanism": f"{plan.knob} = {plan.was} makes the symptom in {plan.service}",
        "predicts": [hypothesis.predict],
        "predicted_if_false": [f"the symptom stays at {plan.knob} = {plan.to}"],
        "knob": plan.knob,
        "class": None,
    }
    tools.ledger.append(case=case, kind="suspect_added", body=tools.redactor.body(body))


def _refuse_known(stands: bool, knob: Knob, sha256: str, ledger: Ledger) -> None:
    known = {change.plan.target_sha256 for change in recorded_changes(ledger.records())}
    if stands and sha256 in known:
        raise ExonerateError(
            f"the revert of {knob.name} is on record already",
            f"see it with `exonerate knob diff {knob.name}`",
        )


async def _view(
    deployment: Deployment, knob: Knob, ledger: Ledger, read_settings: SettingsReader
) -> JsonObject:
    view: dict[str, Json] = {
        "name": knob.name,
        "service": knob.service,
        "file": knob.file,
        "form": knob.form,
        "values": list(knob.values),
        "default": knob.default,
    }
    written, live, standing, error = None, None, None, None
    try:
        content = read_bytes(Path(deployment.folder) / knob.file)
        written = effective_value(content, knob)
        live = meant_value(knob, written)
        standing = _standing(ledger, knob, content)
    except ExonerateError as problem:
        error = problem.problem
    running = await _running(knob, read_settings)
    return {
        **view,
        "written": written,
        "live": live,
        "error": error,
        "standing": standing,
        "running": running,
        "agrees": _agrees(running, written) if error is None else None,
    }


def _standing(ledger: Ledger, knob: Knob, content: bytes) -> JsonObject | None:
    records = ledger.records()
    standing = standing_revert(records, knob, content)
    if standing is None:
        return None
    change = standing.intervention
    judged = {one.id: one for case in fold_cases(records) for one in case.interventions}
    return {
        "intervention": change.id,
        "type": change.type,
        "case": change.case,
        "was": change.was,
        "since": change.done_at or change.planned_at,
        "state": judged[change.id].state,
        "why": judged[change.id].why,
    }


async def _running(knob: Knob, read_settings: SettingsReader) -> JsonObject:
    """What the processes got; `processes` is None where nothing could be read."""
    if knob.form in ("toml", "yaml", "json"):
        return {"processes": None, "why": "the service reads the file itself"}
    try:
        rows = await read_settings(knob.service, knob.name, knob.form)
    except ExonerateError as problem:
        return {"processes": None, "why": problem.problem}
    seen = [row for row in rows if not row.get("launcher")]
    if not seen:
        return {"processes": [], "why": "the service does not run"}
    return {"processes": seen, "why": None}


def _agrees(running: JsonObject, written: str | None) -> bool | None:
    """Whether every process has what the file says now; None where that is not known."""
    processes = running["processes"]
    if not isinstance(processes, list) or not processes:
        return None
    return all(process["value"] == written for process in processes)


def brief_of(prepared: Prepared, ledger: Ledger) -> RestoreBrief:
    """What is known before a planned restore is made."""
    return restore_brief(prepared.plan, prepared.proof, fold_cases(ledger.records()))
