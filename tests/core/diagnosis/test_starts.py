"""When the sessions of a scene begin."""

from tests.support.world import OK, SILENT, Answer, World, judgement_after

from exonerate.core.diagnosis.starts import start_offset_s

LONG_CUT = Answer(wait_s=0.1, spread_s=2.0, cut=True)
SHORT_CUT = Answer(wait_s=0.1, spread_s=0.2, cut=True)


def offsets(bad: Answer) -> set[float]:
    """The offsets of eight scenes after one in which the edge gave this answer."""
    facts = judgement_after(World(lambda a: bad if a.hop == "edge" else OK)).facts
    return {start_offset_s(facts, number) for number in range(2, 10)}


def test_where_long_answers_are_broken_off_scenes_begin_at_different_moments() -> None:
    """What a clock ends then lasts for different times, what a timer ends does not."""
    assert len(offsets(LONG_CUT)) == 4


def test_nothing_else_makes_a_scene_wait() -> None:
    """Hangs, and answers that are cut at once, know no clock."""
    assert offsets(SILENT) == offsets(SHORT_CUT) == offsets(OK) == {0.0}
