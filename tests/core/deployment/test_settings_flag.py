"""Flags of the command that a launch script starts."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.knobs import effective_settings, effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

SCRIPT = (
    b"#!/bin/bash\n"
    b"exec python -m server \\\n"
    b"  --model-path /m --tp 4 --port 30001 \\\n"
    b"  --disable-overlap-schedule \\\n"
    b"  --ratio=0.5 --enable-metrics >> log 2>&1\n"
)


def flag(name: str, *values: str, default: str | None = None) -> Knob:
    """A knob that is a flag."""
    return Knob(
        name=name, service="s", file="f", form="flag", values=tuple(values), default=default
    )


OVERLAP = flag("disable-overlap-schedule", "true", "false", default="false")


def test_flags_are_read_in_all_three_spellings() -> None:
    """A separate value, a value behind `=` and a bare flag."""
    assert effective_settings(SCRIPT, "flag") == {
        **{"-m": "server", "--model-path": "/m", "--tp": "4", "--port": "30001"},
        **{"--disable-overlap-schedule": "true", "--ratio": "0.5", "--enable-metrics": "true"},
    }


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("tp", "8", b"--tp 4", b"--tp 8"),
        ("--ratio", "0.7", b"--ratio=0.5", b"--ratio=0.7"),
        ("port", "a b", b"--port 30001", b"--port 'a b'"),
        ("tp", None, b" --tp 4", b""),
        ("model-path", None, b"--model-path /m ", b""),
        ("ratio", None, b"--ratio=0.5 ", b""),
        ("enable-metrics", None, b" --enable-metrics", b""),
        ("disable-overlap-schedule", None, b"  --disable-overlap-schedule \\\n", b""),
        ("new", "3", b"--enable-metrics", b"--enable-metrics --new 3"),
    ],
)
def test_an_edit_touches_only_its_own_words(
    name: str, value: str | None, old: bytes, new: bytes
) -> None:
    """The rest of the command, its line ends and redirections stay byte for byte."""
    assert with_value(SCRIPT, flag(name), value) == SCRIPT.replace(old, new)


def test_the_last_line_of_a_command_takes_the_backslash_before_it_along() -> None:
    """No dangling backslash joins the command to what follows."""
    script = b"exec srv --a 1 \\\n  --tp 4\necho never\n"
    assert with_value(script, flag("tp"), None) == b"exec srv --a 1\necho never\n"


def test_a_bare_flag_is_switched_by_being_there() -> None:
    """`true` adds the bare flag, the default `false` takes it away."""
    off = with_value(SCRIPT, OVERLAP, None)
    assert b"overlap" not in off
    on = with_value(off, OVERLAP, "true")
    assert effective_value(on, OVERLAP) == "true"
    assert b"--disable-overlap-schedule true" not in on


def test_a_word_behind_a_bare_flag_is_not_its_value() -> None:
    """A boolean knob leaves the positional argument behind it alone."""
    script = b"exec srv --disable-overlap-schedule model.gguf\n"
    assert effective_value(script, OVERLAP) == "true"
    assert with_value(script, OVERLAP, None) == b"exec srv model.gguf\n"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (b"exec srv --tp 4 --tp 8\n", "more than once"),
        (b'exec srv --tp 4 "$@"\n', "may hold the flag"),
        (b"exec srv --tp 4 $EXTRA\n", "may hold the flag"),
        (b'exec srv --tp "$TP"\n', "only in a run"),
        (b"A=1\n", "starts no program"),
    ],
)
def test_what_only_a_run_would_tell_is_refused(script: bytes, why: str) -> None:
    """Repeated flags and expansions are named with the reason."""
    with pytest.raises(UnprovableSetting, match=why):
        with_value(script, flag("tp"), "2")


def test_words_in_front_of_the_flag_may_vary() -> None:
    """The last one wins, so an expansion before the flag cannot change it."""
    script = b'exec "$PYTHON" $ARGS --tp 4\n'
    assert with_value(script, flag("tp"), "8") == b'exec "$PYTHON" $ARGS --tp 8\n'


def test_a_value_that_looks_like_a_flag_is_refused() -> None:
    """The program would read it as another flag; a negative number is none."""
    with pytest.raises(UnprovableSetting, match="another flag"):
        with_value(SCRIPT, flag("tp"), "--evil")
    assert b"--tp -1" in with_value(SCRIPT, flag("tp"), "-1")


def test_false_cannot_be_written_as_a_bare_flag() -> None:
    """Without a default the operator is told how to make `false` mean absence."""
    with pytest.raises(UnprovableSetting, match="there or not") as refusal:
        with_value(SCRIPT, flag("disable-overlap-schedule", "true", "false"), "false")
    assert "default = false" in refusal.value.hint
