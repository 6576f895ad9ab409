"""Numbers as people print them in tables.

Theory of operation: a cell is taken apart by one anchored pattern (value, spread, runs, unit,
gain in brackets). A comma is a thousands separator only when the table itself proves it: a
decimal point elsewhere, or two groups in one number. Otherwise `1,234` could be 1.234 or 1234,
and `719,5` says that its author writes decimal commas, so nothing is taken until somebody says
which it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from exonerate.core.documents.model import DecimalMark, Stated, Value

CELL_CHARACTERS_MAX = 200
MISSING = frozenset({"", "-", "--", "–", "—", "n/a", "na", "n.a.", "oom", "?", "x", "nan", "none"})
_MULTIPLIER = {"": 1.0, "k": 1e3, "m": 1e6}

_DIGITS = r"\d[\d.,]*(?:e[+-]?\d{1,3})?"
_CELL = re.compile(
    rf"^[~≈<>]?\s*(?P<number>[+-]?{_DIGITS})\s*(?P<scale>[kM](?![a-zA-Z]))?\s*"
    rf"(?P<unit>(?:ms|s|tok(?:ens?)?(?:/s(?:ec)?)?|t/s|req/s|rps)(?![a-zA-Z]))?\s*"
    rf"(?:\(?\s*(?:±|\+/-|\+-)\s*(?P<spread>{_DIGITS})\s*(?P<percent>%)?\s*\)?)?\s*"
    rf"(?P<rest>.*)$"
)
_RUNS = re.compile(r"\(?\b(?:n|runs)\s*=\s*(?P<runs>\d{1,4})\)?", re.IGNORECASE)
_BRACKET_GAIN = re.compile(r"\((?P<gain>[+\-−]\s*\d[\d.,]*\s*%)\)")
_GAIN = re.compile(
    rf"^(?P<rough>[~≈])?\s*(?P<times>[x×])?\s*(?P<sign>[+\-])?\s*(?P<number>{_DIGITS})\s*"
    rf"(?P<mark>%|x|×|pp)?(?P<rest>.*)$",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"^\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_EUROPEAN = re.compile(r"^\d{1,3}(?:\.\d{3})+,\d+$")


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A number that can be read in two ways; nothing is taken from it."""

    text: str


def plain(text: str) -> str:
    """A cell's text with one kind of minus, one kind of space and no space in digit groups."""
    text = text.replace("−", "-").replace("\u00a0", " ").replace("\u202f", " ").strip(" *_`")
    return re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "", text[:CELL_CHARACTERS_MAX])


def decimal_mark(cells: Iterable[str]) -> DecimalMark | None:
    """The decimal mark that the numbers of a table prove, or None when they prove none."""
    point = comma = False
    for cell in cells:
        for found in re.findall(r"\d[\d.,]*", plain(cell)):
            number = found.rstrip(".,")
            point |= "," not in number and number.count(".") == 1
            point |= bool(_THOUSANDS.match(number)) and ("." in number or number.count(",") > 1)
            comma |= bool(_EUROPEAN.match(number))
    if point == comma:
        return None
    return "point" if point else "comma"


def to_float(text: str, mark: DecimalMark | None) -> float | Ambiguous | None:
    """The number, what is ambiguous about it, or None when it is none."""
    body = text.rstrip(".,")
    if mark == "comma":
        if body.count(",") > 1:
            return None
        body = body.replace(".", "").replace(",", ".")
    elif "," in body:
        if not (mark == "point" and _THOUSANDS.match(body.lstrip("+-"))):
            return Ambiguous(text)
        body = body.replace(",", "")
    try:
        number = float(body)
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 1e15 else None


def parse_value(cell: str, mark: DecimalMark | None) -> Value | Ambiguous | None:
    """A measured value with its spread and number of runs, where the cell gives them."""
    match = _CELL.match(plain(cell))
    if match is None or not _may_follow(match["rest"]):
        return None
    number = to_float(match["number"], mark)
    if number is None or isinstance(number, Ambiguous):
        return number
    scale = _MULTIPLIER[(match["scale"] or "").lower()]
    spread = to_float(match["spread"], mark) if match["spread"] else None
    if isinstance(spread, Ambiguous):
        return spread
    if spread is not None:
        spread = abs(number) * scale * spread / 100 if match["percent"] else spread * scale
    runs = _RUNS.search(match["rest"])
    return Value(
        number=number * scale,
        half_step=half_step(match["number"], mark) * scale,
        spread=spread,
        runs=int(runs["runs"]) if runs else None,
    )


def bracket_gain(cell: str, mark: DecimalMark | None) -> Stated | None:
    """The gain in `811.7 (+12.8%)`."""
    found = _BRACKET_GAIN.search(plain(cell))
    return parse_gain(found["gain"], mark) if found else None


def parse_gain(
    cell: str, mark: DecimalMark | None, *, header_unit: str | None = None
) -> Stated | None:
    """A stated gain: percent, ratio (`1.13x`), absolute difference, or words (`~flat`)."""
    text = plain(cell)
    if text.lower() in MISSING:
        return None
    match = _GAIN.match(text)
    number = to_float(match["number"], mark) if match else None
    if match is None or number is None or isinstance(number, Ambiguous):
        return Stated(text=text, gain=None)
    if match["rest"].strip(" ()*"):
        return Stated(text=text, gain=None)
    signed = -number if match["sign"] == "-" else number
    step = half_step(match["number"], mark)
    marked = (match["mark"] or "").lower() or (match["times"] or "").lower() or header_unit
    if marked == "%":
        return Stated(text=text, gain=signed / 100, half_step=step / 100)
    if marked in ("x", "×", "ratio"):
        return Stated(text=text, gain=signed - 1, half_step=step)
    if marked == "pp":
        return Stated(text=text, gain=None)
    return Stated(text=text, gain=signed, half_step=step, absolute=True)


def half_step(text: str, mark: DecimalMark | None) -> float:
    """Half a unit of the last printed digit: 0.05 for `719.5`."""
    mantissa = text.lower().split("e")[0].rstrip(".,")
    separator = "," if mark == "comma" else "."
    decimals = len(mantissa.rpartition(separator)[2]) if separator in mantissa else 0
    return 0.5 * 10.0 ** -min(decimals, 15)


def _may_follow(rest: str) -> bool:
    """Whether the text after a number is a note that belongs to it, not another meaning."""
    left = _BRACKET_GAIN.sub("", _RUNS.sub("", rest)).strip(" *†‡,;")
    return left == "" or (left.startswith(("(", "[")) and left.endswith((")", "]")))
