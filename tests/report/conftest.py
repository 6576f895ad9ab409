"""The founding case as records, as jobs write them, and the story told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest

from exonerate.core.case.fold import fold_case
from exonerate.core.case.model import Case
from exonerate.core.case.records import GENESIS_HASH, Record, RecordKind, record_hash
from exonerate.core.documents.answer import reading_json
from exonerate.core.json_types import Json, JsonObject
from exonerate.jobs.read import read_documents
from exonerate.report.story import Story, tell

CASE = "c-2025-11"
KNOB = "SGLANG_SM120_MMA_TARGET_CTAS"
NOW = "2025-12-02T18:20:00.000000Z"
DOCUMENT = Path(__file__).parents[1] / "data" / "documents" / "DSV4_DECODE_PERF_PLAN.md"


def _bars(
    lane: str, label: str, count: int, *, first: float, every: float, state: str
) -> list[Json]:
    """Bars of half a second; `{}` in the label is their number."""
    return [
        {
            "lane": lane,
            "label": label.format(turn + 1),
            "begin_s": first + every * turn,
            "end_s": first + every * turn + 0.45,
            "state": state,
        }
        for turn in range(count)
    ]


TIMELINE: list[Json] = [
    *_bars("through edge, reused 1", "round {}", 3, first=0.4, every=0.9, state="ok"),
    *_bars("through edge, reused 2", "round {}", 3, first=0.6, every=0.9, state="ok"),
    {
        "lane": "through edge, reused 1",
        "label": "round 4: no byte came back",
        "begin_s": 3.1,
        "end_s": 14.0,
        "state": "hung",
    },
    {
        "lane": "through edge, reused 2",
        "label": "round 4: no byte came back",
        "begin_s": 3.3,
        "end_s": 14.0,
        "state": "hung",
    },
    *_bars("through edge, fresh", "{}", 4, first=5.0, every=2.0, state="ok"),
    *_bars("direct to engine", "{}", 5, first=5.6, every=1.7, state="ok"),
    *_bars("engine: requests running", "1", 3, first=0.4, every=0.9, state="busy"),
    {
        "lane": "engine: requests running",
        "label": "0 in 12 of 12 samples",
        "begin_s": 3.0,
        "end_s": 14.0,
        "state": "idle",
    },
    {
        "lane": "edge → engine, bytes",
        "label": "3 × 512",
        "begin_s": 0.4,
        "end_s": 2.9,
        "state": "rising",
    },
    {
        "lane": "edge → engine, bytes",
        "label": "no byte of round 4",
        "begin_s": 3.0,
        "end_s": 14.0,
        "state": "flat",
    },
]

VERDICT: dict[str, Json] = {
    "schema": "exonerate.verdict/1",
    "outcome": "fault",
    "faults": [
        {
            "layer": "proxy",
            "hops": ["edge"],
            "class": "drops-requests",
            "details": {"scope": "socket", "after_requests": 3},
            "confidence": 0.99,
            "evidence": [
                "round 4 of 2 reused sessions through edge hung; edge sent 0 bytes of it upstream",
                "4 fresh connections through edge answered in 62 to 71 ms while the session hung",
                "requests running stayed 0 at the engine in 12 of 12 samples during the wait",
            ],
        }
    ],
    "explanation": None,
    "cleared": [
        {
            "hop": "engine",
            "why": "answered 5 of 5 direct requests in 58 ms (p50) while the client waited",
        },
        {
            "knob": KNOB,
            "why": "a slow kernel keeps the engine busy; it was idle for the whole wait",
        },
    ],
    "not_examined": ["TLS between client and edge (none in this deployment)"],
    "next": [
        "replace or repair edge, then run `exonerate locate` again",
        f"exonerate knob restore {KNOB} --dry-run",
    ],
    "elapsed_s": 21.4,
    "suspects": [
        {
            "class": "drops-requests",
            "layer": "proxy",
            "hop": "edge",
            "posterior": 0.991,
            "contradicted_by": [],
            "predicted": ["round 4 of a reused connection hangs"],
        },
        {
            "class": "stale-reuse",
            "layer": "boundary",
            "hop": "edge/engine",
            "posterior": 0.006,
            "contradicted_by": ["o4", "o5"],
            "predicted": ["a reset after idle"],
        },
        {
            "class": "slow-kernel",
            "layer": "engine",
            "hop": "engine",
            "posterior": 0.0004,
            "contradicted_by": ["o1", "o3"],
            "predicted": ["requests running > 0 during the wait"],
        },
    ],
    "observations": [
        {"id": "o1", "text": "engine: requests running 0, waiting 0 during round 4", "at_s": 7.2},
        {"id": "o2", "text": "fresh connection through edge answered in 64 ms", "at_s": 9.1},
        {"id": "o3", "text": "direct request to engine answered in 58 ms", "at_s": 9.2},
        {"id": "o4", "text": "edge: 512 bytes from the client, 0 bytes to the engine", "at_s": 9.6},
        {"id": "o5", "text": "no reset and no FIN on the hung socket", "at_s": 12.0},
    ],
    "timeline": TIMELINE,
}

COMPARISON: dict[str, Json] = {
    "schema": "exonerate.comparison/1",
    "arms": ["256", "512"],
    "blocks": 5,
    "knob": KNOB,
    "metric": "output_tokens_per_s",
    "cells": [
        {
            "cell": cell,
            "baseline": base,
            "candidate": new,
            "effect": new / base - 1,
            "ci": [new / base - 1 - half, new / base - 1 + half],
            "level": 0.95,
            "verdict": verdict,
            "why": why,
        }
        for cell, base, new, half, verdict, why in (
            (48, 684.7, 682.9, 0.012, "flat", "the 90 % interval lies within ±2 %"),
            (64, 719.5, 805.2, 0.031, "better", "surely material"),
            (80, 833.0, 843.9, 0.019, "undecided", "3 more blocks would settle it"),
            (96, 799.3, 846.0, 0.022, "better", "surely material"),
        )
    ],
    "primary": {
        "cells": [64, 80, 96],
        "effect": 0.063,
        "ci": [0.041, 0.085],
        "verdict": "better",
    },
    "anomalies": [
        {
            "arm": "256",
            "cells": [80, 96],
            "drop": 0.041,
            "verdict": "anomaly",
            "removed_by": "512",
        }
    ],
    "instrument": {"client_bound": False, "cpu_share": 0.06, "lag_ms_p99": 0.8},
}

CURE: dict[str, Json] = {
    "schema": "exonerate.cure/1",
    "fault": "proxy edge",
    "knob": KNOB,
    "corners": [
        {
            "fault": fault,
            "knob": knob,
            "completed": fault == "repaired",
            "rounds": 8 if fault == "repaired" else 3,
            "of": 8,
            "detail": "",
        }
        for fault in ("faulty", "repaired")
        for knob in ("reverted (256)", "restored (512)")
    ],
    "why": "The harness completes with the repaired proxy whatever the knob is.",
}

DEBT: dict[str, Json] = {
    "schema": "exonerate.debt/1",
    "items": [
        {
            "knob": KNOB,
            "live": "256",
            "was": "512",
            "since": "2025-11-27",
            "hypothesis": "the split-K combine hangs decode",
            "state": "refuted",
            "price": [
                {"cell": 64, "loss": 0.106, "ci": [0.079, 0.133], "grade": "A"},
                {"cell": 96, "loss": 0.055, "ci": None, "grade": "D"},
            ],
            "class": "priced",
            "why_listed": "its reason was refuted and it still stands",
        }
    ],
}


def entries(text: str | None = None) -> list[tuple[RecordKind, str, dict[str, Json]]]:
    """The records of the case; `text` replaces what people and documents say."""
    reading = reading_json(read_documents([DOCUMENT]))
    claim = text or "The split-K knob hangs decode"
    said = text or "The 512 line was put in last week; take it out again"
    verdicts: list[tuple[str, dict[str, Json], str]] = [
        ("locate", VERDICT, "2025-12-01T12:00:22Z"),
        ("ab", COMPARISON, "2025-12-02T17:00:00Z"),
        ("cure", CURE, "2025-12-02T18:00:00Z"),
    ]
    answers = {job: everywhere(answer, text) if text else answer for job, answer, _ in verdicts}
    suspect: dict[str, Json] = {
        "id": "s-knob",
        "claim": claim,
        "mechanism": text or "a combine that never ends",
        "predicts": ["requests running > 0 during the hang"],
        "predicted_if_false": ["the engine is idle"],
        "knob": text or KNOB,
    }
    statement: dict[str, Json] = {
        "id": "e-said",
        "type": "statement",
        "source": text or "chat",
        "grade": "E",
        "statement": said,
        "by": text or "on-call",
        "raises": ["s-knob"],
    }
    revert: dict[str, Json] = {
        "id": "i-1",
        "type": "revert",
        "knob": text or KNOB,
        "service": text or "decode",
        "from": text or "512",
        "to": text or "256",
        "purpose": f"test: {claim}",
        "prediction": text or "the harness completes 8 rounds",
        "confounds": [text or "restart of decode"],
        "suspect": "s-knob",
    }
    observed: dict[str, Json] = {
        "id": "e-persists",
        "type": "observation",
        "source": text or "harness",
        "grade": "C",
        "text": text or "the harness wedges in round 4 with 256 as well",
    }
    document: dict[str, Json] = {
        "id": "e-doc",
        "type": "document",
        "source": text or "DSV4_DECODE_PERF_PLAN.md",
        "sha256": text or "580accf965eb",
        "grade": "D",
        "group": text or "table-b80515719832",
        "reading": everywhere(reading, text) if text else reading,
    }
    rated = {
        "suspect": "s-knob",
        "evidence": "e-persists",
        "fit": "II",
        "why": "not 512",
        "by": "rule",
    }
    opened = {
        "title": text or "Agent harness wedges after a few rounds",
        "symptom": text or "hang",
        "deployment": text or "dsv4",
    }
    day = "2025-11-27T"
    done: dict[str, Json] = {"id": "i-1", "outcome": "committed", "live": text or "256"}
    options: dict[str, Json] = {
        "job": "locate",
        "rules": "1",
        "options": {"symptom": opened["symptom"]},
    }
    return [
        ("case_opened", f"{day}08:00:00Z", {**opened}),
        ("suspect_added", f"{day}08:05:00Z", suspect),
        ("evidence_added", f"{day}08:10:00Z", statement),
        ("intervention_planned", f"{day}09:00:00Z", revert),
        (
            "intervention_done",
            f"{day}09:04:00Z",
            done,
        ),
        ("evidence_added", f"{day}09:30:00Z", observed),
        ("intervention_observed", f"{day}09:31:00Z", {"id": "i-1", "symptom": "persists"}),
        ("evidence_added", "2025-11-28T10:00:00Z", document),
        ("rating_added", "2025-11-28T10:05:00Z", {**rated}),
        ("rating_added", "2025-11-28T10:05:00Z", {**rated, "evidence": "e-said", "fit": "C"}),
        ("run_started", "2025-12-01T12:00:00Z", options),
        *(
            ("verdict", at, {"id": f"v-{job}", "job": job, "rules": "1", "answer": answers[job]})
            for job, _, at in verdicts
        ),
        (
            "comment",
            "2025-12-02T18:10:00Z",
            {"text": text or "edge was replaced this afternoon", "by": text or "on-call"},
        ),
    ]


def chained(lines: Sequence[tuple[RecordKind, str, JsonObject]]) -> list[Record]:
    """The lines as records, each with its hash and link."""
    records: list[Record] = []
    for seq, (kind, at, body) in enumerate(lines, start=1):
        assert kind in get_args(RecordKind)
        prev = records[-1].hash if records else GENESIS_HASH
        run = "r-1" if kind == "run_started" or body.get("id") == "v-locate" else None
        digest = record_hash(seq=seq, case=CASE, run=run, kind=kind, at=at, body=body, prev=prev)
        records.append(
            Record(seq=seq, case=CASE, kind=kind, at=at, body=body, prev=prev, hash=digest, run=run)
        )
    return records


KEPT = ("fault", "better", "anomaly", "A", "D")


def everywhere(value: Json, text: str) -> Json:
    """The JSON with that text in place of every text in it but the words that rules know."""
    if isinstance(value, str):
        return value if value.startswith("exonerate.") or value in KEPT else text
    if isinstance(value, Mapping):
        return {key: everywhere(inner, text) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [everywhere(inner, text) for inner in value]
    return value


@pytest.fixture
def case() -> Case:
    """The founding case, folded."""
    return fold_case(chained(entries()), CASE)


@pytest.fixture
def story(case: Case) -> Story:
    """The story of the founding case with its debt."""
    return tell(case, now=NOW, debt=DEBT)


@pytest.fixture
def tell_with() -> Callable[[str], Story]:
    """Tells the case with one text in place of everything that people and documents say."""

    def told(text: str) -> Story:
        debt = everywhere(DEBT, text)
        assert isinstance(debt, Mapping)
        return tell(fold_case(chained(entries(text)), CASE), now=NOW, debt=debt)

    return told


@pytest.fixture
def verdict_answer() -> dict[str, Json]:
    """The verdict of `locate` in the founding case."""
    return dict(VERDICT)


@pytest.fixture
def reading_answer() -> dict[str, Json]:
    """The reading of the founding document."""
    return reading_json(read_documents([DOCUMENT]))
