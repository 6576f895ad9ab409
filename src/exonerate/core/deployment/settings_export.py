"""The environment that a launch script gives to the program it starts.

Theory of operation
-------------------
The script is read command by command up to the one that starts the program (`exec ..`, else the
last one that is no builtin). Sure `export`, `unset`, plain assignments, `set -a`, and a prefix
(`A=1 exec ..`, `exec env A=1 ..`) change a table of names. A name is provable when

1. its last change is sure and its value is a literal;
2. nothing that may change anything (`source`, `.`, `eval`, `export $x`) runs after it;
3. it stands nowhere else in the script, neither set inside a condition, function or pipeline nor
   read by `$NAME`, for then another setting would move with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exonerate.core.deployment.settings_error import UnprovableSetting, line_of
from exonerate.core.deployment.settings_shell_commands import Command, Script, script_of
from exonerate.core.deployment.settings_shell_words import Word

_ASSIGNMENT = re.compile(r"(?P<quote>[\"']?)(?P<name>[A-Za-z_]\w*)=", re.DOTALL)
_APPENDING = re.compile(r"(?P<name>[A-Za-z_]\w*)(\[[^]]*\])?\+?=")
_NAME = re.compile(r"[A-Za-z_]\w*")
_EXPORTING = frozenset({"export"})
_DECLARING = frozenset({"declare", "typeset", "readonly", "local", "read", "getopts", "mapfile"})
_CHANGES_ANYTHING = frozenset({"source", ".", "eval"})
_DROPS_ENVIRONMENT = frozenset({"sudo", "su", "doas", "ssh", "docker", "podman", "systemd-run"})
_BUILTINS = frozenset(
    {
        *("wait", "trap", "cd", "set", "unset", "echo", "printf", "true", "false", ":", "exit"),
        *("ulimit", "umask", "shopt", "test", "[", "kill", "return", "pwd", "shift", "hash"),
        *_EXPORTING,
        *_DECLARING,
        *_CHANGES_ANYTHING,
    }
)


@dataclass(frozen=True, slots=True)
class Held:
    """What the script made of a name: where its value stands, and why it is not provable."""

    word: Word | None
    value: str | None
    line: int
    exported: bool
    prefix: bool = False
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """The table of names at the command that starts the program; `main` is that command."""

    script: Script
    held: dict[str, Held]
    main: Command | None


def exported_settings(text: str) -> dict[str, str]:
    """Every exported name and its value (its source where only a run would tell)."""
    launch = launch_of(text)
    return {
        name: _shown(held)
        for name, held in launch.held.items()
        if held.exported and (held.word is not None or held.why_not)
    }


def exported_value(text: str, name: str) -> str | None:
    """The value that the program gets, or None when the script does not set it."""
    return _provable(launch_of(text), name)


def provable_held(launch: Launch, name: str) -> Held | None:
    """The table's row of a name, after every check; None when the script does not set it."""
    _provable(launch, name)
    return launch.held.get(name)


def launch_of(text: str) -> Launch:
    """The environment table of a script."""
    script = script_of(text)
    main = main_command(script)
    table = _Table()
    for command in script.commands:
        if command is main:
            break
        table.take(command)
    for command in script.commands:
        # A function may be called anywhere, so what it may change is in doubt at the end.
        if command.in_function:
            table.take(command)
    if main is not None:
        table.take_prefix(main)
    return Launch(script, table.held, main)


def main_command(script: Script) -> Command | None:
    """The command that starts the program: the first sure `exec`, else the last program."""
    started = started_commands(script)
    return started[-1] if started else None


def started_commands(script: Script) -> list[Command]:
    """The commands that start programs; a sure `exec` is the only one that lasts."""
    programs = [c for c in script.commands if c.pipe_index == 0 and _program(c) is not None]
    for command in programs:
        if command.sure and _word(command, _program_index(command)) == "exec":
            return [command]
    return [c for c in programs if _program(c) not in _BUILTINS]


def arguments_of(command: Command) -> tuple[Word, ...]:
    """The words behind the assignments in front of a command."""
    return command.words[_program_index(command) :]


def _shown(held: Held) -> str:
    if held.value is not None and not held.why_not:
        return held.value
    return held.word.raw if held.word is not None else held.why_not


