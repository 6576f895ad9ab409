"""Shell source cut into words and operators, without running it.

Rules
-----
1. Offsets are exact: `text[word.start:word.end]` is the word as it stands.
2. A word's `value` is what the shell makes of it, or None when that needs an expansion.
3. What is not understood is refused, never guessed (`UnprovableSetting`).

The grammar is that of POSIX.1-2017 "Shell Command Language" 2.2 and 2.3 with the extensions of
bash that launch scripts use: `$'..'`, `<<<`, `<(..)`, `((..))`, arrays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from exonerate.core.deployment.settings_error import UnprovableSetting, line_of

BLANKS = " \t"
METACHARACTERS = " \t\n;&|()<>"
# Longest first, so that `<<-` is not read as `<<` and a word.
_OPERATORS = (
    *(";;&", "<<<", "<<-", "&>>", ";;", ";&", "&&", "||", "|&", "&>"),
    *("<<", ">>", "<&", ">&", "<>", ">|", ";", "&", "|", "(", ")", "<", ">"),
)
REDIRECTIONS = frozenset({"<", ">", ">>", "<<", "<<-", "<<<", "<&", ">&", "<>", ">|", "&>", "&>>"})
_ASSIGNMENT_HEAD = re.compile(r"[A-Za-z_]\w*\+?=")
_VARIABLE = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!_-]")


@dataclass(frozen=True, slots=True)
class Word:
    """One word: where it stands, its source, and its value if that is known without running.

    `splits` says that an unquoted expansion may turn it into none or many words; `globs` that it
    may match file names.
    """

    start: int
    end: int
    raw: str
    value: str | None
    splits: bool = False
    globs: bool = False


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator, a redirection or (text ``"\\n"``) the end of a line."""

    start: int
    end: int
    text: str


def tokens_of(text: str) -> tuple[list[Word | Operator], list[tuple[int, int]]]:
    """Every token of a script, and the spans of its comments."""
    lexer = _Lexer(text)
    lexer.run()
    return lexer.tokens, lexer.comments


