"""Where an export is put, and what goes with it."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.knobs import with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

KNOB = Knob(name="KNOB", service="s", file="f", form="export")


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("export A=1\nexec srv\n", "5", "export A=1\nexport KNOB=5\nexec srv\n"),
        ("#!/bin/sh\nexec srv", "5", "#!/bin/sh\nexport KNOB=5\nexec srv"),
        ("export A=1; exec srv\n", "5", "export KNOB=5\nexport A=1; exec srv\n"),
        ("export A=1", "5", "export A=1\nexport KNOB=5"),
        ("export A=1 KNOB=5 B=2\nsrv\n", None, "export A=1 B=2\nsrv\n"),
        ("export KNOB=5 # why\nsrv\n", None, "srv\n"),
        ("export A=1; export KNOB=5\nsrv\n", None, "export A=1\nsrv\n"),
        ("export KNOB=5; export A=1\nsrv\n", None, "export A=1\nsrv\n"),
        ("KNOB=5 exec srv\n", None, "exec srv\n"),
        ("exec env KNOB=5 srv\n", "6", "exec env KNOB=6 srv\n"),
        ("export KNOB=4\nexport KNOB='5'\nsrv\n", "6", "export KNOB=4\nexport KNOB='6'\nsrv\n"),
        ('export "KNOB=5"\nsrv\n', "a b", 'export "KNOB=a b"\nsrv\n'),
        ("KNOB=5\nexport KNOB\nsrv\n", "a'b", "KNOB='a'\\''b'\nexport KNOB\nsrv\n"),
    ],
)
def test_the_edit_is_the_smallest_one(before: str, value: str | None, after: str) -> None:
    """One word or one line; comments, quotes and a missing final newline are kept."""
    assert with_value(before.encode(), KNOB, value) == after.encode()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("export KNOB=4\nexport KNOB=5\nsrv\n", "no single edit"),
        ("KNOB=5\nexport KNOB\nsrv\n", "two places"),
        ("KNOB=5\nsrv\n", "not exported"),
        ("if x; then export KNOB=5; fi\nsrv\n", "line 1 sets KNOB where it may not run"),
        ('export KNOB=5\nexec srv --n "$KNOB"\n', "line 2 sets KNOB where it may not run, or"),
        ("export KNOB=${KNOB:-5}\nsrv\n", "or reads it"),
        ("export KNOB=$X\nsrv\n", "only when the script runs"),
        ("export KNOB=5\nsource env.sh\nsrv\n", "`source` may change it"),
        ("export KNOB=5\r\nsrv\r\n", "CR LF"),
        ("export KNOB=5\nexec sudo srv\n", "`sudo` may not pass"),
        ("export KNOB=5\nf() { eval $x; }\nf\n", "`eval` may change it"),
        ("export KNOB=5\nexec env -i srv\n", "may change it"),
        ("export KNOB=5\nexec -c srv\n", "`exec -c` may change it"),
    ],
)
def test_a_line_that_does_not_decide_is_refused(script: str, why: str) -> None:
    """The refusal names the line and what stands in the way."""
    with pytest.raises(UnprovableSetting, match=why):
        with_value(script.encode(), KNOB, None)


def test_a_new_line_goes_behind_an_unset_that_would_undo_it() -> None:
    """A value in front of the `unset` would never reach the program."""
    edited = with_value(b"export KNOB=5\nunset KNOB\nsrv\n", KNOB, "6")
    assert edited == b"export KNOB=5\nunset KNOB\nexport KNOB=6\nsrv\n"
