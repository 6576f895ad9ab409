"""What became of each intervention as the test of a hypothesis.

A revert predicts that the symptom goes away. Then:

=============  ====================================================================================
active         nothing was observed yet
consistent     the symptom went away; the restart alone could explain that
confounded     it went away, but something else was changed since it was last seen
supported      it came back when the knob was applied again (A-B-A), or a randomised A/B shows it
inconclusive   the change was not made, nothing could be observed, or the symptom stayed
refuted        the symptom stayed, and `locate` convicted something else
expired        nothing was decided before its time ran out or its environment changed
=============  ====================================================================================

Rules
-----
1. Only A-B-A and A/B support. A-B-A does so only while no other fault is proved in the case, which
   could have come and gone in the same rhythm.
2. Only a conviction elsewhere with the symptom persisting, or an A/B that shows no difference,
   refutes.
3. What was decided does not expire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exonerate.core.case.answers import convictions, faults_of
from exonerate.core.case.comparisons import symptom_comparison
from exonerate.core.case.model import Case, Intervention, InterventionState, Suspect

RESTART_CONFOUND = "restart"
"""Beginning of the confound that every revert has: it makes a success `consistent` at best, but
not `confounded`."""


def judged_interventions(
    case: Case, fingerprints: Sequence[tuple[int, str]], as_of: str | None
) -> tuple[Intervention, ...]:
    """Every intervention of the case with its state and the reason for it.

    `fingerprints` are the environments seen, with the number of the record that saw them.
    """
    judged = []
    for change in case.interventions:
        state, why = _state(case, change)
        lapse = _lapse(change, fingerprints, as_of)
        if lapse is not None and state not in {"supported", "refuted"}:
            state, why = "expired", lapse
        judged.append(replace(change, state=state, why=why))
    return tuple(judged)


def tested_suspect(case: Case, change: Intervention) -> Suspect | None:
    """The suspect that the intervention tests: the one it names, else the one of its knob."""
    for suspect in case.suspects:
        if suspect.id == change.suspect:
            return suspect
    for suspect in case.suspects:
        if change.knob is not None and suspect.knob == change.knob:
            return suspect
    return None


def _state(case: Case, change: Intervention) -> tuple[InterventionState, str]:
    if change.outcome is None:
        return "active", "it was begun and its end is not on record"
    if change.outcome != "committed":
        return "inconclusive", f"the change was not made ({change.outcome})"
    proof = _randomised(case, change) or _reapplied(case, change)
    if proof is not None:
        return proof
    if _persists(case, change):
        return _after_persisting(case, change)
    if change.symptom == "gone":
        return _after_vanishing(case, change)
    if change.symptom == "unknown":
        return "inconclusive", "whether the symptom persists could not be observed"
    return "active", "nothing was observed since"


def _randomised(case: Case, change: Intervention) -> tuple[InterventionState, str] | None:
    if change.knob is None or change.type not in {"revert", "adopt"}:
        return None
    guilty = symptom_comparison(case, change.knob, suspected=change.was)
    if guilty is None:
        return None
    state: InterventionState = "supported" if guilty.worse else "refuted"
    return state, guilty.why


def _reapplied(case: Case, change: Intervention) -> tuple[InterventionState, str] | None:
    """A-B-A: the symptom went with the revert and came back when the old value did."""
    for first in case.interventions:
        again = _next_on_knob(case, first)
        if again is None or change.id not in {first.id, again.id}:
            continue
        if _is_aba(case, first, again):
            fault = _convicted_elsewhere(case, change)
            if fault is not None:
                return "confounded", f"the symptom went and came with the knob, but {fault}"
            return "supported", "the symptom went away with the revert and came back with the knob"
    return None


def _is_aba(case: Case, first: Intervention, again: Intervention) -> bool:
    went = first.symptom == "gone" and not _confounds(case, first)
    returned = again.symptom == "persists" and again.to == first.was
    return went and returned and not _confounds(case, again, since=first.observed_seq)


def _after_vanishing(case: Case, change: Intervention) -> tuple[InterventionState, str]:
    if change.type in {"apply", "restore"}:
        return "consistent", "the symptom stays away with this value too"
    confounds = _confounds(case, change)
    if confounds:
        return "confounded", f"the symptom went away, but also changed: {', '.join(confounds)}"
    again = _next_on_knob(case, change)
    if again is not None and again.to == change.was and again.symptom == "gone":
        return "inconclusive", "the symptom did not come back with the knob"
    return "consistent", "the symptom went away, which the restart alone could explain"


def _after_persisting(case: Case, change: Intervention) -> tuple[InterventionState, str]:
    fault = _convicted_elsewhere(case, change)
    if fault is not None and change.type in {"revert", "adopt"}:
        return "refuted", f"the symptom persisted, and {fault}"
    return "inconclusive", "the symptom persists, and nothing else is convicted yet"


def _convicted_elsewhere(case: Case, change: Intervention) -> str | None:
    """Which fault `locate` proved that is neither the knob's nor of the suspect's own class."""
    suspect = tested_suspect(case, change)
    for verdict in convictions(case):
        for fault in faults_of(verdict):
            own_class = suspect is not None and fault.fault_class == suspect.fault_class
            own_knob = change.knob is not None and fault.knob == change.knob
            if not own_class and not own_knob:
                return f"`{fault.fault_class}` was proved at {' and '.join(fault.hops)}"
    return None


def _persists(case: Case, change: Intervention) -> bool:
    """The symptom was seen after the change: by an observer, or by `locate` reproducing it."""
    if change.symptom == "persists":
        return True
    # A symptom that was gone and then reproduced, with the knob as it was, has not gone.
    begin = change.observed_seq if change.symptom == "gone" else change.done_seq
    following = _next_on_knob(case, change)
    end = following.planned_seq if following is not None else None
    for verdict in convictions(case):
        run = next((run for run in case.runs if run.id == verdict.run), None)
        if run is None or case.symptom is None or run.options.get("symptom") != case.symptom:
            continue
        after = begin is not None and run.seq > begin
        if after and (end is None or verdict.seq < end):
            return True
    return False


def _next_on_knob(case: Case, change: Intervention) -> Intervention | None:
    for other in case.interventions:
        later = other.planned_seq > change.planned_seq and other.outcome == "committed"
        if later and change.knob is not None and other.knob == change.knob:
            return other
    return None


def _confounds(case: Case, change: Intervention, *, since: int | None = None) -> tuple[str, ...]:
    """What else was changed between the last sight of the symptom and its going away."""
    begin = since if since is not None else _last_seen(case, change)
    end = change.observed_seq or change.planned_seq
    stated = [text for text in change.confounds if not text.startswith(RESTART_CONFOUND)]
    found = [
        other.knob or f"a restart of {other.service}"
        for other in case.interventions
        if other.outcome == "committed"
        and begin < other.planned_seq < end
        and not _same_lever(other, change)
    ]
    return (*stated, *found)


def _same_lever(other: Intervention, change: Intervention) -> bool:
    """True for changes of the same knob, and for restarts, which every revert brings along."""
    if other.knob is None:
        return other.service == change.service
    return other.knob == change.knob


def _last_seen(case: Case, change: Intervention) -> int:
    """The number of the last record before the change that saw the symptom; 0 if none did."""
    seen = [
        other.observed_seq
        for other in case.interventions
        if other.symptom == "persists"
        and other.observed_seq is not None
        and other.observed_seq < change.planned_seq
    ]
    return max(seen, default=0)


def _lapse(
    change: Intervention, fingerprints: Sequence[tuple[int, str]], as_of: str | None
) -> str | None:
    if change.outcome != "committed":
        return None
    if change.expires_at is not None and as_of is not None and change.expires_at <= as_of:
        return f"its time ran out on {change.expires_at}"
    later = [print_ for seq, print_ in fingerprints if seq > change.planned_seq]
    if change.fingerprint is not None and later and later[-1] != change.fingerprint:
        return "the environment it was made in has changed since"
    return None
