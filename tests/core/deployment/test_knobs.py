"""Reading and setting a knob in every form of file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.deployment.knobs import (
    FORMS,
    effective_settings,
    effective_value,
    meant_value,
    with_value,
    written_value,
)
from exonerate.core.deployment.model import Knob, KnobForm
from exonerate.core.deployment.settings_error import UnprovableSetting

FOUNDING = Path(__file__).parents[2] / "data" / "founding-case"
TARGET_CTAS = Knob(
    name="SGLANG_SM120_MMA_TARGET_CTAS",
    service="decode",
    file="serve_dsv4_decode.sh",
    form="export",
    values=("256", "512"),
    default="256",
)
FILES: dict[KnobForm, bytes] = {
    "export": b"#!/bin/sh\nexport A=1\nexport KNOB=5 # why\nexport B='x y'\nexec srv --a 1\n",
    "flag": b"#!/bin/bash\nexec srv \\\n  --a 1 --KNOB 5 \\\n  --b=2 --bare \\\n  --c 'x y'\n",
    "environment-file": b'# c\r\nA=1\r\nKNOB=5\r\nB="x y"',
    "unit-environment": b'[Unit]\nDescription=KNOB\n\n[Service]\nEnvironment=A=1 "B=x y" KNOB=5\n',
    "toml": b'a = 1 # one\nKNOB = 5\nb = "x"\n\n[t]\nKNOB = 7\n',
    "yaml": b"# c\na: 1\nKNOB: 5 # five\nb: 'x y'\nnested:\n  KNOB: 7\n",
    "json": b'{\n  "a": 1,\n  "KNOB": 5,\n  "b": {"KNOB": 7}\n}\n',
}
forms = st.sampled_from(sorted(FILES))
values = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=12
)


def knob(form: KnobForm) -> Knob:
    """The knob that every sample file holds."""
    return Knob(name="KNOB", service="engine", file="f", form=form)


def test_every_form_of_the_deployment_file_has_a_sample() -> None:
    """No form is left out of the properties below."""
    assert set(FILES) == set(FORMS)


@pytest.mark.parametrize("form", sorted(FILES))
def test_a_knob_reads_as_its_text(form: KnobForm) -> None:
    """The value is the text that stands in the file, whatever its type."""
    assert effective_value(FILES[form], knob(form)) == "5"


@settings(deadline=None)
@given(forms, values)
def test_what_is_written_is_what_is_read(form: KnobForm, value: str) -> None:
    """A value that is set reads back the same, and no other setting moves."""
    try:
        edited = with_value(FILES[form], knob(form), value)
    except UnprovableSetting:
        return
    assert effective_value(edited, knob(form)) == value
    name = "--KNOB" if form == "flag" else "KNOB"
    before, after = effective_settings(FILES[form], form), effective_settings(edited, form)
    assert before.pop(name) == "5"
    assert after.pop(name) == value
    assert after == before


@settings(deadline=None)
@given(forms, st.integers(0, 10**6))
def test_plain_numbers_can_always_be_set_and_only_the_number_changes(
    form: KnobForm, number: int
) -> None:
    """Setting a number replaces the old digits; every other byte stays."""
    edited = with_value(FILES[form], knob(form), str(number))
    changed = [
        (old, new)
        for old, new in zip(FILES[form].splitlines(), edited.splitlines(), strict=True)
        if old != new
    ]
    assert all(old.replace(b"5", str(number).encode()) == new for old, new in changed)
    assert len(changed) == (number != 5)
    assert with_value(edited, knob(form), "5") == FILES[form]


@pytest.mark.parametrize("form", sorted(FILES))
def test_none_takes_the_setting_out_and_it_can_be_put_back(form: KnobForm) -> None:
    """Without the setting the file sets nothing; setting it again arrives."""
    without = with_value(FILES[form], knob(form), None)
    assert effective_value(without, knob(form)) is None
    assert without.count(b"\n") in (FILES[form].count(b"\n"), FILES[form].count(b"\n") - 1)
    again = with_value(without, knob(form), "5")
    assert effective_value(again, knob(form)) == "5"
    assert again.endswith(b"\n") == FILES[form].endswith(b"\n")
    assert (b"\r\n" in again) == (b"\r\n" in FILES[form])


def test_the_founding_revert_is_one_missing_line() -> None:
    """Taking the knob out of the backup gives the live script, byte for byte."""
    live = (FOUNDING / "serve_dsv4_decode.sh").read_bytes()
    backup = (FOUNDING / "serve_dsv4_decode.sh.pretgt_revert_2025.bak").read_bytes()
    assert effective_value(live, TARGET_CTAS) is None
    assert effective_value(backup, TARGET_CTAS) == "512"
    assert with_value(backup, TARGET_CTAS, None) == live


def test_the_default_is_written_by_taking_the_line_out() -> None:
    """An absent setting means the default, both ways."""
    assert written_value(TARGET_CTAS, "256") is None
    assert written_value(TARGET_CTAS, "512") == "512"
    assert meant_value(TARGET_CTAS, None) == "256"
    assert meant_value(TARGET_CTAS, "512") == "512"


@pytest.mark.parametrize("form", sorted(FILES))
def test_a_value_on_two_lines_is_refused(form: KnobForm) -> None:
    """A line break cannot smuggle in another setting."""
    with pytest.raises(UnprovableSetting, match="control character"):
        with_value(FILES[form], knob(form), "5\nEVIL=1")


@pytest.mark.parametrize("content", [b"A=\0", b"\xef\xbb\xbfKNOB=5\n"])
def test_files_that_are_no_plain_text_are_refused(content: bytes) -> None:
    """A NUL or a byte order mark is named instead of being read as part of a name."""
    with pytest.raises(UnprovableSetting, match=r"NUL|byte order mark"):
        effective_value(content, knob("environment-file"))


@settings(deadline=None)
@given(forms, st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(form: KnobForm, content: bytes) -> None:
    """No file makes the reader fail in another way than by saying why it cannot tell."""
    for text in (content, FILES[form][:20] + content, content + FILES[form][20:]):
        with contextlib.suppress(UnprovableSetting):
            assert effective_value(text, knob(form)) is None or b"KNOB" in text


def test_bytes_that_are_no_utf8_stay_as_they_are() -> None:
    """A comment in another encoding survives an edit."""
    content = b"#!/bin/sh\n# caf\xe9\nexport KNOB=5\nexec srv\n"
    assert with_value(content, knob("export"), "6") == content.replace(b"5", b"6")
