"""Plans changes of one knob: a revert as the test of a hypothesis, a restore, an adopted revert.

Nothing is touched here; `jobs.change_run` makes what these functions plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exonerate.core.change.history import RecordedChange, every_sha256
from exonerate.core.change.one_setting import (
    OneSettingProof,
    Refusal,
    prove_one_setting,
    unified_diff,
)
from exonerate.core.change.plan import ChangePlan, ChangeType, smoke_of
from exonerate.core.change.restored import restored_bytes
from exonerate.core.deployment.knobs import effective_value, meant_value, with_value, written_value
from exonerate.core.deployment.model import Deployment
from exonerate.core.ports import Ledger
from exonerate.errors import ExonerateError
from exonerate.jobs.knob_files import KnobFile, read_bytes

RESTART_CONFOUND = "restart"
HAND_EDIT_CONFOUND = "the file was edited by hand since the last recorded change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What a revert tests: the suspect (its id, and what it claims), what is predicted, and why."""

    suspect: str
    tests: str
    predict: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A planned change with the proof that it is one setting."""

    plan: ChangePlan
    proof: OneSettingProof


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedSince:
    """Why a restore stops: the file is not what the last recorded change left.

    `recorded_diff` leads from the bytes before the revert to those after it, `edit_diff` from
    those to the file as it is now. The two are shown beside each other and never merged.
    """

    file: str
    recorded_diff: str
    edit_diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What every plan needs beside the knob: an id, the deployment, and where bytes are kept."""

    id: str
    deployment: Deployment
    ledger: Ledger
    restart: bool = True


def plan_revert(found: KnobFile, start: Start, hypothesis: Hypothesis, to: str | None) -> Prepared:
    """Set the knob to another value, as the test of a hypothesis.

    Raises:
        ExonerateError: no such value, it is live already, or the edit cannot be proved.
    """
    target_value = _revert_value(found, to)
    target = with_value(found.content, found.knob, written_value(found.knob, target_value))
    proof = _proved(found, target)
    confounds = [RESTART_CONFOUND] if start.restart else []
    confounds += [HAND_EDIT_CONFOUND] if found.edited_since else []
    return Prepared(
        plan=_plan(
            found,
            start,
            kind="revert",
            contents=(found.content, target),
            purpose=f"tests {hypothesis.tests}",
            prediction=hypothesis.predict,
            confounds=tuple(confounds),
            reason=hypothesis.reason,
            suspect=hypothesis.suspect,
        ),
        proof=proof,
    )


def plan_restore(found: KnobFile, start: Start, reason: str) -> Prepared | EditedSince:
    """Give the knob the value back that the standing revert took.

    Raises:
        ExonerateError: no revert stands, its bytes are lost, or no proved edit leads back.
    """
    change = _standing_change(found)
    base = start.ledger.get_blob(change.plan.base_sha256)
    reverted = start.ledger.get_blob(change.plan.target_sha256)
    if found.edited_since:
        assert found.recorded_sha256 is not None
        left = start.ledger.get_blob(found.recorded_sha256)
        return EditedSince(
            file=str(found.path),
            recorded_diff=unified_diff(base, left, names=("before the revert", "recorded")),
            edit_diff=unified_diff(left, found.content, names=("recorded", "live")),
        )
    target = restored_bytes(
        found.content,
        found.knob,
        base=base,
        reverted=reverted,
        value=change.plan.file_was,
        recorded=_recorded_bytes(found, start.ledger),
    )
    if target is None:
        raise ExonerateError(
            f"no edit of `{found.path}` is proved to give back {found.knob.name} and nothing else",
            f"compare with `exonerate knob diff {found.knob.name}` and edit the file by hand",
        )
    return Prepared(
        plan=_plan(
            found,
            start,
            kind="restore",
            contents=(found.content, target),
            purpose=f"gives back what {change.plan.id} took",
            prediction="the symptom does not come back with the value",
            confounds=(RESTART_CONFOUND,) if start.restart else (),
            reason=reason,
            suspect=change.plan.suspect,
            undoes=change.plan.id,
        ),
        proof=_proved(found, target),
    )


