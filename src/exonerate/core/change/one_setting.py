"""Proof that two versions of a file differ in one effective setting and in nothing else.

Three things must hold, and each is checked by itself:

1. the effective settings of the two differ in exactly the knob;
2. without the knob the two files are the same bytes, so nothing that is no setting moved either;
3. the difference is one hunk, so a reader can see it whole.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.deployment.knobs import (
    effective_settings,
    effective_value,
    setting_name,
    with_value,
)
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSettingProof:
    """The one setting that differs; `live` or `target` is None where the file does not set it."""

    knob: str
    live: str | None
    target: str | None
    lines_removed: tuple[str, ...]
    lines_added: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the change is not proved to be one setting, and the difference as far as it goes."""

    reasons: tuple[str, ...]
    diff: str


def prove_one_setting(live: bytes, target: bytes, knob: Knob) -> OneSettingProof | Refusal:
    """Compare the live file with the one that shall replace it."""
    diff = unified_diff(live, target)
    if live == target:
        return Refusal(reasons=("the two files are the same",), diff=diff)
    try:
        reasons = _reasons(live, target, knob)
        if reasons:
            return Refusal(reasons=tuple(reasons), diff=diff)
        hunk = _hunks(live, target)[0]
        return OneSettingProof(
            knob=knob.name,
            live=effective_value(live, knob),
            target=effective_value(target, knob),
            lines_removed=_shown(_lines(live)[hunk[0] : hunk[1]]),
            lines_added=_shown(_lines(target)[hunk[2] : hunk[3]]),
            diff=diff,
        )
    except UnprovableSetting as refusal:
        return Refusal(reasons=(refusal.problem,), diff=diff)


def unified_diff(live: bytes, target: bytes, *, names: tuple[str, str] = ("live", "target")) -> str:
    """The difference for a reader; a missing final newline is said."""
    rows = difflib.unified_diff(_shown(_lines(live)), _shown(_lines(target)), *names)
    shown = []
    for row in rows:
        shown.append(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n")
    return "".join(shown)


def _reasons(live: bytes, target: bytes, knob: Knob) -> list[str]:
    reasons = []
    name = setting_name(knob)
    changed = _changed_settings(live, target, knob)
    if name not in changed:
        reasons.append(f"{name} has the same value in both files")
    others = [other for other in changed if other != name]
    if others:
        reasons.append(f"other settings differ too: {', '.join(others)}")
    if with_value(live, knob, None) != with_value(target, knob, None):
        reasons.append(f"the files differ in more than {name}")
    hunks = len(_hunks(live, target))
    if hunks != 1:
        reasons.append(f"the difference is {hunks} hunks, not one")
    return reasons


def _changed_settings(live: bytes, target: bytes, knob: Knob) -> list[str]:
    before = effective_settings(live, knob.form)
    after = effective_settings(target, knob.form)
    # The knob itself by its provable value: a refusal here ends the proof.
    name = setting_name(knob)
    for settings, content in ((before, live), (after, target)):
        value = effective_value(content, knob)
        settings.pop(name, None)
        if value is not None:
            settings[name] = value
    names = sorted(before.keys() | after.keys())
    return [n for n in names if before.get(n) != after.get(n)]


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def _hunks(live: bytes, target: bytes) -> list[tuple[int, int, int, int]]:
    matcher = difflib.SequenceMatcher(None, _lines(live), _lines(target), autojunk=False)
    return [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]


def _shown(lines: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(line.decode("utf-8", "backslashreplace") for line in lines)
