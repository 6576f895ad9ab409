"""Which commands of a script surely run."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.settings_error import UnprovableSetting
from exonerate.core.deployment.settings_shell_commands import script_of

SCRIPT = """#!/usr/bin/env bash
set -e
a && b || c
if d; then e; else f; fi
for i in 1 2; do g "$i"; done
h | k
l & m
start() { n; }
function stop { o; }
( p ) 2>&1 > log
{ q; }
case $1 in x|y) r ;; *) s ;; esac
while read -r line; do t; done < file
[[ -n $A && $B < c ]] && u
X=1 v 2> err >> log
! w
"""


def test_only_what_runs_once_in_the_scripts_own_shell_is_sure() -> None:
    """Conditions, loops, pipelines, functions, subshells and the background are not."""
    commands = script_of(SCRIPT).commands
    names = {c.words[0].raw for c in commands if c.sure}
    assert names == {"set", "a", "m", "X=1", "w"}
    assert {c.words[0].raw for c in commands if c.in_function} == {"n", "o"}
    assert {c.words[0].raw for c in commands} >= set("abcdefghklmnopqrstuw")


def test_redirections_are_no_arguments() -> None:
    """The command has its own words only."""
    command = next(c for c in script_of(SCRIPT).commands if c.words[0].raw == "X=1")
    assert [word.raw for word in command.words] == ["X=1", "v"]
    assert command.redirected
    assert command.line == 15


@pytest.mark.parametrize(
    "text",
    ["#!/usr/bin/python3\n", "#!/bin/zsh\n", "#!/bin/bash -a\n", "if a\n", "fi\n", "a (b\n", ")\n"],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    """Another interpreter, and compounds that do not close."""
    with pytest.raises(UnprovableSetting):
        script_of(text)
