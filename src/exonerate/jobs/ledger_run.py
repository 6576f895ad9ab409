"""The one driver of every job: decide, write the intent down, play, write down what was seen.

Rules
-----
1. The decider sees only the records of its run that this driver wrote (`DRIVEN_KINDS`). That is
   what makes `verify` possible: the same records must lead to the same scenes and verdict.
2. A scene is on the disk before it is played. When playing is interrupted, what was seen so far is
   recorded if the player hands it over (attribute `events` of the exception); the interruption
   goes on in any case, and the ledger folds.
3. A run has a limit on its scenes. A decider that goes past it is a defect, not a long case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from exonerate.core.case.records import (
    ChainCheck,
    Record,
    RecordKind,
    canonical_json,
)
from exonerate.core.case.redaction import Redactor
from exonerate.core.case.verdict import Verdict
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Ledger, Player, Progress
from exonerate.core.scene import Event, Scene
from exonerate.core.scene_json import event_to_json, scene_to_json

Decider: TypeAlias = Callable[[Sequence[Record]], Scene | Verdict]
Deciders: TypeAlias = Mapping[tuple[str, str], Decider]
"""Deciders by job and version of its rules."""

DRIVEN_KINDS: frozenset[RecordKind] = frozenset({"run_started", "scene_planned", "scene_played"})
SCENES_MAX = 200

_VERIFIER = Redactor(b"", None)
_HASH = re.compile(rb"hmac:[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """What a run begins with; everything that its decider may know stands in here."""

    case: str
    run: str
    job: str
    rules: str
    seed: int
    options: JsonObject = field(default_factory=dict)
    deployment: JsonObject | None = None
    budget_s: float | None = None
    fingerprint: str | None = None
    scenes_max: int = SCENES_MAX


async def drive(
    decide: Decider,
    *,
    run: RunStart,
    ledger: Ledger,
    player: Player,
    redactor: Redactor,
    progress: Progress,
) -> JsonObject:
    """Play scenes until the decider has its verdict; returns the answer as it was recorded.

    Raises:
        ExonerateError: the ledger cannot be written; what was recorded before stays.
    """
    journal = _Journal(run, ledger, redactor)
    journal.write("run_started", _opening(run))
    return await _go_on(decide, journal, player, progress)


async def resume(
    decide: Decider,
    records: Sequence[Record],
    *,
    ledger: Ledger,
    player: Player,
    redactor: Redactor,
    progress: Progress,
) -> JsonObject:
    """Go on with a run that was cut off, from its own records (the first is `run_started`).

    A scene that was planned and not played stays so: its decider sees that it was cut off.
    """
    journal = _Journal.taken_up(records, ledger, redactor)
    return await _go_on(decide, journal, player, progress)


async def wind_up(
    decide: Decider,
    records: Sequence[Record],
    *,
    ledger: Ledger,
    player: Player,
    redactor: Redactor,
    progress: Progress,
) -> JsonObject:
    """Bring a run that was cut off to its verdict, beginning nothing new.

    As `resume`; but where no scene was under way, the next one is planned and not played, which
    tells the decider that the run was cut off there, in a way that `verify` can follow.
    """
    journal = _Journal.taken_up(records, ledger, redactor)
    decided = decide(tuple(journal.records))
    if journal.records[-1].kind != "scene_planned" and isinstance(decided, Scene):
        journal.plan(decided)
    return await _go_on(decide, journal, player, progress)


async def _go_on(
    decide: Decider, journal: _Journal, player: Player, progress: Progress
) -> JsonObject:
    decided = decide(tuple(journal.records))
    for _ in range(journal.run.scenes_max):
        if isinstance(decided, Verdict):
            break
        journal.plan(decided)
        await _play(decided, journal, player, progress)
        decided = decide(tuple(journal.records))
    if isinstance(decided, Verdict):
        return journal.conclude(decided)
    raise AssertionError(
        f"{journal.run.job} wants more than {journal.run.scenes_max} scenes in {journal.run.run}"
    )


def verify(chain: ChainCheck, deciders: Deciders) -> JsonObject:
    """The verification (`exonerate.verification/1`) of a ledger: its chain, and every run again.

    A verdict whose rules no decider knows any more is neither the same nor another: `null`.
    The key of the ledger is not needed, so that a copy without it can be verified too: hashes
    of secrets are compared by their places, the chain vouches for their values. Records that were
    cut off at the end leave a whole chain; `head`, noted elsewhere, shows that they are missing.
    """
    runs: dict[str, list[Record]] = {}
    verdicts: list[JsonObject] = []
    for record in chain.sound:
        if record.run is not None:
            runs.setdefault(record.run, []).append(record)
        elif record.kind == "verdict":
            verdicts.append(_unknown(record, "it belongs to no run"))
    unfinished: list[JsonObject] = []
    for name, records in runs.items():
        own, is_finished = _refold(records, deciders)
        (verdicts if is_finished else unfinished).append({**own, "run": name})
    return {
        "schema": "exonerate.verification/1",
        "records": chain.records,
        "chain": "ok" if chain.first_bad is None else "broken",
        "first_bad": chain.first_bad,
        "head": chain.sound[-1].hash if chain.sound else None,
        "verdicts": verdicts,
        "unfinished_runs": unfinished,
    }


class _Journal:
    """The records of one run, written and remembered."""

    def __init__(self, run: RunStart, ledger: Ledger, redactor: Redactor) -> None:
        self.run = run
        self.records: list[Record] = []
        self._ledger = ledger
        self._redactor = redactor
        self._scenes: set[str] = set()

    @classmethod
    def taken_up(cls, records: Sequence[Record], ledger: Ledger, redactor: Redactor) -> _Journal:
        """The journal of a run that was cut off, as far as it was written."""
        begin = records[0]
        assert begin.kind == "run_started"
        assert begin.run is not None
        run = RunStart(
            case=begin.case,
            run=begin.run,
            job=str(begin.body["job"]),
            rules=str(begin.body["rules"]),
            seed=int(str(begin.body["seed"])),
            scenes_max=int(str(begin.body.get("scenes_max", SCENES_MAX))),
        )
        journal = cls(run, ledger, redactor)
        journal.records = [record for record in records if record.kind in DRIVEN_KINDS]
        for record in journal.records:
            scene = record.body.get("scene")
            if record.kind == "scene_planned" and isinstance(scene, Mapping):
                journal._scenes.add(str(scene["id"]))
        return journal

    def write(self, kind: RecordKind, body: JsonObject) -> Record:
        """Redact and append one record, and show it to the decider from now on."""
        record = self._ledger.append(
            case=self.run.case, kind=kind, body=self._redactor.body(body), run=self.run.run
        )
        if kind in DRIVEN_KINDS:
            self.records.append(record)
        return record

    def plan(self, scene: Scene) -> None:
        """Write the intent down."""
        assert scene.id not in self._scenes, f"scene {scene.id} was planned twice"
        self._scenes.add(scene.id)
        self.write("scene_planned", {"scene": scene_to_json(scene)})

    def played(self, scene: Scene, events: Sequence[Event], *, interrupted: bool) -> None:
        """Write down what was seen."""
        seen: JsonObject = {
            "scene": scene.id,
            "events": [event_to_json(event) for event in events],
        }
        self.write("scene_played", {**seen, "interrupted": True} if interrupted else seen)

    def conclude(self, verdict: Verdict) -> JsonObject:
        """Write the verdict down; returns its answer as recorded."""
        body = _verdict_body(verdict, self.run.run)
        answer = self.write("verdict", body).body["answer"]
        assert isinstance(answer, Mapping)
        return answer


async def _play(scene: Scene, journal: _Journal, player: Player, progress: Progress) -> None:
    try:
        events = await player.play(scene, progress)
    except BaseException as interruption:
        seen = getattr(interruption, "events", None)
        if seen is not None:
            journal.played(scene, seen, interrupted=True)
        raise
    journal.played(scene, events, interrupted=False)


def _opening(run: RunStart) -> JsonObject:
    return {
        "job": run.job,
        "rules": run.rules,
        "seed": run.seed,
        "budget_s": run.budget_s,
        "deployment": run.deployment,
        "options": run.options,
        "fingerprint": run.fingerprint,
        "scenes_max": run.scenes_max,
    }


def _verdict_body(verdict: Verdict, run: str) -> JsonObject:
    return {
        "id": f"{run}-verdict",
        "job": verdict.job,
        "rules": verdict.rules,
        "answer": verdict.answer,
    }


def _refold(records: Sequence[Record], deciders: Deciders) -> tuple[JsonObject, bool]:
    """What deciding again says of one run, and whether the run came to a verdict."""
    verdict = next((record for record in records if record.kind == "verdict"), None)
    begin = records[0].body if records[0].kind == "run_started" else None
    name = {"id": verdict.body.get("id")} if verdict is not None else {}
    if begin is None:
        return {**name, "same": None, "why": "its run has no beginning on record"}, bool(verdict)
    job, rules = str(begin.get("job")), str(begin.get("rules"))
    decide = deciders.get((job, rules))
    if decide is None:
        why = f"this version cannot decide `{job}` by rules {rules}"
        return {**name, "same": None, "why": why}, bool(verdict)
    difference = _difference(records, decide)
    return {**name, "same": difference is None, "why": difference}, bool(verdict)


def _difference(records: Sequence[Record], decide: Decider) -> str | None:
    """Where deciding again parts from the record, or None when it never does."""
    seen: list[Record] = []
    for record in records:
        if record.kind in {"scene_planned", "verdict"}:
            decided = decide(tuple(seen))
            if not _is_recorded(decided, record):
                return f"record {record.seq} ({record.kind}) does not follow from those before it"
        if record.kind in DRIVEN_KINDS:
            seen.append(record)
    return None


def _is_recorded(decided: Scene | Verdict, record: Record) -> bool:
    body: JsonObject
    if isinstance(decided, Scene):
        kind, body = "scene_planned", {"scene": scene_to_json(decided)}
    else:
        kind, body = "verdict", _verdict_body(decided, str(record.run))
    if kind != record.kind:
        return False
    recorded = {key: record.body.get(key) for key in body}
    return _without_hashes(_VERIFIER.body(body)) == _without_hashes(recorded)


def _without_hashes(body: JsonObject) -> bytes:
    return _HASH.sub(b"hmac:", canonical_json(body))


def _unknown(record: Record, why: str) -> JsonObject:
    return {"id": record.body.get("id"), "same": None, "why": why}