def _provable(launch: Launch, name: str) -> str | None:
    if not _NAME.fullmatch(name):
        raise UnprovableSetting(f"`{name}` is no name of an environment variable")
    _refuse_other_mentions(launch, name)
    _refuse_wrappers(launch)
    held = launch.held.get(name)
    if held is None:
        return None
    if held.why_not:
        raise UnprovableSetting(held.why_not)
    if held.word is None:
        return None
    if held.value is None:
        raise UnprovableSetting(
            f"line {held.line}: the value of {name} is known only when the script runs"
        )
    if "\r" in held.value:
        raise UnprovableSetting(
            f"line {held.line} ends in CR LF, and the shell takes the CR into the value of {name}",
            "convert the script to plain LF lines",
        )
    if not held.exported:
        raise UnprovableSetting(f"line {held.line}: {name} is set but not exported by the script")
    return held.value


def _refuse_wrappers(launch: Launch) -> None:
    for word in arguments_of(launch.main)[:2] if launch.main else ():
        if word.value is not None and word.value.rpartition("/")[2] in _DROPS_ENVIRONMENT:
            raise UnprovableSetting(f"`{word.value}` may not pass the environment on")


def _refuse_other_mentions(launch: Launch, name: str) -> None:
    script = launch.script
    accounted = [*script.comments, *_accounted_spans(launch, name)]
    for match in re.finditer(rf"(?<!\w){name}(?!\w)", script.text, re.ASCII):
        if not any(start <= match.start() < end for start, end in accounted):
            line = line_of(script.text, match.start())
            raise UnprovableSetting(
                f"line {line} sets {name} where it may not run, or reads it for something else"
            )


def _accounted_spans(launch: Launch, name: str) -> Iterator[tuple[int, int]]:
    """Where the name may stand: sure changes of it, and what is only printed."""
    for command in launch.script.commands:
        if command.sure:
            yield from _printed_spans(command, name)
        for word in _changing_words(launch, command):
            if _name_of(word) == name:
                # Only the name: `export A=$A:x` still reads it.
                start = word.start + (word.raw[0] in "\"'")
                yield (start, start + len(name))


def _printed_spans(command: Command, name: str) -> Iterator[tuple[int, int]]:
    arguments = arguments_of(command)
    if not arguments or arguments[0].value not in ("echo", "printf") or command.redirected:
        return
    for word in arguments[1:]:
        if word.value == "-v":
            return
        # `${A:=x}` and `$((A=x))` set it.
        if "((" not in word.raw and not re.search(rf"{name}:?=", word.raw):
            yield (word.start, word.end)


def _changing_words(launch: Launch, command: Command) -> Iterator[Word]:
    """The words of a command whose effect on the table of names is known."""
    arguments = arguments_of(command)
    first = arguments[0].value if arguments else None
    if command is launch.main:
        yield from (held.word for held in launch.held.values() if held.prefix and held.word)
    elif command.sure and first in ("export", "unset", None):
        yield from command.words
    elif command.sure and first not in _BUILTINS:
        # It reaches that one command only. (Before a special builtin it may last: POSIX 2.14.)
        yield from command.words[: _program_index(command)]


def _changes_unknown_names(command: Command, first: str | None) -> bool:
    words = arguments_of(command)[1:]
    declares = first in ("export", "unset") or first in _DECLARING
    if not declares and not (first == "printf" and words and words[0].value == "-v"):
        return False
    return any(w.value is None and _APPENDING.match(w.raw) is None for w in words)


def _name_of(word: Word) -> str:
    match = _ASSIGNMENT.match(word.raw)
    return match["name"] if match else (word.value or "")


def _program_index(command: Command) -> int:
    """How many assignments stand in front of the command."""
    for index, word in enumerate(command.words):
        if _APPENDING.match(word.raw) is None:
            return index
    return len(command.words)


def _word(command: Command, index: int) -> str | None:
    return command.words[index].value if index < len(command.words) else None


def _program(command: Command) -> str | None:
    """The program a command starts; None for assignments and an `exec` that only redirects."""
    arguments = arguments_of(command)
    if not arguments or (len(arguments) == 1 and arguments[0].value == "exec"):
        return None
    return arguments[0].value or arguments[0].raw


