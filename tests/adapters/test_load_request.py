"""The requests of a load: each its own, all of one length."""

import json

from exonerate.adapters.address import parse_address
from exonerate.adapters.load_request import RequestMaker
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.plan import Work
from exonerate.core.workload.prompts import FIRST_WORD

RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=40),
    max_tokens=8,
)


def prompts(recipe: RequestRecipe, count: int) -> list[str]:
    """The texts that so many requests send."""
    maker = RequestMaker(parse_address("http://127.0.0.1:1"), recipe, cell="C1/0")
    requests = [maker.make(Work(index=index, intended_ns=0, lane=0)) for index in range(count)]
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in requests]
    return [body["messages"][0]["content"] for body in bodies]


def test_no_two_prompts_share_a_prefix_worth_caching() -> None:
    """All begin with one word, for the sake of their length, and part at the second or third."""
    texts = prompts(RECIPE, 200)
    assert {text.split()[0] for text in texts} == {FIRST_WORD}
    assert len({tuple(text.split()[:3]) for text in texts}) > 190
    assert {len(text.split()) for text in texts} == {40}


def test_prompts_that_shall_begin_alike_do() -> None:
    """With a salt of its own a recipe gives every request the same text."""
    shared = PromptRecipe(seed=1, prompt_tokens=40, salt="shared")
    recipe = RequestRecipe(path=RECIPE.path, model="m", prompt=shared, max_tokens=8)
    assert len(set(prompts(recipe, 5))) == 1
