"""Numbers, intervals, grades and untrusted text as people read them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta

GRADE_MEANING = {
    "A": "randomised blocks, raw data, today's environment",
    "B": "at least 3 restarts per arm, spread given",
    "C": "repeats without restarts, or one arm after the other",
    "D": "one run per cell; prices provisionally",
    "E": "no environment, unit or load; raises no price",
}
TEXT_CHARACTERS_MAX = 2_000

# An underscore inside a word is plain text in CommonMark; at its edge it begins emphasis.
_MARKDOWN_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~!&]|(?<![^\W_])_|_(?![^\W_]))")
_CONTROL = {"Cc", "Cf", "Cs", "Co", "Cn"}


def visible(text: object, limit: int = TEXT_CHARACTERS_MAX) -> str:
    """Untrusted text on one line, without control characters that could steer a terminal."""
    kept = [
        " " if char in "\n\r\t" else char
        for char in str(text)
        if char in "\n\r\t" or unicodedata.category(char) not in _CONTROL
    ]
    clean = " ".join("".join(kept).split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def escaped_markdown(text: object) -> str:
    """Untrusted text that Markdown shows as it is: no links, HTML, tables or emphasis.

    What stands between backticks stays code.
    """
    pieces = visible(text).split("`")
    if len(pieces) % 2 == 0 or "" in pieces[1::2]:
        return _MARKDOWN_SPECIAL.sub(r"\\\1", visible(text))
    return "".join(
        code_span(piece) if place % 2 else _MARKDOWN_SPECIAL.sub(r"\\\1", piece)
        for place, piece in enumerate(pieces)
    )


def code_span(text: object) -> str:
    """Untrusted text as inline code."""
    clean = visible(text)
    if not clean:
        return "—"
    longest = max((len(run) for run in re.findall(r"`+", clean)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if clean.startswith("`") or clean.endswith("`") else ""
    return f"{fence}{padding}{clean.replace('|', chr(92) + '|')}{padding}{fence}"


def percent(fraction: float | None, digits: int = 1) -> str:
    """A signed gain: `+12.8 %`; an unknown one is `?`."""
    if fraction is None:
        return "?"
    text = f"{fraction * 100:+.{digits}f}"
    return ("0" if float(text) == 0 else text.replace("-", "−")) + " %"


def unsigned_percent(fraction: float | None, digits: int = 1) -> str:
    """A share or a loss without a sign: `11.4 %`."""
    return "?" if fraction is None else f"{fraction * 100:.{digits}f} %".replace("-", "−")


def interval(bounds: Sequence[float] | None) -> str:
    """A confidence interval: `[+9.0, +16.0] %`, or that there is none."""
    if bounds is None or len(bounds) != 2:
        return "no interval"
    low, high = (f"{bound * 100:+.1f}".replace("-", "−") for bound in bounds)
    return f"[{low}, {high}] %"


def metric_words(metric: str) -> str:
    """A metric's name as words: `output tokens/s` for output_tokens_per_s, `ttft p50 ms`."""
    clean = visible(metric, 80)
    stem, unit, quantile = clean.partition("_ms_")
    if unit:
        clean = f"{stem} {quantile} ms"
    return clean.replace("_per_", "/").replace("_", " ")


def number(value: float | None) -> str:
    """A measured value in about four digits: `719.5`, `1,684`, `0.0123`."""
    if value is None:
        return "—"
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def load(value: float | None) -> str:
    """A concurrency, batch or rate: `64`, `2.5`."""
    return "—" if value is None else f"{value:g}"


def duration(seconds: float | None) -> str:
    """A duration with the unit that suits it: `480 ms`, `21.4 s`, `6 min 05 s`."""
    if seconds is None:
        return "—"
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def age(earlier: str | None, later: str | None) -> str:
    """How old something was: `3 days`; `unknown` where a stamp is missing or not a time."""
    first, last = (moment(stamp) for stamp in (earlier, later))
    if first is None or last is None:
        return "unknown"
    gone = max(last - first, timedelta())
    if gone < timedelta(minutes=2):
        return f"{gone.seconds} s"
    if gone < timedelta(hours=2):
        return f"{gone.seconds // 60} min"
    if gone < timedelta(days=2):
        return f"{int(gone.total_seconds()) // 3600} h"
    return f"{gone.days} days"


def moment(stamp: str | None) -> datetime | None:
    """The time that an ISO 8601 stamp names, always with a zone, or None."""
    if not stamp:
        return None
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if found.tzinfo is None:
        return datetime.fromisoformat(found.isoformat() + "+00:00")
    return found


def clock_time(stamp: str | None) -> str:
    """A stamp as `2026-11-30 17:20:05`, or the text itself where it is no time."""
    found = moment(stamp)
    if found is None:
        return visible(stamp) if stamp else "—"
    return found.strftime("%Y-%m-%d %H:%M:%S")


def listed(items: Sequence[str], conjunction: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"
