"""The records of the ledger: append-only, chained by hash.

Rules
-----
1. Nothing is edited; states are folded from records (`core.case.fold`).
2. `hash` covers every other field and the hash of the record before it, so one changed byte
   breaks the chain from there on.
3. A body passes the allow-list (`core.case.redaction`) before it is hashed or stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from exonerate.core.json_types import JsonObject

RecordKind: TypeAlias = Literal[
    "case_opened",  # {title, symptom, deployment}
    "case_closed",  # {why}
    "suspect_added",  # {id, claim, mechanism, predicts[], predicted_if_false[], knob|class|null}
    "evidence_added",  # {id, type, source, sha256, observed_at, restarts, design, grade, group...}
    "rating_added",  # {suspect, evidence, fit: CC|C|N|I|II|NA, why, by: rule|human|llm}
    "run_started",  # {job, rules, seed, budget_s, deployment, options}
    "scene_planned",  # {scene}: the intent, before the world is touched
    "scene_played",  # {scene: id, events: [...]}
    "verdict",  # {id, job, rules, answer}: computed from the run's records, never typed in
    "intervention_planned",  # {id, type, knob, service, from, to, purpose, prediction, confounds}
    "intervention_step",  # {id, step, ...}: the journal of one change
    "intervention_done",  # {id, outcome: committed|rolled-back|rollback-failed|refused, live}
    "intervention_observed",  # {id, symptom: gone|persists|unknown, evidence}
    "comment",  # {text, by}
]

RECORD_KINDS: frozenset[str] = frozenset(get_args(RecordKind))
GENESIS_HASH = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of the ledger. `at` is UTC wall time, ISO 8601; `run` groups one job's records."""

    seq: int
    case: str
    kind: RecordKind
    at: str
    body: JsonObject
    prev: str
    hash: str
    run: str | None = None


def canonical_json(value: object) -> bytes:
    """The one byte string of a JSON value: sorted keys, no spaces, no NaN."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def record_hash(
    *, seq: int, case: str, run: str | None, kind: str, at: str, body: JsonObject, prev: str
) -> str:
    """Hex SHA-256 over every field of a record but its own hash."""
    fields = {
        "seq": seq,
        "case": case,
        "run": run,
        "kind": kind,
        "at": at,
        "body": body,
        "prev": prev,
    }
    return hashlib.sha256(canonical_json(fields)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCheck:
    """How far a ledger is what was written into it.

    `sound` are the records before the first bad one; `first_bad` is its number, None when the
    chain is whole; `records` counts every row that could be read.
    """

    sound: tuple[Record, ...]
    first_bad: int | None
    records: int


def follows(record: Record, previous: Record | None) -> bool:
    """True when the record is unaltered and continues the chain after `previous`."""
    computed = record_hash(
        seq=record.seq,
        case=record.case,
        run=record.run,
        kind=record.kind,
        at=record.at,
        body=record.body,
        prev=record.prev,
    )
    if previous is None:
        linked = record.seq == 1 and record.prev == GENESIS_HASH
    else:
        linked = record.seq == previous.seq + 1 and record.prev == previous.hash
    return linked and computed == record.hash


def first_broken(records: Iterable[Record]) -> int | None:
    """The `seq` of the first record whose hash, link or number is wrong, or None."""
    previous: Record | None = None
    for record in records:
        if not follows(record, previous):
            return record.seq
        previous = record
    return None
