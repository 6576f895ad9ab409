"""The list of axes."""

from exonerate.core.diagnosis.axes.registry import AXES, axis_of
from exonerate.core.diagnosis.vocabulary import VALUES


def test_every_axis_has_a_name_of_its_own_and_an_observable_with_two_values() -> None:
    """Two axes of one name would be counted together."""
    assert len({axis.slug for axis in AXES}) == len(AXES)
    assert all(VALUES[axis.observable] == ("flips", "same") for axis in AXES)


def test_an_observable_that_is_no_axis_belongs_to_none() -> None:
    """`through` was not varied by anybody."""
    assert axis_of("through") is None
    assert axis_of("size-flip") is next(axis for axis in AXES if axis.slug == "size")
