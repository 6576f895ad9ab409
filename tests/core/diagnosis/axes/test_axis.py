"""The names of the sessions that vary one thing."""

import pytest

from exonerate.core.diagnosis.axes.axis import flip_name


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("axis-size-2@edge", ("axis", "size", "2")),
        ("control-keep-alive-1@edge", ("control", "keep-alive", "1")),
        ("victim@edge", None),
        ("axis-size", None),
        ("crowd@edge/axis-size-1@edge/2", None),
    ],
)
def test_a_session_is_counted_for_its_axis_only(
    name: str, read: tuple[str, str, str] | None
) -> None:
    """Other sessions of a scene, the crowd around a varied one too, are not taken for it."""
    assert flip_name(name) == read
