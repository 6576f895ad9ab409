"""What a scene says by itself."""

from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe


def session(*pauses_s: float) -> ProbeSession:
    """A session that thinks for half a second, unless its pauses are given."""
    prompt = PromptRecipe(seed=1, prompt_tokens=1)
    request = RequestRecipe(path="/v1/completions", model="m", prompt=prompt, max_tokens=1)
    return ProbeSession(
        name="p", hop="edge", url="http://127.0.0.1:1", request=request, rounds=4,
        connection="reuse", think_s=0.5, deadline_s=1.0, pauses_s=pauses_s,
    )  # fmt: skip


def test_a_session_thinks_between_rounds_and_not_before_the_first() -> None:
    """As long each time, as the victim does."""
    assert [session().pause_before_s(number) for number in (1, 2, 3)] == [0.0, 0.5, 0.5]


def test_a_session_can_pause_differently_before_each_round() -> None:
    """The last pause holds for the rounds that are left."""
    paused = session(0.1, 2.0)
    assert [paused.pause_before_s(number) for number in (1, 2, 3, 4)] == [0.0, 0.1, 2.0, 2.0]
