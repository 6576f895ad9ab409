"""What a knob is set to in its file, and the smallest edit that gives it another value.

Rules
-----
1. `effective_value` is what the program gets, not what some line says: a later duplicate wins, an
   `unset` removes, and what only a run would tell is refused (`UnprovableSetting`).
2. `with_value` changes nothing but that one setting: the result is read back, and it is refused
   unless the value arrived and every other setting is as before.
3. Bytes that are not touched stay as they are, line ends and the missing final newline included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from exonerate.core.deployment.model import Knob, KnobForm
from exonerate.core.deployment.settings_environment_file import (
    environment_proposals,
    environment_settings,
    environment_value,
)
from exonerate.core.deployment.settings_error import (
    UnprovableSetting,
    refuse_control_characters,
)
from exonerate.core.deployment.settings_export import exported_settings, exported_value
from exonerate.core.deployment.settings_export_edit import proposals as export_proposals
from exonerate.core.deployment.settings_flag import (
    flag_name,
    flag_proposals,
    flag_settings,
    flag_value,
)
from exonerate.core.deployment.settings_json import json_proposals, json_settings, json_value
from exonerate.core.deployment.settings_toml import toml_proposals, toml_settings, toml_value
from exonerate.core.deployment.settings_unit import unit_proposals, unit_settings, unit_value
from exonerate.core.deployment.settings_yaml import yaml_proposals, yaml_settings, yaml_value


@dataclass(frozen=True, slots=True)
class Form:
    """How one form of file is read and edited."""

    settings: Callable[[str], dict[str, str]]
    value: Callable[[str, Knob], str | None]
    proposals: Callable[[str, Knob, str | None], Iterator[str]]


def _by_name(
    settings: Callable[[str], dict[str, str]],
    value: Callable[[str, str], str | None],
    proposals: Callable[[str, str, str | None], Iterator[str]],
) -> Form:
    return Form(
        settings,
        lambda text, knob: value(text, knob.name),
        lambda text, knob, new: proposals(text, knob.name, new),
    )


FORMS: Mapping[KnobForm, Form] = {
    "export": _by_name(exported_settings, exported_value, export_proposals),
    "flag": Form(flag_settings, flag_value, flag_proposals),
    "environment-file": _by_name(environment_settings, environment_value, environment_proposals),
    "unit-environment": _by_name(unit_settings, unit_value, unit_proposals),
    "toml": _by_name(toml_settings, toml_value, toml_proposals),
    "yaml": _by_name(yaml_settings, yaml_value, yaml_proposals),
    "json": _by_name(json_settings, json_value, json_proposals),
}


def effective_settings(content: bytes, form: KnobForm) -> dict[str, str]:
    """Every setting of the file by name; one that only a run would tell has its source here."""
    return FORMS[form].settings(_text_of(content))


def effective_value(content: bytes, knob: Knob) -> str | None:
    """What the file sets the knob to, or None when it does not; raises UnprovableSetting."""
    return FORMS[knob.form].value(_text_of(content), knob)


def with_value(content: bytes, knob: Knob, value: str | None) -> bytes:
    """The file with the knob set to the value (None: not set); raises UnprovableSetting."""
    form, text = FORMS[knob.form], _text_of(content)
    if value is not None:
        refuse_control_characters(knob.name, value)
    if form.value(text, knob) == value:
        return content
    for proposal in form.proposals(text, knob, value):
        if _proves(form, knob, text, proposal, value):
            return proposal.encode("utf-8", "surrogateescape")
    wanted = "take it out" if value is None else f"set it to {value}"
    raise UnprovableSetting(
        f"no single edit of the file is proved to {wanted} ({knob.name}) and change nothing else"
    )


def setting_name(knob: Knob) -> str:
    """The knob's name as `effective_settings` has it."""
    return flag_name(knob.name) if knob.form == "flag" else knob.name


def written_value(knob: Knob, value: str) -> str | None:
    """What goes into the file for a value: nothing for the default, which absence means."""
    return None if value == knob.default else value


def meant_value(knob: Knob, effective: str | None) -> str | None:
    """What an effective value means: the default where the file sets nothing."""
    return knob.default if effective is None else effective


def _proves(form: Form, knob: Knob, old: str, new: str, value: str | None) -> bool:
    """Whether the new text gives the knob the value and leaves all else alone."""
    name = setting_name(knob)
    try:
        arrived = form.value(new, knob) == value
        before, after = form.settings(old), form.settings(new)
    except UnprovableSetting:
        return False
    before.pop(name, None)
    after.pop(name, None)
    return arrived and before == after


def _text_of(content: bytes) -> str:
    if b"\0" in content:
        raise UnprovableSetting("the file holds a NUL byte", "name a text file")
    if content.startswith(b"\xef\xbb\xbf"):
        raise UnprovableSetting("the file begins with a byte order mark", "take the mark out")
    return content.decode("utf-8", "surrogateescape")
