"""Tables into dataclasses: types are kept, mistakes are named with their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from exonerate.lab.tables import WrongTable, build


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A table inside."""

    kind: str = field(metadata={"key": "class"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """One field of each kind."""

    count: int = 0
    share: float = 0.0
    on: bool = False
    word: Literal["a", "b"] = "a"
    maybe: str | None = None
    many: tuple[Inner, ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    anything: object = None


def test_all_kinds() -> None:
    """Every kind of field takes its value; whole numbers become fractions where those belong."""
    built = build(
        Outer,
        {
            "count": 3,
            "share": 1,
            "on": True,
            "word": "b",
            "maybe": "x",
            "many": [{"class": "y"}],
            "names": {"n": 1},
            "anything": [1, "two"],
        },
        "top",
        {},
    )
    assert built == Outer(
        count=3,
        share=1.0,
        on=True,
        word="b",
        maybe="x",
        many=(Inner(kind="y"),),
        names={"n": 1},
        anything=[1, "two"],
    )
    assert isinstance(built.share, float)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ([], "top must be a table"),
        ({"cuont": 1}, r"top\.cuont is not known; did you mean `count`"),
        ({"zzz": 1}, r"top\.zzz is not known; known are anything, count"),
        ({"count": True}, r"top\.count is True; it must be of type int"),
        ({"count": 1.5}, r"top\.count is 1\.5"),
        ({"share": "x"}, r"top\.share"),
        ({"on": 1}, r"top\.on is 1; it must be of type bool"),
        ({"word": "c"}, r"top\.word is 'c'; it must be one of"),
        ({"many": {}}, r"top\.many must be a list"),
        ({"many": [{}]}, r"top\.many\[0\]\.class is missing"),
        ({"names": 3}, r"top\.names must be a table"),
        ({"names": {"n": "x"}}, r"top\.names\.n is 'x'"),
    ],
)
def test_mistakes(table: object, complaint: str) -> None:
    """Each mistake is named with its place."""
    with pytest.raises(WrongTable, match=complaint):
        build(Outer, table, "top", {})
