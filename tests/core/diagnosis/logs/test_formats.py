"""Any line, known or not: the parsers never fail, and never take long."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.diagnosis.logs.entry import entry_from_json, entry_to_json
from exonerate.core.diagnosis.logs.formats import PARSERS, parse_line, parse_lines

DATA = Path(__file__).parents[3] / "data" / "logs"
RECORDED = [line for file in sorted(DATA.glob("*.log")) for line in file.read_text().splitlines()]
KINDS = [None, *PARSERS]


@given(
    line=st.sampled_from(RECORDED),
    at=st.integers(0, 400),
    length=st.integers(0, 40),
    put=st.text(max_size=12),
    kind=st.sampled_from(KINDS),
)
def test_a_damaged_line_is_read_or_not_but_breaks_nothing(
    line: str, at: int, length: int, put: str, kind: str | None
) -> None:
    """Cut, overwritten, glued together: what comes out can be written down."""
    damaged = line[:at] + put + line[at + length :]
    told = parse_line(damaged, kind)
    if told is not None:
        assert entry_from_json(entry_to_json(told)) == told


@given(st.lists(st.text(max_size=80), max_size=5), st.sampled_from(KINDS))
def test_any_text_is_read(lines: list[str], kind: str | None) -> None:
    """A log may hold anything at all."""
    told, unknown = parse_lines(lines, kind)
    assert len(told) + unknown <= len(lines)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "piece", ["1:1 [", "{" * 3, "a ", '"', " - - [", "0/", "http_request{a=", "1:1 - ", "\x1b[0m"]
)
def test_a_hostile_line_takes_no_time(kind: str | None, piece: str) -> None:
    """16,000 letters of what a pattern likes; a pattern that backtracks would stand for minutes."""
    assert parse_line(piece * (16_000 // len(piece)), kind) is None


@pytest.mark.parametrize(
    ("file", "program"),
    [
        ("nginx-access.log", "nginx"), ("haproxy.log", "haproxy"), ("envoy-json.log", "envoy"),
        ("envoy-text.log", "envoy"), ("caddy.log", "caddy"), ("sglang-router.log", "smg"),
        ("litellm.log", "litellm"), ("nginx-error.log", "nginx"), ("nginx-combined.log", "nginx"),
    ],
)  # fmt: skip
def test_the_program_need_not_be_named(file: str, program: str) -> None:
    """Each line is known by its form, and taken for no other program's."""
    told, _ = parse_lines((DATA / file).read_text().splitlines())
    assert {one.program for one in told} == {program}
