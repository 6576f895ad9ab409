"""Bodies of an exact size."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.prompts import chat_body
from exonerate.core.workload.sized import round_body


def recipe(*sizes: int, path: str = "/v1/chat/completions") -> RequestRecipe:
    """A growing conversation whose bodies have these sizes."""
    prompt = PromptRecipe(seed=1, prompt_tokens=100, growth_tokens=60)
    return RequestRecipe(path=path, model="m", prompt=prompt, max_tokens=8, body_bytes=sizes)


@given(
    st.lists(st.integers(300, 20_000), min_size=1, max_size=5),
    st.integers(1, 6),
    st.sampled_from(["/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"]),
)
def test_each_round_has_exactly_the_size_that_was_asked_for(
    sizes: list[int], number: int, path: str
) -> None:
    """And stays JSON that an engine can read; later rounds are as the last one."""
    body = round_body(recipe(*sizes, path=path), number)
    assert len(body) == sizes[min(number, len(sizes)) - 1]
    assert orjson.loads(body)["model"] == "m"


def test_padding_adds_no_words_to_the_prompt() -> None:
    """An engine has nothing more to read: the value is the same."""
    plain = recipe()
    assert orjson.loads(round_body(recipe(50_000), 2)) == orjson.loads(chat_body(plain, 2))


def test_a_recipe_without_sizes_is_sent_as_it_is() -> None:
    """Nothing is padded unless a recipe says so."""
    assert round_body(recipe(), 3) == chat_body(recipe(), 3)


@given(st.text(min_size=1, max_size=400), st.integers(60, 4_000))
def test_a_body_of_the_victims_own_never_grows_past_the_size(text: str, size: int) -> None:
    """Its longest text is cut, whatever its characters; below its frame it cannot go."""
    own = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
    frame = len(own) - len(orjson.dumps(text)) + 2 + 8
    body = round_body(recipe(size), 1, template=own)
    assert len(body) == size or len(body) <= frame
    assert orjson.loads(body)["messages"]


def test_what_is_not_json_is_left_alone() -> None:
    """The victim's own bytes are never broken by padding."""
    assert round_body(recipe(500), 1, template=b"not json") == b"not json"
