"""What a verdict says of second faults that the first one may hide."""

from typing import Any

from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in


def not_examined(rule: Any) -> list[str]:
    """The list of the verdict on such a path."""
    answer: Any = locate_in(World(rule))
    return list(answer["not_examined"])


def inner_swallows_the_third(asked: Asked) -> Answer:
    """A fault of the second of two proxies, by the number of the request."""
    inside = asked.hop in ("edge", "inner")
    return SILENT if inside and asked.on_connection == 3 else OK


def test_hops_before_the_fault_could_have_the_same_one() -> None:
    """Whatever the outer proxy did, it would have looked the same from outside."""
    said = "\n".join(not_examined(inner_swallows_the_third))
    assert "(hang) in `edge`, whose requests pass `inner`: the first may mask it" in said


def test_rounds_that_no_session_reached_are_named() -> None:
    """A fault of later rounds stays unseen while the first one ends every session."""
    said = "\n".join(not_examined(inner_swallows_the_third))
    assert "what comes after round 3 of 6 through `inner`" in said


def test_a_sound_path_hides_nothing() -> None:
    """Nothing was found, so nothing stands before anything else."""
    assert not [line for line in not_examined(lambda _: OK) if "mask" in line]
