"""Numbers against bounds, as the conditions of the lab's files spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

Operator: TypeAlias = Literal["==", ">=", ">", "<=", "<", "every"]
SPELLING = re.compile(r"\s*(==|>=|<=|>|<|every)?\s*([0-9]+(?:\.[0-9]+)?)\s*")


@dataclass(frozen=True, slots=True)
class Compare:
    """A number against a bound; `every n` holds for n, 2n, 3n and so on."""

    operator: Operator
    bound: float

    def holds(self, value: float) -> bool:
        """Whether the value is on the right side of the bound."""
        match self.operator:
            case "==":
                return value == self.bound
            case ">=":
                return value >= self.bound
            case ">":
                return value > self.bound
            case "<=":
                return value <= self.bound
            case "<":
                return value < self.bound
            case "every":
                return value > 0 and value % self.bound == 0


def all_hold(pairs: Iterable[tuple[Compare | None, float]]) -> bool:
    """Whether each value is on the right side of its bound, where there is one."""
    return all(compare is None or compare.holds(value) for compare, value in pairs)


def read_compare(value: object) -> Compare:
    """A number (equal to it), or text such as `>= 4` and `every 5`.

    Raises:
        ValueError: it is neither.
    """
    found = SPELLING.fullmatch(str(value))
    if found is None or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a number nor like '>= 4', '< 2.5' or 'every 5'")
    operator = cast(Operator, found[1] or "==")
    bound = float(found[2])
    if operator == "every" and bound < 1:
        raise ValueError("every needs a number from 1 on")
    return Compare(operator, bound)
