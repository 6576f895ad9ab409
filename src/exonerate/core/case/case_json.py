"""A folded case as JSON (`exonerate.case/1`), as `case show --json` prints it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from exonerate.core.case.model import Case
from exonerate.core.json_types import Json, JsonObject

SCHEMA = "exonerate.case/1"


def case_json(case: Case) -> JsonObject:
    """The whole case; keys are the names of the fields of `core.case.model`."""
    return {
        "schema": SCHEMA,
        "open": case.is_open,
        "unfinished": case.is_unfinished,
        **_fields(case),
    }


def cases_json(cases: tuple[Case, ...]) -> JsonObject:
    """The list of cases (`exonerate.cases/1`), one line each."""
    return {
        "schema": "exonerate.cases/1",
        "cases": [
            {
                "id": case.id,
                "title": case.title,
                "symptom": case.symptom,
                "deployment": case.deployment,
                "opened_at": case.opened_at,
                "closed_at": case.closed_at,
                "open": case.is_open,
                "unfinished": case.is_unfinished,
                "open_intents": [change.id for change in case.open_intents],
                "unplayed_scenes": [scene.scene for scene in case.unplayed],
                "suspects": {suspect.id: suspect.state for suspect in case.suspects},
                "verdicts": [verdict.id for verdict in case.verdicts],
            }
            for case in cases
        ],
    }


def _fields(value: object) -> dict[str, Json]:
    assert dataclasses.is_dataclass(value)
    return {field.name: _json(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _json(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_json(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return _fields(value)
