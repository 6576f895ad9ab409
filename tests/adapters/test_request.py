"""The victim's key and its own request, where the operator forgot them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.address import parse_address
from exonerate.adapters.request import api_key, build_request, victim_body
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.errors import ExonerateError


@pytest.mark.parametrize("name", ["nope.json", "."])
def test_a_request_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    """A missing file and a folder: the message says which, the hint where it was asked for."""
    with pytest.raises(ExonerateError, match="victim's request") as caught:
        victim_body(tmp_path, name)
    assert "[victim]" in caught.value.hint


def test_without_a_request_of_its_own_there_is_no_body(tmp_path: Path) -> None:
    """The probes then make theirs."""
    assert victim_body(tmp_path, None) is None
    (tmp_path / "body.json").write_bytes(b"{}")
    assert victim_body(tmp_path, "body.json") == b"{}"


@pytest.mark.parametrize("value", [None, "", "sk-1\r\nx-evil: 1"])
def test_a_variable_without_a_key_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """Also one whose text would break out of its header; the text itself is not shown."""
    monkeypatch.delenv("A_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("A_KEY", value)
    with pytest.raises(ExonerateError, match="`A_KEY` holds no API key") as caught:
        api_key("A_KEY")
    assert "evil" not in caught.value.problem


def recipe(**changes: Any) -> RequestRecipe:
    """A small request."""
    prompt = PromptRecipe(seed=1, prompt_tokens=4)
    return replace(
        RequestRecipe(path="/v1/completions", model="m", prompt=prompt, max_tokens=1), **changes
    )


def sent(recipe: RequestRecipe, body: bytes, **options: str) -> tuple[dict[str, str], bytes]:
    """Headers and what follows them, as they go out."""
    address = parse_address("http://127.0.0.1:8000")
    request = build_request(address, recipe, body, **options)
    assert request.body == body
    head, _, rest = request.content.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines), rest


@pytest.mark.parametrize("size", [0, 1, 4096, 10_000])
def test_a_body_in_chunks_is_the_same_body(size: int) -> None:
    """No length is said, the chunks end with an empty one, and a parser gets every byte back."""
    body = bytes(i % 251 for i in range(size))
    headers, framed = sent(recipe(chunked=True), body)
    assert headers["transfer-encoding"] == "chunked"
    assert "content-length" not in headers
    found = b""
    while framed != b"0\r\n\r\n":
        length, _, framed = framed.partition(b"\r\n")
        found += framed[: int(length, 16)]
        assert framed[int(length, 16) :].startswith(b"\r\n")
        framed = framed[int(length, 16) + 2 :]
    assert found == body


def test_what_the_request_offers_can_be_changed() -> None:
    """Without compression of the answer, say; else what can be undone is offered."""
    assert sent(recipe(), b"{}")[0]["accept-encoding"] == "gzip, deflate"
    offered = sent(recipe(), b"{}", accept_encoding="identity")[0]["accept-encoding"]
    assert offered == "identity"
