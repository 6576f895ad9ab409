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
        recorded: other recorded states of the file; an exact one is preferred to a computed one.
    """
    for candidate in (
        base,
        *recorded,
        *_put_back(live, base, reverted),
        *_written(live, knob, value),
    ):
        proof = prove_one_setting(live, candidate, knob)
        if isinstance(proof, OneSettingProof) and proof.target == value:
            return candidate
    return None


def _written(live: bytes, knob: Knob, value: str | None) -> Iterator[bytes]:
    try:
        yield with_value(live, knob, value)
    except UnprovableSetting:
        return


def _put_back(live: bytes, base: bytes, reverted: bytes) -> Iterator[bytes]:
    """The hunk from `reverted` to `base` applied to `live`, beside the line before or behind it."""
    old, new, now = (content.splitlines(keepends=True) for content in (reverted, base, live))
    hunks = [
        code
        for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if code[0] != "equal"
    ]
    if len(hunks) != 1:
        return
    _, start, end, new_start, new_end = hunks[0]
    places = _places(old, now)
    before, behind = places.get(start - 1), places.get(end)
    starts = [] if before is None else [before + 1]
    starts += [] if behind is None else [behind - (end - start)]
    for at in starts:
        if now[at : at + end - start] == old[start:end]:
            yield b"".join([*now[:at], *new[new_start:new_end], *now[at + end - start :]])


def _places(old: Sequence[bytes], now: Sequence[bytes]) -> dict[int, int]:
    """Where each line that is still there stands now."""
    places: dict[int, int] = {}
    for block in difflib.SequenceMatcher(None, old, now, autojunk=False).get_matching_blocks():
        places |= {block.a + index: block.b + index for index in range(block.size)}
    return places
