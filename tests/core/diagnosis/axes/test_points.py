"""Which quantity parts the good requests from the bad ones."""

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.diagnosis.axes.points import Point, brackets


def point(
    *, number: int = 1, age_s: float = 0, idle_s: float = 0, size: int = 500, ok: bool
) -> Point:
    """One request."""
    return Point(number, age_s, idle_s, size, ok)


def test_in_a_growing_session_everything_can_be_the_cause() -> None:
    """Number, age and size grow together, so nothing is ruled out."""
    points = [point(number=n, age_s=n * 0.5, size=500 * n, ok=n < 4) for n in range(1, 5)]
    assert set(brackets(points)) == {"number", "age", "size"}
    assert brackets(points)["size"].largest_ok == 1500
    assert brackets(points)["size"].smallest_bad == 2000


def test_a_small_request_that_fails_at_the_same_number_leaves_the_number() -> None:
    """Neither age nor size explain it any more."""
    points = [point(number=n, age_s=n * 0.5, size=500 * n, ok=n < 4) for n in range(1, 5)]
    points += [point(number=n, age_s=n * 0.01, size=500, ok=n < 4) for n in range(1, 5)]
    assert set(brackets(points)) == {"number"}


def test_what_fails_from_the_first_request_on_is_not_counted() -> None:
    """The smallest of its kind fails already."""
    assert set(brackets([point(ok=False), point(number=2, ok=False)])) == {"size"}


@given(
    st.lists(st.tuples(st.integers(500, 9000), st.integers(1, 30)), min_size=1),
    st.integers(0, 9000),
)
def test_the_true_threshold_always_lies_in_its_interval(
    requests: list[tuple[int, int]], limit: int
) -> None:
    """Whatever was sent: a fault by size is never said to begin elsewhere."""
    points = [point(number=n, size=size, ok=size <= limit) for size, n in requests]
    found = brackets(points).get("size")
    if all(p.ok for p in points):
        assert found is None
        return
    assert found is not None
    assert found.smallest_bad > limit
    assert found.largest_ok is None or found.largest_ok <= limit
