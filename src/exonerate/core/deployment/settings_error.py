"""The refusal to say what a setting is, because the file alone does not prove it."""

from __future__ import annotations

from exonerate.errors import ExonerateError


class UnprovableSetting(ExonerateError):
    """What a setting is, or becomes, cannot be proved from the bytes of the file."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(
            problem,
            hint or "write the setting once, as a plain literal, or change the file by hand",
        )


def line_of(text: str, offset: int) -> int:
    """The 1-based line of an offset."""
    return text.count("\n", 0, offset) + 1


def refuse_control_characters(name: str, value: str) -> None:
    """Refuse a new value that no file of ours can hold on one line."""
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise UnprovableSetting(
            f"the new value of {name} holds a control character",
            "give a value of printable characters on one line",
        )
