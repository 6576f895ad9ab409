"""The command-line flags of the programs that a launch script starts.

`--flag value`, `--flag=value` and bare flags (value ``true``) over lines joined by a backslash. A
flag given twice is refused: which one counts is the program's own choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting, line_of
from exonerate.core.deployment.settings_export import arguments_of, started_commands
from exonerate.core.deployment.settings_shell_commands import Command, script_of
from exonerate.core.deployment.settings_shell_edit import quoted_like, without_span
from exonerate.core.deployment.settings_shell_words import Word

_NUMBER = re.compile(r"-\d+(\.\d+)?")
_BOOLEANS = frozenset({"true", "false"})


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag as it stands: its own word, and the word of its value if that is another one."""

    name: str
    value: str
    known: bool
    word: Word
    value_word: Word | None = None


def flag_name(name: str) -> str:
    """A knob's name as a flag: `tp` is `--tp`."""
    return name if name.startswith("-") else f"--{name}"


def flag_settings(text: str) -> dict[str, str]:
    """Every flag and its value; the values of one that is repeated stand side by side."""
    settings: dict[str, str] = {}
    for command in started_commands(script_of(text)):
        for flag in _flags(command, boolean=""):
            earlier = settings.get(flag.name)
            settings[flag.name] = flag.value if earlier is None else f"{earlier} {flag.value}"
    return settings


def flag_value(text: str, knob: Knob) -> str | None:
    """The value the program is started with, or None when the flag is absent."""
    flag = _provable(text, knob)
    return None if flag is None else flag.value


def flag_proposals(text: str, knob: Knob, value: str | None) -> Iterator[str]:
    """New texts in which the flag has the value (None: is absent)."""
    flag = _provable(text, knob)
    if flag is None:
        yield text if value is None else _added(text, knob, value)
    elif value is None:
        yield _removed(text, flag)
    elif value == flag.value:
        yield text
    else:
        _refuse_false(knob, value)
        yield _replaced(text, flag, value)


def flag_in_arguments(arguments: Sequence[str], name: str) -> str | None:
    """The value of a flag on the command line of a running process; the last one counts."""
    wanted, value = flag_name(name), None
    for index, argument in enumerate(arguments):
        head, equals, tail = argument.partition("=")
        if argument == wanted:
            following = arguments[index + 1] if index + 1 < len(arguments) else "-"
            bare = following.startswith("-") and not _NUMBER.fullmatch(following)
            value = "true" if bare else following
        elif equals and head == wanted:
            value = tail
    return value


def _command_with(text: str, name: str) -> Command:
    """The command that the flag belongs to: the one that has it, else the only one there is."""
    script = script_of(text)
    started = started_commands(script)
    having = [c for c in script.commands if any(_names(word, name) for word in c.words)]
    if len(having) == 1 and having[0] in started:
        return having[0]
    if having:
        lines = ", ".join(str(command.line) for command in having)
        raise UnprovableSetting(f"{name} stands where it may not be used (lines {lines})")
    # Beside the server a script runs things like `mkdir -p`, which take no long flags.
    takers = [c for c in started if any(word.raw.startswith("--") for word in c.words)]
    likely = takers if len(started) > 1 else started
    if len(likely) != 1:
        raise UnprovableSetting(
            f"the script starts {len(started)} programs, and which one takes {name} is not known",
            "start the program with `exec`, as the last command of the script",
        )
    return likely[0]


def _names(word: Word, name: str) -> bool:
    return word.raw == name or word.raw.startswith(f"{name}=")


def _flags(command: Command, boolean: str) -> Iterator[Flag]:
    """The flags in order; `boolean` names a flag whose next word is its value only if boolean."""
    words = arguments_of(command)[1:]
    index = 0
    while index < len(words):
        word = words[index]
        following = words[index + 1] if index + 1 < len(words) else None
        index += 1
        if word.raw == "--":
            return
        if not _is_flag(word):
            continue
        name, equals, _ = word.raw.partition("=")
        if equals and word.raw.startswith("--"):
            known = word.value is not None
            value = (word.value or word.raw)[len(name) + 1 :]
            yield Flag(name, value, known, word)
        elif following is None or not _is_value(following, name == boolean):
            yield Flag(name, "true", True, word)
        else:
            shown = following.value if following.value is not None else following.raw
            yield Flag(name, shown, following.value is not None, word, following)
            index += 1