def plan_adopted(found: KnobFile, start: Start, backup: Path, hypothesis: Hypothesis) -> Prepared:
    """Take in a revert that was made before: the file as it was, and as it is.

    Raises:
        ExonerateError: the two files differ in more than the one setting.
    """
    was = read_bytes(backup)
    proof = prove_one_setting(was, found.content, found.knob)
    if isinstance(proof, Refusal):
        raise _not_one_setting(f"`{backup}` and `{found.path}`", proof)
    return Prepared(
        plan=_plan(
            found,
            start,
            kind="adopt",
            contents=(was, found.content),
            purpose=f"taken in from `{backup.name}`: tests {hypothesis.tests}",
            prediction=hypothesis.predict,
            confounds=("made before it was recorded: what else changed then is not known",),
            reason=hypothesis.reason,
            suspect=hypothesis.suspect,
        ),
        proof=proof,
    )


def _plan(
    found: KnobFile,
    start: Start,
    *,
    kind: ChangeType,
    contents: tuple[bytes, bytes],
    purpose: str,
    prediction: str,
    confounds: tuple[str, ...],
    reason: str,
    suspect: str | None,
    undoes: str | None = None,
) -> ChangePlan:
    values = [effective_value(content, found.knob) for content in contents]
    sums = [start.ledger.put_blob(content) for content in contents]
    return ChangePlan(
        id=start.id,
        type=kind,
        knob=found.knob.name,
        service=found.service.name,
        form=found.knob.form,
        file=str(found.path),
        was=meant_value(found.knob, values[0]),
        to=meant_value(found.knob, values[1]),
        file_was=values[0],
        file_to=values[1],
        base_sha256=sums[0],
        target_sha256=sums[1],
        restart=start.restart and kind != "adopt",
        ready_timeout_s=found.service.ready_timeout_s,
        smoke=smoke_of(start.deployment, found.service),
        purpose=purpose,
        prediction=prediction,
        confounds=confounds,
        reason=reason,
        suspect=suspect,
        undoes=undoes,
    )


def _revert_value(found: KnobFile, to: str | None) -> str:
    knob = found.knob
    live = meant_value(knob, effective_value(found.content, knob))
    others = [value for value in knob.values if value != live]
    target = to if to is not None else knob.default
    if target is None and len(others) == 1:
        target = others[0]
    if target is None:
        raise ExonerateError(
            f"it is not said what {knob.name} shall be reverted to", "name the value with `--to`"
        )
    if knob.values and target not in knob.values and target != knob.default:
        raise ExonerateError(
            f"{target} is none of the values of {knob.name} ({', '.join(knob.values)})",
            "name one of them, or add it to `values` in the deployment file",
        )
    if target == live:
        raise ExonerateError(
            f"{knob.name} is {live} already", "nothing has to be reverted; see `knob list`"
        )
    return target


def _standing_change(found: KnobFile) -> RecordedChange:
    name = found.knob.name
    standing = found.standing
    if standing is None:
        raise ExonerateError(
            f"no revert of {name} stands on record",
            f"take in an earlier one with `exonerate knob adopt {name} --was FILE.bak`",
        )
    identity = standing.intervention.id
    change = next((one for one in found.changes if one.plan.id == identity), None)
    if change is None:
        raise ExonerateError(
            f"the bytes before {identity} are not on record", "restore the file by hand"
        )
    return change


def _recorded_bytes(found: KnobFile, ledger: Ledger) -> list[bytes]:
    states = []
    for sha256 in every_sha256(found.changes, str(found.path)):
        try:
            states.append(ledger.get_blob(sha256))
        except ExonerateError:
            # A lost state is one candidate fewer; the proof does not rest on it.
            continue
    return states


def _proved(found: KnobFile, target: bytes) -> OneSettingProof:
    proof = prove_one_setting(found.content, target, found.knob)
    if isinstance(proof, Refusal):
        raise _not_one_setting(f"the change of `{found.path}`", proof)
    return proof


def _not_one_setting(what: str, refusal: Refusal) -> ExonerateError:
    reasons = "; ".join(refusal.reasons)
    shown = f"\n{refusal.diff}" if refusal.diff else ""
    return ExonerateError(
        f"{what}: not proved to differ in one setting only: {reasons}",
        f"only a change of one setting is made or taken in{shown}",
    )
