"""Scalars of a TOML file."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.knobs import effective_settings, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

CONTENT = (
    '# c\nratio = 0.5\non = true\n\n[server.run] # t\nctas = 256 # why\nname = \'x\'\n"q" = "a"\n'
)


def knob(name: str) -> Knob:
    """A knob at a dotted path."""
    return Knob(name=name, service="s", file="f", form="toml")


def test_settings_are_named_by_dotted_paths() -> None:
    """Numbers, booleans and strings all read as text."""
    assert effective_settings(CONTENT.encode(), "toml") == {
        **{"ratio": "0.5", "on": "true", "server.run.ctas": "256"},
        **{"server.run.name": "x", "server.run.q": "a"},
    }


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("server.run.ctas", "512", "256", "512"),
        ("server.run.ctas", "a", "256", '"a"'),
        ("server.run.name", "5", "'x'", "'5'"),
        ("server.run.q", 'a"', '"a"', '"a\\""'),
        ("on", "false", "true", "false"),
        ("server.run.ctas", None, "ctas = 256 # why\n", ""),
        ("server.run.new", "1", '"q" = "a"\n', '"q" = "a"\nnew = 1\n'),
        ("top", "1", "on = true\n", "on = true\ntop = 1\n"),
    ],
)
def test_edits_change_one_value(name: str, value: str | None, old: str, new: str) -> None:
    """Types, quotes and comments stay."""
    assert with_value(CONTENT.encode(), knob(name), value) == CONTENT.replace(old, new).encode()


def test_a_line_inside_a_long_string_is_not_taken_for_the_key() -> None:
    """Only the edit that TOML itself confirms is made."""
    content = b's = """\nk = 1\n"""\nk = 1\n'
    assert with_value(content, knob("k"), "2") == b's = """\nk = 1\n"""\nk = 2\n'


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"t = {k = 1}\n", "no single edit"), (b"t = [\n", "not TOML"), (b"t.k = [1]\n", "no single")],
)
def test_what_cannot_be_edited_surely_is_refused(content: bytes, why: str) -> None:
    """Inline tables, arrays and broken files are left to the operator."""
    with pytest.raises(UnprovableSetting, match=why):
        with_value(content, knob("t.k"), "2")
