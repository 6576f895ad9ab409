"""Proof that exactly one setting differs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.change.one_setting import (
    OneSettingProof,
    Refusal,
    prove_one_setting,
    unified_diff,
)
from exonerate.core.deployment.knobs import with_value
from exonerate.core.deployment.model import Knob

FOUNDING = Path(__file__).parents[2] / "data" / "founding-case"
TARGET_CTAS = Knob(
    name="SGLANG_SM120_MMA_TARGET_CTAS",
    service="decode",
    file="serve_dsv4_decode.sh",
    form="export",
    values=("256", "512"),
    default="256",
)
KNOB = Knob(name="KNOB", service="s", file="f", form="export")
SCRIPT = b"#!/bin/sh\nexport A=1\nexport KNOB=5\nexport B=2\nexec srv --x 1\n"


def test_the_founding_case_is_proved_to_be_one_line() -> None:
    """The live script and its backup differ in the one knob, and the line is shown."""
    live = (FOUNDING / "serve_dsv4_decode.sh").read_bytes()
    backup = (FOUNDING / "serve_dsv4_decode.sh.pretgt_revert_2025.bak").read_bytes()
    proof = prove_one_setting(live, backup, TARGET_CTAS)
    assert isinstance(proof, OneSettingProof)
    assert (proof.live, proof.target) == (None, "512")
    assert proof.lines_removed == ()
    assert proof.lines_added == ("export SGLANG_SM120_MMA_TARGET_CTAS=512\n",)
    assert proof.diff.count("\n+export") == 1


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (SCRIPT, "are the same"),
        (SCRIPT.replace(b"A=1", b"A=2"), "KNOB has the same value"),
        (SCRIPT.replace(b"KNOB=5", b"KNOB=6").replace(b"A=1", b"A=2"), "differ too: A"),
        (SCRIPT.replace(b"KNOB=5", b"KNOB=6").replace(b"x 1", b"x 2"), "in more than KNOB"),
        (SCRIPT.replace(b"KNOB=5\n", b"KNOB=6\n# note\n"), "in more than KNOB"),
        (SCRIPT.replace(b"KNOB=5", b"KNOB=6").rstrip(), "2 hunks"),
        (SCRIPT.replace(b"export KNOB=5\n", b"") + b"export KNOB=5\n", "in more than|2 hunks"),
        (SCRIPT.replace(b"KNOB=5", b"KNOB=6\nunset KNOB"), "in more than KNOB"),
        (SCRIPT.replace(b"KNOB=5", b"KNOB=$A"), "only when the script runs"),
        (SCRIPT.replace(b"KNOB=5\n", b"KNOB=6\r\n"), "CR LF"),
    ],
)
def test_anything_more_than_one_setting_is_refused(target: bytes, why: str) -> None:
    """The reasons say what else would move."""
    refusal = prove_one_setting(SCRIPT, target, KNOB)
    assert isinstance(refusal, Refusal)
    assert re.search(why, " / ".join(refusal.reasons))


@settings(deadline=None)
@given(st.one_of(st.none(), st.integers(0, 9999).map(str)), st.integers(0, 9999).map(str))
def test_every_edit_of_ours_is_proved_both_ways(live: str | None, target: str) -> None:
    """Setting a value, and putting the recorded bytes back, are one setting each."""
    one, two = with_value(SCRIPT, KNOB, live), with_value(SCRIPT, KNOB, target)
    for old, new in ((one, two), (two, one)):
        proof = prove_one_setting(old, new, KNOB)
        assert isinstance(proof, OneSettingProof) == (live != target)


def test_a_missing_final_newline_is_shown() -> None:
    """A reader of the difference sees that the file does not end its last line."""
    assert unified_diff(b"a\nb", b"a\nc\n") == (
        "--- live\n+++ target\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
    )
