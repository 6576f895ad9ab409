"""The chain of records: whatever is changed in one, it is found there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from exonerate.core.case.records import (
    GENESIS_HASH,
    RECORD_KINDS,
    Record,
    canonical_json,
    first_broken,
)

Chain = Callable[..., list[Record]]


@pytest.fixture
def records(chain: Chain) -> list[Record]:
    """Four sound records."""
    return chain([("comment", {"n": number}, "r1") for number in range(4)])


def test_untouched_chain_is_whole(records: list[Record]) -> None:
    """Records as they were appended have no first broken one; nor has an empty ledger."""
    assert first_broken(records) is None
    assert first_broken([]) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"body": {"n": 9}},
        {"at": "2026-01-01T00:00:09.000000Z"},
        {"case": "c9"},
        {"run": None},
        {"kind": "verdict"},
        {"prev": GENESIS_HASH},
        {"hash": "f" * 64},
        {"seq": 9},
    ],
)
def test_any_changed_field_breaks_the_chain(records: list[Record], changed: dict[str, Any]) -> None:
    """Every field of a record is covered by its hash."""
    records[2] = replace(records[2], **changed)
    assert first_broken(records) == changed.get("seq", 3)


def test_missing_swapped_and_foreign_records_break_the_chain(
    records: list[Record], chain: Chain
) -> None:
    """Taking one out, swapping two or starting in the middle is noticed at the first wrong one."""
    assert first_broken([records[0], *records[2:]]) == 3
    assert first_broken([records[0], records[2], records[1]]) == 3
    assert first_broken(records[1:]) == 2
    foreign = chain([("comment", {"n": number}) for number in range(4)])
    assert first_broken([*records[:2], foreign[2]]) == 3


def test_canonical_json_does_not_depend_on_order() -> None:
    """Two objects that mean the same have the same bytes, hence the same hash."""
    assert canonical_json({"b": 1, "a": ["é"]}) == canonical_json({"a": ["é"], "b": 1})
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))


def test_kinds_are_a_closed_set() -> None:
    """The ledger holds only kinds that the fold was written for."""
    assert "verdict" in RECORD_KINDS
    assert "fix" not in RECORD_KINDS
