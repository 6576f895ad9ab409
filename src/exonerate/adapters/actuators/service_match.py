"""Whether a running process is what a service's `start` would have started.

A launch script that ends in `exec` is gone from the process table, so besides the command line
itself the literal words of the script's last command are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exonerate.adapters.process_table import command_line
from exonerate.core.deployment.settings_error import UnprovableSetting
from exonerate.core.deployment.settings_export import arguments_of, main_command
from exonerate.core.deployment.settings_shell_commands import script_of

SHELLS = frozenset({"sh", "bash", "dash"})
SCRIPT_BYTES_MAX = 1 << 20
WORDS_MIN = 2
WORDS_CHANGED_MAX = 2
"""The script may have been edited since: one flag and its value may differ."""


class StartPattern:
    """What `start` looks like in the process table."""

    def __init__(self, start: Sequence[str], folder: Path) -> None:
        self._start = tuple(start)
        self._folder = folder
        self._words = _literal_words(folder / start[0])

    def matches(self, pid: int) -> bool:
        """Whether the process runs the start command, or what its script ends in."""
        arguments = command_line(pid)
        return self._is_start(arguments) or self._is_program(arguments)

    def is_launcher(self, pid: int) -> bool:
        """Whether the process is the shell that runs the start script."""
        arguments = command_line(pid)
        shell = bool(arguments) and Path(arguments[0]).name.lstrip("-") in SHELLS
        return shell and self._is_start(arguments)

    def _is_start(self, arguments: Sequence[str]) -> bool:
        # An interpreter from the `#!` line may stand in front.
        for skipped in range(min(3, len(arguments))):
            rest = arguments[skipped:]
            if len(rest) == len(self._start) and rest[1:] == self._start[1:]:
                return self._same_program(rest[0])
        return False

    def _same_program(self, program: str) -> bool:
        if program == self._start[0]:
            return True
        return (self._folder / program).resolve() == (self._folder / self._start[0]).resolve()

    def _is_program(self, arguments: Sequence[str]) -> bool:
        if len(self._words) < WORDS_MIN:
            return False
        missing = [word for word in self._words if word not in arguments]
        return len(missing) <= min(WORDS_CHANGED_MAX, len(self._words) // 3)


def _literal_words(script: Path) -> tuple[str, ...]:
    """The words of the command a script ends in, as far as they are literal."""
    try:
        if not script.is_file() or script.stat().st_size > SCRIPT_BYTES_MAX:
            return ()
        content = script.read_bytes()
        if b"\0" in content:
            return ()  # a program, no script
        command = main_command(script_of(content.decode(errors="surrogateescape")))
    except (OSError, UnprovableSetting):
        return ()
    if command is None:
        return ()
    words = [word.value for word in arguments_of(command) if word.value is not None]
    return tuple(word for word in words if word not in ("exec", "env", "nohup"))
