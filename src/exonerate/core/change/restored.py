"""The bytes that give a knob its recorded value back.

Where nothing but the revert happened to the file, these are the recorded bytes. Where another knob
of the same file was changed since, the recorded bytes would move that one too; then the lines that
the revert changed are put back where they were, or, failing that, the setting is written anew.
Every candidate must be proved to differ from the live file in the one setting.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from exonerate.core.change.one_setting import OneSettingProof, prove_one_setting
from exonerate.core.deployment.knobs import with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting


def restored_bytes(
    live: bytes,
    knob: Knob,
    *,
    base: bytes,
    reverted: bytes,
    value: str | None,
    recorded: Sequence[bytes] = (),
) -> bytes | None:
    """The best proved candidate, or None when there is none.

    Args:
        live: the file as it is now.
        knob: the knob to restore.
        base: the file before the revert.
        reverted: the file after the revert.
        value: what the file set the knob to before the revert (None: nothing).
        recorded: other recorded states of the file, the oldest last; an exact one is preferred to
            a computed one, and the oldest says in which order the lines stood.
    """
    original = recorded[-1] if recorded else base
    put_back = _put_back(live, base, reverted, original)
    for candidate in (base, *recorded, *put_back, *_written(live, knob, value)):
        proof = prove_one_setting(live, candidate, knob)
        if isinstance(proof, OneSettingProof) and proof.target == value:
            return candidate
    return None


def _written(live: bytes, knob: Knob, value: str | None) -> Iterator[bytes]:
    try:
        yield with_value(live, knob, value)
    except UnprovableSetting:
        return


def _put_back(live: bytes, base: bytes, reverted: bytes, original: bytes) -> list[bytes]:
    """The hunk from `reverted` to `base` applied to `live` between the lines it stood between.

    Where several places are left (the neighbours went as well), the one that fits the original
    best comes first.
    """
    old, new, now = (content.splitlines(keepends=True) for content in (reverted, base, live))
    hunks = [code[1:] for code in _opcodes(old, new) if code[0] != "equal"]
    if len(hunks) != 1:
        return []
    start, end, new_start, new_end = hunks[0]
    places = _places(old, now)
    first = max((place + 1 for line, place in places.items() if line < start), default=0)
    last = min((place for line, place in places.items() if line >= end), default=len(now))
    found = [
        b"".join([*now[:at], *new[new_start:new_end], *now[at + end - start :]])
        for at in range(first, last - (end - start) + 1)
        if now[at : at + end - start] == old[start:end]
    ]
    return sorted(found, key=lambda candidate: -_lines_in_common(original, candidate))


def _lines_in_common(one: bytes, other: bytes) -> int:
    lines = one.splitlines(keepends=True), other.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, *lines, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def _opcodes(
    old: Sequence[bytes], new: Sequence[bytes]
) -> Sequence[tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _places(old: Sequence[bytes], now: Sequence[bytes]) -> dict[int, int]:
    """Where each line that is still there stands now."""
    places: dict[int, int] = {}
    for block in difflib.SequenceMatcher(None, old, now, autojunk=False).get_matching_blocks():
        places |= {block.a + index: block.b + index for index in range(block.size)}
    return places
