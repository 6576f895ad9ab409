"""The victim's key and its own request, where the operator forgot them."""

from pathlib import Path

import pytest

from exonerate.adapters.request import api_key, victim_body
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