def _is_flag(word: Word) -> bool:
    return len(word.raw) > 1 and word.raw[0] == "-" and not _NUMBER.fullmatch(word.raw)


def _is_value(word: Word, boolean: bool) -> bool:
    return not _is_flag(word) and (not boolean or word.value in _BOOLEANS)


def _is_boolean(knob: Knob) -> bool:
    return bool(knob.values) and set(knob.values) <= _BOOLEANS


def _provable(text: str, knob: Knob) -> Flag | None:
    name = flag_name(knob.name)
    command = _command_with(text, name)
    found = [f for f in _flags(command, name if _is_boolean(knob) else "") if f.name == name]
    if len(found) > 1:
        lines = ", ".join(str(line_of(text, flag.word.start)) for flag in found)
        raise UnprovableSetting(f"{name} is given more than once (lines {lines})")
    flag = found[0] if found else None
    _refuse_unknown_words(text, command, flag)
    if flag is not None and (not flag.known or "\r" in flag.value):
        line = line_of(text, flag.word.start)
        raise UnprovableSetting(f"line {line}: the value of {name} is known only in a run")
    return flag


def _refuse_unknown_words(text: str, command: Command, flag: Flag | None) -> None:
    """A word that may become other words may hold the flag again, and the last one wins."""
    start = -1 if flag is None else flag.word.start
    for word in arguments_of(command)[1:]:
        if word.start > start and (word.splits or word.globs):
            line = line_of(text, word.start)
            raise UnprovableSetting(f"line {line}: `{word.raw}` may hold the flag too")


def _refuse_false(knob: Knob, value: str) -> None:
    if _is_boolean(knob) and value == "false":
        raise UnprovableSetting(
            f"{knob.name} is a flag that is there or not, so `false` cannot be written",
            f"set `default = false` for {knob.name}, so that `false` takes the flag away",
        )


def _added(text: str, knob: Knob, value: str) -> str:
    _refuse_false(knob, value)
    name = flag_name(knob.name)
    bare = _is_boolean(knob) and value == "true"
    new = name if bare else f"{name} {_safe(value)}"
    command = _command_with(text, name)
    end = command.words[-1].end
    return f"{text[:end]} {new}{text[end:]}"


def _replaced(text: str, flag: Flag, value: str) -> str:
    if flag.value_word is not None:
        word = flag.value_word
        return text[: word.start] + _safe(value, word.raw) + text[word.end :]
    word = flag.word
    if "=" in word.raw:
        head, _, old = word.raw.partition("=")
        return f"{text[: word.start]}{head}={quoted_like(old, value)}{text[word.end :]}"
    return f"{text[: word.end]} {_safe(value)}{text[word.end :]}"


def _safe(value: str, old: str = "") -> str:
    if value.startswith("-") and not _NUMBER.fullmatch(value):
        raise UnprovableSetting(f"the new value `{value}` would be read as another flag")
    return quoted_like(old, value) or "''"


def _removed(text: str, flag: Flag) -> str:
    """Without the flag; its line goes with it when nothing else stands on it."""
    start = flag.word.start
    end = (flag.value_word or flag.word).end
    line_start = text.rfind("\n", 0, start) + 1
    if not text[line_start:start].strip(" \t") and text[:line_start].endswith("\\\n"):
        line_end = text.find("\n", end)
        rest = text[end : len(text) if line_end < 0 else line_end].strip(" \t")
        if rest in ("", "\\"):
            # Also the backslash that led here: the words in front end the command now, or the
            # next line follows them in its place.
            return text[: len(text[: line_start - 2].rstrip(" \t"))] + text[end:]
    return without_span(text, start, end)