class _Lexer:
    """One pass over the text; `_here` holds the delimiters of here-documents yet to come."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[Word | Operator] = []
        self.comments: list[tuple[int, int]] = []
        self._here: list[tuple[str, bool]] = []

    def run(self) -> None:
        """Read token after token; each step moves on by at least one character."""
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in BLANKS:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif character == "#":
                self._comment()
            elif character == "\n":
                self._newline()
            elif character in METACHARACTERS and not self._substitution_ahead():
                self._operator()
            else:
                self._word()
        if self._here:
            raise UnprovableSetting(f"the here-document `{self._here[0][0]}` does not end")

    def _comment(self) -> None:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        self.comments.append((self.at, end))
        self.at = end

    def _newline(self) -> None:
        self.tokens.append(Operator(self.at, self.at + 1, "\n"))
        self.at += 1
        pending, self._here = self._here, []
        for delimiter, strip_tabs in pending:
            self._skip_here_document(delimiter, strip_tabs)

    def _skip_here_document(self, delimiter: str, strip_tabs: bool) -> None:
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, len(self.text))
            if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                return
        raise UnprovableSetting(f"the here-document `{delimiter}` does not end")

    def _substitution_ahead(self) -> bool:
        arithmetic = self.text.startswith("((", self.at)
        return arithmetic or self.text.startswith(("<(", ">("), self.at)

    def _operator(self) -> None:
        text = next(o for o in _OPERATORS if self.text.startswith(o, self.at))
        self.tokens.append(Operator(self.at, self.at + len(text), text))
        self.at += len(text)
        if text in ("<<", "<<-"):
            self._here_delimiter(text == "<<-")

    def _here_delimiter(self, strip_tabs: bool) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        if self.at >= len(self.text) or self.text[self.at] in METACHARACTERS:
            raise UnprovableSetting(f"line {line_of(self.text, self.at)}: `<<` without a word")
        self._word()
        word = self.tokens[-1]
        assert isinstance(word, Word)
        if word.value is None:
            raise UnprovableSetting(
                f"line {line_of(self.text, word.start)}: the end of the here-document is not known"
            )
        self._here.append((word.value, strip_tabs))

    def _word(self) -> None:
        reader = _WordReader(self.text, self.at)
        word = reader.read()
        self.at = word.end
        self.tokens.append(word)


class _WordReader:
    """Reads one word; collects its value as long as that needs no expansion."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.at = start
        self.value: list[str] = []
        self.known = True
        self.splits = False
        self.globs = False
        self.unquoted: list[str] = []

    def read(self) -> Word:
        """The word that starts here."""
        if self.text.startswith("((", self.at):
            self._skip_balanced("((", "))")
            self.known = False
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in METACHARACTERS and not self._continues(character):
                break
            self._step(character)
        assert self.at > self.start
        raw = self.text[self.start : self.at]
        known = self.known and not _expands("".join(self.unquoted))
        value = "".join(self.value) if known else None
        return Word(self.start, self.at, raw, value, self.splits, self.globs)

    def _continues(self, character: str) -> bool:
        if character == "(":
            # `name=(a b)`: an array; its value is no single text.
            head = self.text[self.start : self.at]
            return _ASSIGNMENT_HEAD.fullmatch(head) is not None
        process = self.text.startswith(("<(", ">("), self.at)
        return process and self.at == self.start

    def _step(self, character: str) -> None:
        if character == "\\":
            self._backslash()
        elif character == "'":
            self._single()
        elif character == '"':
            self._double()
        elif character == "$":
            self._dollar(quoted=False)
        elif character == "`":
            self._backtick(quoted=False)
        elif character in "(<>":
            self._skip_balanced("(", ")")
            self.known = False
        else:
            self.globs = self.globs or character in "*?["
            self.unquoted.append(character)
            self.value.append(character)
            self.at += 1

    def _backslash(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following != "\n":
            self.value.append(following or "\\")
        self.at += 2 if following else 1

    def _single(self) -> None:
        end = self._find_end("'", self.at + 1)
        self.value.append(self.text[self.at + 1 : end])
        self.at = end + 1

    def _double(self) -> None:
        opened = self.at
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return
            if character == "\\":
                self._backslash_in_double()
            elif character == "$":
                self._dollar(quoted=True)
            elif character == "`":
                self._backtick(quoted=True)
            else:
                self.value.append(character)
                self.at += 1
        raise self._unclosed('"', opened)

    def _backslash_in_double(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following in ("$", "`", '"', "\\"):
            self.value.append(following)
        elif following != "\n":
            self.value.append("\\" + following)
        self.at += 2

    def _dollar(self, *, quoted: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "'" and not quoted:
            self._ansi_c()
            return
        if following in ("(", "{"):
            self.at += 1
            # Inside "${..}" a single quote is an ordinary character (POSIX 2.2.3).
            quotes = '"`\\' if quoted and following == "{" else "'\"`\\"
            self._skip_balanced(following, ")" if following == "(" else "}", quotes)
        elif following == '"' and not quoted:
            self.at += 1
        elif match := _VARIABLE.match(self.text, self.at + 1):
            self.at = match.end()
        else:
            self.value.append("$")
            self.at += 1
            return
        self.known = False
        self.splits = self.splits or not quoted or self.text[self.at - 1] == "@"
        self.splits = self.splits or "[@]" in self.text[self.start : self.at]

    def _ansi_c(self) -> None:
        opened = self.at
        self.at += 2
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            raise self._unclosed("'", opened)
        inside = self.text[opened + 2 : self.at]
        self.known = self.known and "\\" not in inside
        self.value.append(inside)
        self.at += 1

    def _backtick(self, *, quoted: bool) -> None:
        opened = self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            raise self._unclosed("`", opened)
        self.at += 1
        self.known = False
        self.splits = self.splits or not quoted

    def _skip_balanced(self, opening: str, closing: str, quotes: str = "'\"`\\") -> None:
        """Move behind the bracket that closes the one at (or right after) this place."""
        opened = self.at
        self.at = self.text.index(opening, self.at) + len(opening)
        depth = len(opening)
        while depth and self.at < len(self.text):
            character = self.text[self.at]
            if character in quotes:
                self._skip_quoted(character)
                continue
            depth += (character == opening[0]) - (character == closing[0])
            self.at += 1
        if depth:
            raise self._unclosed(opening, opened)

    def _skip_quoted(self, quote: str) -> None:
        if quote == "\\":
            self.at += 2
            return
        opened = self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != quote:
            self.at += 2 if self.text[self.at] == "\\" and quote != "'" else 1
        if self.at >= len(self.text):
            raise self._unclosed(quote, opened)
        self.at += 1

    def _find_end(self, quote: str, start: int) -> int:
        end = self.text.find(quote, start)
        if end < 0:
            raise self._unclosed(quote, start - 1)
        return end

    def _unclosed(self, what: str, offset: int) -> UnprovableSetting:
        return UnprovableSetting(f"line {line_of(self.text, offset)}: `{what}` is not closed")


def _expands(unquoted: str) -> bool:
    """Whether bash may expand braces or a home folder in the unquoted part of a word."""
    braces = "{" in unquoted and ("," in unquoted or ".." in unquoted)
    tilde = unquoted.startswith("~") or "=~" in unquoted or ":~" in unquoted
    return braces or tilde
