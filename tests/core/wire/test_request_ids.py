"""Which request ids are ours."""

from exonerate.adapters.address import parse_address
from exonerate.adapters.request import build_request
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.wire.request_ids import own_request_id


def test_the_id_that_a_probe_sends_is_known_again() -> None:
    """What goes out is what is looked for in logs and at taps."""
    recipe = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=2), max_tokens=1
    )
    request = build_request(parse_address("http://127.0.0.1:1"), recipe, b"{}")
    assert own_request_id(request.request_id) == request.request_id


def test_ids_of_others_are_not_ours() -> None:
    """Whatever else stands in the header."""
    assert own_request_id("exonerate-0123") is None
    assert own_request_id("req-0123456789abcdef") is None
    assert own_request_id(7) is None
