"""Scalars of a JSON file, edited in place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.deployment.knobs import effective_settings, effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

scalars = st.one_of(st.integers(), st.booleans(), st.text(max_size=5))
documents = st.dictionaries(
    st.sampled_from(["a", "b", "k"]),
    st.one_of(scalars, st.dictionaries(st.sampled_from(["k", "z"]), scalars, max_size=2)),
)


def knob(name: str) -> Knob:
    """A knob at a dotted path."""
    return Knob(name=name, service="s", file="f", form="json")


@settings(deadline=None)
@given(documents, st.sampled_from([None, 2]), scalars.filter(lambda v: v != ""))
def test_an_edit_is_what_json_itself_makes_of_it(
    document: dict[str, object], indent: int | None, new: object
) -> None:
    """Set a key, and only that key of the parsed document differs."""
    content = json.dumps(document, indent=indent).encode()
    text = new if isinstance(new, str) else json.dumps(new)
    try:
        edited = json.loads(with_value(content, knob("k"), text))
    except UnprovableSetting:
        return
    value = edited.pop("k")
    assert (value if isinstance(value, str) else json.dumps(value)) == text
    assert edited == {key: value for key, value in document.items() if key != "k"}


def test_nested_keys_are_dotted_and_the_layout_stays() -> None:
    """One number changes, the hand-made layout does not."""
    content = b'{"a" : {"k":1,  "z": [1, {"k": 3}]},\n\n "b":"x"}'
    assert effective_settings(content, "json")["a.k"] == "1"
    assert with_value(content, knob("a.k"), "22") == content.replace(b'"k":1,', b'"k":22,')
    assert with_value(content, knob("b"), "5") == content.replace(b'"x"', b'"5"')


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"k": 1, "k": 2}', "more than once"),
        (b'{"k": [1]}', "no scalar"),
        (b'{"k": 1', "not JSON"),
        (b"[1]", "no object"),
    ],
)
def test_what_is_not_sure_is_refused(content: bytes, why: str) -> None:
    """Duplicate keys, arrays and broken files."""
    with pytest.raises(UnprovableSetting, match=why):
        with_value(content, knob("k"), "3")


def test_a_member_goes_with_one_comma() -> None:
    """First, middle and last member leave a valid document."""
    for content in (b'{"k": 1, "a": 2}', b'{"a": 2, "k": 1, "b": 3}', b'{"a": 2, "k": 1}'):
        without = with_value(content, knob("k"), None)
        assert effective_value(without, knob("k")) is None
        assert json.loads(without)["a"] == 2