class _Table:
    """The names of the shell, changed command by command."""

    def __init__(self) -> None:
        self.held: dict[str, Held] = {}
        self.export_all = False
        self.ended = False
        # Why an assignment from here on may come too late: the program may run already.
        self.branch = ""

    def take(self, command: Command) -> None:
        """What one command before the main one does to the table."""
        if self.ended:
            return
        arguments = arguments_of(command)
        first = arguments[0].value if arguments else None
        if first in _CHANGES_ANYTHING:
            self._doubt_all(f"line {command.line}: `{first}` may change it afterwards")
        elif _changes_unknown_names(command, first):
            self._doubt_all(f"line {command.line}: `{first}` may change it, as its words vary")
        elif first == "exec" and not command.sure and _program(command) is not None:
            self.branch = f"line {command.line}: `exec` may start the program before it is set"
        elif command.sure:
            self._take_sure(command, first)

    def take_prefix(self, main: Command) -> None:
        """Assignments in front of the main command, and those of `env` behind `exec`."""
        index = _program_index(main)
        for word in main.words[:index]:
            self._assign(word, main.line, exported=True, prefix=True)
        arguments = list(main.words[index:])
        if arguments and arguments[0].value == "exec":
            arguments = arguments[1:]
            if arguments and re.match(r"-[al]*c", arguments[0].raw):
                self._doubt_all(f"line {main.line}: `exec {arguments[0].raw}` may change it")
        if not arguments or (arguments[0].value or "").rpartition("/")[2] != "env":
            return
        for word in arguments[1:]:
            if _ASSIGNMENT.match(word.raw) is None:
                if word.raw.startswith("-"):
                    self._doubt_all(f"line {main.line}: `env {word.raw}` may change it")
                return
            self._assign(word, main.line, exported=True, prefix=True)

    def _take_sure(self, command: Command, first: str | None) -> None:
        if first is None and command.words and _program_index(command) == len(command.words):
            for word in command.words:
                self._assign(word, command.line, exported=self._is_exported(word))
        elif first == "export":
            self._export(command)
        elif first == "unset":
            self._unset(command)
        elif first == "set":
            self._set(command)
        elif first == "exit":
            self.ended = True

    def _is_exported(self, word: Word) -> bool:
        held = self.held.get(_name_of(word))
        return self.export_all or (held is not None and held.exported)

    def _export(self, command: Command) -> None:
        words = arguments_of(command)[1:]
        options = [w for w in words if w.raw.startswith("-") and w.raw != "--"]
        if options:
            self._doubt_all(f"line {command.line}: `export {options[0].raw}` may change it")
            return
        for word in words:
            if _ASSIGNMENT.match(word.raw) or _APPENDING.match(word.raw):
                self._assign(word, command.line, exported=True)
            elif word.value is not None and _NAME.fullmatch(word.value):
                self._mark_exported(word.value, command.line)

    def _mark_exported(self, name: str, line: int) -> None:
        held = self.held.get(name)
        if held is None or held.word is None:
            why = f"line {line}: {name} is exported with a value from outside the script"
            self.held[name] = Held(None, None, line, exported=True, why_not=why)
            return
        self.held[name] = Held(held.word, held.value, held.line, True, why_not=held.why_not)

    def _unset(self, command: Command) -> None:
        words = arguments_of(command)[1:]
        if any(word.value == "-f" for word in words):
            return
        for word in words:
            if word.value is not None and word.value != "-v":
                self.held[word.value] = Held(None, None, command.line, exported=False)

    def _set(self, command: Command) -> None:
        previous = ""
        for word in arguments_of(command)[1:]:
            cluster = word.value or ""
            if previous.endswith("o") and previous[0] in "-+" and cluster == "allexport":
                self.export_all = previous[0] == "-"
            elif "a" in cluster[1:] and cluster[0] in "-+":
                self.export_all = cluster[0] == "-"
            previous = cluster
            if cluster == "--":
                return

    def _assign(self, word: Word, line: int, *, exported: bool, prefix: bool = False) -> None:
        match = _ASSIGNMENT.match(word.raw) or _APPENDING.match(word.raw)
        assert match is not None
        name = match["name"]
        why_not = self.branch
        if not match[0].endswith(f"{name}="):
            why_not = f"line {line}: `{word.raw}` is no plain assignment"
        value = None if word.value is None else word.value[len(name) + 1 :]
        self.held[name] = Held(word, value, line, exported, prefix, why_not)

    def _doubt_all(self, why: str) -> None:
        for name, held in self.held.items():
            doubted = Held(held.word, held.value, held.line, held.exported, why_not=why)
            self.held[name] = doubted if held.word is not None else held
