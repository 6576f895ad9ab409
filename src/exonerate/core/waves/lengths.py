"""How long the KV caches of a batch are: fixed, uniform, lognormal or listed.

A batch gets the quantiles of the distribution in seeded random order, not independent draws: the
plan is then the same for the same seed and moves smoothly from one concurrency to the next.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from exonerate.errors import ExonerateError

TOKENS_MAX = 16_777_216
_HINT = (
    "write `8192`, `uniform:1000-16000`, `lognormal:8192,0.8` (median, sigma of the logarithm) "
    "or `list:900,1200,64000`"
)


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of KV lengths in tokens; `quantiles` is asked for a list of one batch."""

    text: str
    kind: str
    parameters: tuple[float, ...]

    def of_batch(self, concurrency: int, seed: int) -> tuple[int, ...]:
        """The KV length of each request of a batch, in launch order."""
        if self.kind == "fixed":
            return (self._quantile(0, 1),) * concurrency
        lengths = [self._quantile(index, concurrency) for index in range(concurrency)]
        random.Random(seed).shuffle(lengths)
        return tuple(lengths)

    def _quantile(self, index: int, count: int) -> int:
        share = (index + 0.5) / count
        match self.kind:
            case "fixed":
                tokens = self.parameters[0]
            case "uniform":
                low, high = self.parameters
                tokens = low + share * (high - low)
            case "lognormal":
                median, sigma = self.parameters
                tokens = median * math.exp(sigma * NormalDist().inv_cdf(share))
            case _:
                tokens = self.parameters[index % len(self.parameters)]
        return max(0, min(TOKENS_MAX, round(tokens)))


def parse_lengths(text: str) -> Lengths:
    """A distribution from its text; raises ExonerateError when it makes no sense."""
    kind, colon, rest = text.partition(":")
    if not colon:
        kind, rest = "fixed", text
    reader = _READERS.get(kind.strip())
    if reader is None:
        raise _unreadable(text, f"`{kind}` is no distribution")
    try:
        parameters = reader(rest)
    except ValueError as error:
        raise _unreadable(text, "a number is missing or unreadable") from error
    _check(text, kind.strip(), parameters)
    return Lengths(text, kind.strip(), parameters)


def _numbers(separator: str, count: int | None) -> Callable[[str], tuple[float, ...]]:
    def read(text: str) -> tuple[float, ...]:
        numbers = tuple(float(part) for part in text.split(separator))
        if count is not None and len(numbers) != count:
            raise ValueError(text)
        return numbers

    return read


_READERS: dict[str, Callable[[str], tuple[float, ...]]] = {
    "fixed": _numbers(",", 1),
    "uniform": _numbers("-", 2),
    "lognormal": _numbers(",", 2),
    "list": _numbers(",", None),
}


def _check(text: str, kind: str, parameters: tuple[float, ...]) -> None:
    tokens = parameters[:1] if kind == "lognormal" else parameters
    if not all(math.isfinite(value) for value in parameters):
        raise _unreadable(text, "a length is not finite")
    if any(not 0 <= value <= TOKENS_MAX for value in tokens):
        raise _unreadable(text, f"a length is outside 0 to {TOKENS_MAX} tokens")
    if kind == "uniform" and parameters[0] > parameters[1]:
        raise _unreadable(text, "the lower end is above the upper one")
    if kind == "lognormal" and not 0 <= parameters[1] <= 4:
        raise _unreadable(text, "sigma is outside 0 to 4")
    if max(tokens) < 1:
        raise _unreadable(text, "no request has a token")


def _unreadable(text: str, why: str) -> ExonerateError:
    return ExonerateError(f"KV lengths `{text}` cannot be used: {why}", _HINT)
