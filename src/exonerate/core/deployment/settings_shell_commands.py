"""The simple commands of a shell script, and which of them surely run.

A command is `sure` when the script runs it exactly once, in its own shell, if it gets there: at
top level, not after `&&` or `||`, not in a pipeline, not in the background. Only what sure
commands do to the environment can be proved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from exonerate.core.deployment.settings_error import UnprovableSetting, line_of
from exonerate.core.deployment.settings_shell_words import (
    REDIRECTIONS,
    Operator,
    Word,
    tokens_of,
)

_SHEBANG = re.compile(
    r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(?:ba|da)?sh(?:\s+-(?P<options>[A-Za-z]+))?\s*$"
)
_OPENERS = {
    **{"if": "fi", "while": "done", "until": "done", "for": "done", "select": "done"},
    "{": "}",
}
_CLOSERS = {"fi": "fi", "done": "done", "esac": "esac", "}": "}"}
_STAY_AT_COMMAND = frozenset({"then", "do", "else", "elif", "!", "time"})
_UNKNOWN_COMPOUNDS = frozenset({"coproc"})


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: its words without the redirections, and how it is run."""

    words: tuple[Word, ...]
    line: int
    sure: bool
    redirected: bool = False
    background: bool = False
    pipe_index: int = 0
    in_function: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A script as its commands; `comments` are spans of the text."""

    text: str
    commands: tuple[Command, ...]
    comments: tuple[tuple[int, int], ...]


def script_of(text: str) -> Script:
    """The commands of a script; refused when it is no shell script or is not understood."""
    _check_shebang(text)
    tokens, comments = tokens_of(text)
    parser = _Parser(text, tokens)
    parser.run()
    return Script(text, tuple(parser.commands), tuple(comments))


def _check_shebang(text: str) -> None:
    if not text.startswith("#!"):
        return
    first = text.split("\n", 1)[0]
    match = _SHEBANG.match(first)
    options = (match["options"] or "") if match else ""
    if match is None or set(options) - set("eux"):
        raise UnprovableSetting(f"`{first.strip()}` does not name a shell whose rules are known")


@dataclass(slots=True)
class _List:
    """The and-or list being read: its commands so far, to be marked when `&` or `|` comes."""

    commands: list[Command] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirected: bool = False
    conditional: bool = False
    pipe_index: int = 0


class _Parser:
    """Follows the compound commands just as far as needed to know what is unconditional."""

    def __init__(self, text: str, tokens: list[Word | Operator]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.open: list[str] = []
        self.function_pending = False
        self.function_depths: list[int] = []
        self.in_patterns = False
        self.at_command = True
        self.list = _List()
        self.commands: list[Command] = []

    def run(self) -> None:
        """Read every token; each step moves on by at least one."""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if self.in_patterns:
                self._pattern(token)
            elif isinstance(token, Operator):
                self._operator(token)
            else:
                self._word(token)
        self._end_list(background=False)
        if self.open:
            raise UnprovableSetting(f"the script ends before `{self.open[-1]}`")

    def _pattern(self, token: Word | Operator) -> None:
        if isinstance(token, Operator) and token.text == ")":
            self.in_patterns, self.at_command = False, True
        elif isinstance(token, Word) and token.raw == "esac":
            self.in_patterns = False
            self._close("esac", token)

    def _word(self, word: Word) -> None:
        if self.at_command and not self.list.words and self._reserved(word):
            return
        self.at_command = False
        self.list.words.append(word)

    def _reserved(self, word: Word) -> bool:
        raw = word.raw
        if raw in _UNKNOWN_COMPOUNDS:
            raise UnprovableSetting(f"line {self._line(word)}: `{raw}` is not understood")
        if raw in _STAY_AT_COMMAND:
            return True
        if raw == "case":
            self._open_case(word)
        elif raw == "function":
            self._skip_function_name()
        elif raw == "[[":
            self._skip_test(word)
        elif raw in _OPENERS:
            self._open_compound(raw)
        elif raw in _CLOSERS:
            self._close(_CLOSERS[raw], word)
        else:
            return False
        return True

    def _push(self, closer: str) -> None:
        self.open.append(closer)
        if self.function_pending:
            self.function_depths.append(len(self.open))
            self.function_pending = False

    def _open_compound(self, raw: str) -> None:
        self._push(_OPENERS[raw])
        if raw in ("for", "select"):
            self._skip_until_separator()

    def _open_case(self, word: Word) -> None:
        self._push("esac")
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if isinstance(token, Word) and token.raw == "in":
                self.in_patterns = True
                return
        raise UnprovableSetting(f"line {self._line(word)}: `case` without `in`")

    def _skip_function_name(self) -> None:
        self.function_pending = True
        self.at += 1
        while self._operator_ahead("(") or self._operator_ahead(")"):
            self.at += 1
        self.at_command = True

    def _skip_test(self, word: Word) -> None:
        """Inside `[[ ]]` operators are tests, not separators."""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if isinstance(token, Word) and token.raw == "]]":
                self.at_command = False
                return
        raise UnprovableSetting(f"line {self._line(word)}: `[[` is not closed")

    def _skip_until_separator(self) -> None:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if isinstance(token, Operator) and token.text in (";", "\n"):
                return
            self.at += 1

    def _close(self, expected: str, token: Word | Operator) -> None:
        if not self.open or self.open[-1] != expected:
            raise UnprovableSetting(f"line {self._line(token)}: `{expected}` closes nothing")
        if self.function_depths and self.function_depths[-1] == len(self.open):
            self.function_depths.pop()
        self.open.pop()
        self.at_command = False

    def _operator(self, operator: Operator) -> None:
        text = operator.text
        if text in REDIRECTIONS:
            self._redirection(operator)
        elif text in (";", "\n", "&"):
            self._end_list(background=text == "&")
        elif text in ("&&", "||"):
            self._and_or()
        elif text in ("|", "|&"):
            self._pipe()
        elif text in ("(", ")"):
            self._parenthesis(operator)
        else:
            self._end_case_item(operator)

    def _redirection(self, operator: Operator) -> None:
        """The file belongs to the redirection; so does a number that touches the operator."""
        words = self.list.words
        if words and words[-1].end == operator.start and words[-1].raw.isdigit():
            words.pop()
        self.list.redirected = True
        if self.at < len(self.tokens) and isinstance(self.tokens[self.at], Word):
            self.at += 1

    def _and_or(self) -> None:
        self._end_command()
        self.list.conditional = True
        self.list.pipe_index = 0
        self.at_command = True

    def _pipe(self) -> None:
        self._end_command()
        self.at_command = True
        self.list.pipe_index += 1
        marked = [replace(command, sure=False) for command in self.list.commands]
        self.list.commands = marked

    def _parenthesis(self, operator: Operator) -> None:
        if operator.text == ")":
            self._end_list(background=False)
            self._close(")", operator)
            return
        if len(self.list.words) == 1 and self._operator_ahead(")"):
            # `name ()`: the body that follows is a compound command of its own.
            self.list.words.clear()
            self.function_pending = True
            self.at += 1
            self.at_command = True
            return
        if self.list.words:
            raise UnprovableSetting(f"line {self._line(operator)}: `(` is not understood here")
        self._push(")")
        self.at_command = True

    def _end_case_item(self, operator: Operator) -> None:
        self._end_list(background=False)
        if not self.open or self.open[-1] != "esac":
            raise UnprovableSetting(
                f"line {self._line(operator)}: `{operator.text}` is not understood here"
            )
        self.in_patterns = True

    def _end_command(self) -> None:
        current = self.list
        if current.words:
            sure = not (self.open or current.conditional or current.pipe_index)
            command = Command(
                tuple(current.words),
                self._line(current.words[0]),
                sure,
                current.redirected,
                pipe_index=current.pipe_index,
                in_function=bool(self.function_depths),
            )
            current.commands.append(command)
        current.words = []
        current.redirected = False

    def _end_list(self, *, background: bool) -> None:
        self._end_command()
        for command in self.list.commands:
            marked = replace(command, sure=False, background=True) if background else command
            self.commands.append(marked)
        self.list = _List()
        self.at_command = True

    def _operator_ahead(self, text: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        return isinstance(token, Operator) and token.text == text

    def _line(self, token: Word | Operator) -> int:
        return line_of(self.text, token.start)
