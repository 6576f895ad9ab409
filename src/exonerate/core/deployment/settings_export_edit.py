"""The smallest edit of a launch script that gives one exported name another value.

Every function only proposes; `knobs.with_value` reads the result back and refuses it when any
other setting moved or the value did not arrive.
"""

from __future__ import annotations

from collections.abc import Iterator

from exonerate.core.deployment.settings_error import UnprovableSetting
from exonerate.core.deployment.settings_export import (
    Held,
    Launch,
    arguments_of,
    launch_of,
    provable_held,
)
from exonerate.core.deployment.settings_shell_commands import Command
from exonerate.core.deployment.settings_shell_edit import quoted_like, without_span
from exonerate.core.deployment.settings_shell_words import Word


def proposals(text: str, name: str, value: str | None) -> Iterator[str]:
    """New texts in which the name has the value (None: is not set), the best one first."""
    launch = launch_of(text)
    held = provable_held(launch, name)
    if held is None or held.word is None:
        if value is None:
            yield text
        else:
            yield from _inserted(launch, f"export {name}={quoted_like('', value)}")
    elif value is None:
        yield _removed(launch, held, name)
    else:
        yield _replaced(text, held.word, name, value)


def _replaced(text: str, word: Word, name: str, value: str) -> str:
    if word.raw[0] in "\"'":
        new = quoted_like(word.raw, f"{name}={value}")
    else:
        new = f"{name}={quoted_like(word.raw[len(name) + 1 :], value)}"
    return text[: word.start] + new + text[word.end :]


def _removed(launch: Launch, held: Held, name: str) -> str:
    text = launch.script.text
    assert held.word is not None
    if held.prefix:
        rest = text[held.word.end :]
        return text[: held.word.start] + rest[len(rest) - len(rest.lstrip(" \t")) :]
    command = next(c for c in launch.script.commands if held.word in c.words)
    if len(command.words) - (arguments_of(command) != ()) > 1:
        return without_span(text, held.word.start, held.word.end)
    if not arguments_of(command):
        raise UnprovableSetting(f"line {held.line}: {name} is set and exported in two places")
    return _without_command(text, command)


def _without_command(text: str, command: Command) -> str:
    """The text without a command, its `;` or its whole line with the comment behind it."""
    start, end = command.words[0].start, command.words[-1].end
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    after = text[end:line_end].strip(" \t;")
    if text[line_start:start].strip(" \t"):
        return text[: len(text[:start].rstrip(" \t;"))] + text[end:]
    if after and not after.startswith("#"):
        rest = text[end:]
        return text[:start] + rest.lstrip(" \t;")
    return text[:line_start] + text[line_end + 1 :]


def _inserted(launch: Launch, line: str) -> Iterator[str]:
    """Behind the last export, else in front of the command that starts the program."""
    text = launch.script.text
    before_main = _before(launch)
    exports = [c for c in before_main if c.sure and c.words[0].value == "export"]
    if exports:
        end = text.find("\n", exports[-1].words[-1].end)
        yield _with_line(text, len(text) if end < 0 else end + 1, line)
    if launch.main is not None:
        yield _with_line(text, text.rfind("\n", 0, launch.main.words[0].start) + 1, line)
    else:
        yield _with_line(text, len(text), line)


def _before(launch: Launch) -> list[Command]:
    commands = list(launch.script.commands)
    if launch.main is None:
        return commands
    return commands[: commands.index(launch.main)]


def _with_line(text: str, offset: int, line: str) -> str:
    head, tail = text[:offset], text[offset:]
    if head and not head.endswith("\n"):
        # The file had no final newline, and still has none.
        return f"{head}\n{line}{tail}"
    return f"{head}{line}\n{tail}"
