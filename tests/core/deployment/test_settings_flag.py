"""Flags of the command that a launch script starts."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.deployment.knobs import effective_settings, effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting
from exonerate.core.deployment.settings_flag import flag_in_arguments

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
        (b"A=1\n", "starts 0 programs"),
        (b"srv --a 1 &\nsrv --b 1\n", "starts 2 programs"),
        (b"echo --tp 4\nexec srv --a 1\n", "may not be used"),
        (b"srv --tp 4 &\nsrv --tp 8\n", "may not be used"),
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


def test_a_restart_loop_is_edited_where_the_flag_stands() -> None:
    """The last program of the script is not taken for the server."""
    script = b"while true; do\n  srv --tp 4 --a 1\n  sleep 1\ndone\n"
    assert with_value(script, flag("tp"), "8") == script.replace(b"--tp 4", b"--tp 8")


def test_a_new_flag_goes_to_the_only_program_that_takes_flags() -> None:
    """What else the script runs on its way is left alone."""
    script = b"mkdir -p logs\nwhile true; do\n  srv --a 1\n  sleep 1\ndone\n"
    assert with_value(script, flag("tp"), "8") == script.replace(b"--a 1", b"--a 1 --tp 8")


FLAG_NAMES = ("--tp", "--port", "--name", "-c", "--on")
words_of_values = st.one_of(
    st.sampled_from(["4", "30001", "a b", "", "-1", "x=y", "$HOME", "it's", '"', "\\", "a,b"]),
    st.text(st.sampled_from("ab1 $'\"\\#;&|*=,"), max_size=5),
)


@st.composite
def commands(draw: st.DrawFn) -> str:
    """A script whose program prints its arguments, with flags over joined lines."""
    parts = ["exec /usr/bin/printf '%s\\0'"]
    for name in draw(st.lists(st.sampled_from(FLAG_NAMES), max_size=5, unique=True)):
        value = shlex.quote(draw(words_of_values))
        spelled = draw(st.sampled_from([f"{name} {value}", f"{name}={value}", name]))
        parts.append(spelled if name.startswith("--") else f"{name} {value}")
    gaps = draw(st.lists(st.sampled_from([" ", " \\\n  ", "  "]), min_size=9, max_size=9))
    body = "".join(part + gap for part, gap in zip(parts, gaps, strict=False)).rstrip(" \\\n")
    return f"#!/bin/bash\nset -e\n{body}\n"


def arguments(script: bytes) -> list[str]:
    """The arguments that bash gives to the program."""
    run = subprocess.run(["/bin/bash", "-c", script], capture_output=True, timeout=10, check=True)
    return run.stdout.decode().split("\0")[:-1]


@settings(max_examples=80, deadline=None)
@given(commands(), st.one_of(st.none(), words_of_values))
def test_an_edit_is_what_bash_gives_to_the_program(script: str, value: str | None) -> None:
    """Only the words of the one flag change on the program's command line."""
    content, knob = script.encode(), flag("tp")
    try:
        edited = with_value(content, knob, value)
    except UnprovableSetting:
        return
    before, after = arguments(content), arguments(edited)
    assert flag_in_arguments(after, "tp") == value
    for name in FLAG_NAMES[1:]:
        assert flag_in_arguments(after, name) == flag_in_arguments(before, name)
