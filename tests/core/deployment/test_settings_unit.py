"""`Environment=` in systemd units and drop-ins."""

from __future__ import annotations

import pytest

from exonerate.core.deployment.knobs import effective_settings, effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

KNOB = Knob(name="KNOB", service="s", file="f", form="unit-environment")


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("Environment=KNOB=5", "5"),
        ('Environment="KNOB=5 6" B=1', "5 6"),
        ("Environment='KNOB=5'", "5"),
        ("Environment=A=1 \\\n  KNOB=5", "5"),
        ("Environment=KNOB=5\nEnvironment=KNOB=6", "6"),
        ("Environment=KNOB=5\nEnvironment=\nEnvironment=A=1", None),
        ("#Environment=KNOB=5", None),
        ("Environment=KNOB=50%%", "50%"),
        ('Environment="KNOB=a\\"b\\s"', 'a"b '),
        ("Environment=KNOB=$HOME", "$HOME"),
        ("[Install]\nEnvironment=KNOB=5", None),
        ("Environment=KNOB=5\r", "5"),
    ],
)
def test_values_follow_the_rules_of_systemd(body: str, value: str | None) -> None:
    """Quotes, joined lines, clearing by an empty line, sections and specifiers."""
    assert effective_value(f"[Service]\n{body}\n".encode(), KNOB) == value


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("Environment=KNOB=5\n", None, ""),
        ("Environment=KNOB=5 A=1\n", None, "Environment=A=1\n"),
        ("Environment=A=1 KNOB=5\n", None, "Environment=A=1\n"),
        (
            "Environment=A=1\nExecStart=x\n",
            "5",
            "Environment=A=1\nEnvironment=KNOB=5\nExecStart=x\n",
        ),
        ("ExecStart=x\n", "5", "Environment=KNOB=5\nExecStart=x\n"),
        ('Environment="KNOB=5"\n', "6 %", 'Environment="KNOB=6 %%"\n'),
        ("Environment=A=1 \\\n  KNOB=5\n", "6", "Environment=A=1 \\\n  KNOB=6\n"),
        ("Environment=KNOB=5\r\nA=1\r\n", "a b", 'Environment="KNOB=a b"\r\nA=1\r\n'),
    ],
)
def test_edits_keep_the_other_items(before: str, value: str | None, after: str) -> None:
    """An emptied line goes as a whole: left empty it would clear every earlier one."""
    content = ("[Service]\n" + before).encode()
    assert with_value(content, KNOB, value) == ("[Service]\n" + after).encode()


@pytest.mark.parametrize(
    "line",
    [
        *("EnvironmentFile=/etc/default/srv", "UnsetEnvironment=KNOB", "PassEnvironment=KNOB"),
        *("Environment=KNOB=%i", "Environment=KNOB=\\x41", "Environment=KNOB=a'b'"),
    ],
)
def test_what_systemd_decides_elsewhere_is_refused(line: str) -> None:
    """Files that override the unit and expansions are named with their line."""
    with pytest.raises(UnprovableSetting, match="line 2"):
        effective_value(f"[Service]\n{line}\n".encode(), KNOB)


def test_a_unit_without_a_service_section_is_refused() -> None:
    """There is no place to put the setting."""
    with pytest.raises(UnprovableSetting, match=r"no \[Service\]"):
        with_value(b"[Unit]\nDescription=x\n", KNOB, "5")


def test_an_open_quote_is_refused() -> None:
    """A quote that is never closed would swallow the rest of the line."""
    with pytest.raises(UnprovableSetting, match="not closed"):
        effective_settings(b'[Service]\nEnvironment="KNOB=5\n', "unit-environment")
