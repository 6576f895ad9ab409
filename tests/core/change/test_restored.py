"""The bytes that give a value back, also when the file was changed otherwise since."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.change.one_setting import OneSettingProof, prove_one_setting
from exonerate.core.change.restored import restored_bytes
from exonerate.core.deployment.knobs import effective_value, with_value
from exonerate.core.deployment.model import Knob

NAMES = ("KNOB", "OTHER", "THIRD")
ORIGINAL = (
    b"#!/bin/sh\n# top\nexport A=1\nexport KNOB=5\nexport OTHER=7 # why\nexport THIRD=9\nexec s\n"
)


def knob(name: str) -> Knob:
    """A knob of the script."""
    return Knob(name=name, service="s", file="f", form="export")


def test_without_other_changes_the_recorded_bytes_come_back() -> None:
    """Byte for byte, comments and all."""
    reverted = with_value(ORIGINAL, knob("KNOB"), None)
    found = restored_bytes(reverted, knob("KNOB"), base=ORIGINAL, reverted=reverted, value="5")
    assert found == ORIGINAL


@settings(deadline=None)
@given(st.permutations(NAMES), st.permutations(NAMES))
def test_reverts_of_one_file_are_restored_in_any_order(
    reverts: list[str], restores: list[str]
) -> None:
    """Each restore moves its one setting only, and the last one gives the original back."""
    states: dict[str, tuple[bytes, bytes]] = {}
    live = ORIGINAL
    for name in reverts:
        states[name] = (live, with_value(live, knob(name), None))
        live = states[name][1]
    recorded = [content for pair in reversed(states.values()) for content in reversed(pair)]
    for name in restores:
        base, reverted = states[name]
        target = restored_bytes(
            live,
            knob(name),
            base=base,
            reverted=reverted,
            value=effective_value(ORIGINAL, knob(name)),
            recorded=recorded,
        )
        assert target is not None
        assert isinstance(prove_one_setting(live, target, knob(name)), OneSettingProof)
        live = target
        recorded.insert(0, live)
    assert live == ORIGINAL


def test_the_line_goes_back_where_it_was() -> None:
    """Its neighbours are found although other lines moved."""
    reverted = with_value(ORIGINAL, knob("OTHER"), None)
    live = with_value(reverted, knob("A"), "2")
    found = restored_bytes(live, knob("OTHER"), base=ORIGINAL, reverted=reverted, value="7")
    assert found == ORIGINAL.replace(b"A=1", b"A=2")


def test_what_cannot_be_proved_is_not_offered() -> None:
    """A script that may set the knob elsewhere gives no candidate."""
    reverted = with_value(ORIGINAL, knob("KNOB"), None)
    live = reverted.replace(b"exec s", b"if x; then export KNOB=6; fi\nexec s")
    found = restored_bytes(live, knob("KNOB"), base=ORIGINAL, reverted=reverted, value="5")
    assert found is None
