"""CSV and JSON Lines as tables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.documents.delimited import csv_table, object_table


def test_comments_before_the_header_are_the_tables_text() -> None:
    """Lines that begin with # are read as text, and lines are counted through them."""
    table = csv_table("# H100, 5 restarts\n\nC,256\n48,1\n")
    assert table is not None
    assert table.line == 3
    assert table.rows[0].line == 4
    assert table.context[0].text == "H100, 5 restarts"


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_delimiters(mark: str) -> None:
    """Commas, semicolons and tabs are known; quoted cells keep theirs."""
    table = csv_table(f'C{mark}256\n48{mark}"1{mark}5"\n')
    assert table is not None
    assert table.rows[0].cells == ("48", f"1{mark}5")


@pytest.mark.parametrize(
    "text", ["", "a\nb\n", "a,b\n", "a,a\n1,2\n", 'a,b\n"1,2\n', 'x{a="1",b="2"} 3\n4,5\n']
)
def test_what_is_no_table_is_none(text: str) -> None:
    """One column, one row, doubled names, torn quotes and metrics pages are no tables."""
    assert csv_table(text) is None


def test_objects_with_missing_keys_have_gaps() -> None:
    """A key that an object lacks is an empty cell."""
    table = object_table([{"C": 48, "a": 1.5}, {"C": 64}])
    assert table is not None
    assert [row.cells for row in table.rows] == [("48", "1.5"), ("64", "")]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='a1,;\t\n"#x ', max_size=120))
def test_any_text_is_a_table_or_not(text: str) -> None:
    """No text crashes the reader, and every row is as wide as the header."""
    table = csv_table(text)
    if table is not None:
        assert all(len(row.cells) == len(table.header) for row in table.rows)
