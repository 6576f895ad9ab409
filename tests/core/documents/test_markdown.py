"""Finding tables in Markdown: where they stand and what their cells say."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.documents.markdown import parse_markdown, split_pipes
from exonerate.core.documents.table import Table


def only_table(text: str) -> Table:
    """The one table of a document."""
    (table,) = parse_markdown(text).tables
    return table


def rows_of(table: Table) -> list[tuple[str, ...]]:
    """The cells of each row."""
    return [row.cells for row in table.rows]


def test_lines_are_those_of_the_file() -> None:
    """The header's line and each row's line count from 1 in the file."""
    table = only_table("# Title\n\ntext\n\n| C | 256 |\n|---|---|\n| 48 | 1 |\n| 64 | 2 |\n")
    assert table.line == 5
    assert [row.line for row in table.rows] == [7, 8]


def test_pasted_line_is_split_again() -> None:
    """A table that lost its line breaks gives the same header and rows as the original."""
    original = "| C | Base (256) | Gain |\n|---|:--|--:|\n| 48 | 1 | ~ |\n| 64 | 2 | +1% |"
    pasted = "Copied: " + original.replace("\n", " ")
    assert only_table(pasted).header == only_table(original).header
    assert rows_of(only_table(pasted)) == rows_of(only_table(original))


def test_pasted_line_without_spaces_between_rows() -> None:
    """Rows joined as `||` are split as well."""
    assert rows_of(only_table("|C|256||---|---||48|1||64|2|")) == [("48", "1"), ("64", "2")]


def test_pasted_line_that_breaks_off_says_so() -> None:
    """A row that was cut in the middle is left out with a warning, the whole rows stay."""
    document = parse_markdown("| C | a | b | |---|---|---| | 48 | 1 | 2 | | 64 | 3")
    assert rows_of(document.tables[0]) == [("48", "1", "2")]
    assert "ends in the middle of a row" in document.warnings[0]


def test_empty_cells_of_a_pasted_table_stay_empty() -> None:
    """A gap in a pasted table is a gap, not a shift of the columns."""
    table = only_table("| C | a | b | |---|---|---| | 48 | | 2 | | 64 | 3 | 4 |")
    assert rows_of(table) == [("48", "", "2"), ("64", "3", "4")]


def test_tables_in_fences_quotes_and_lists() -> None:
    """Tables are found in code fences, block quotes and list items, with the file's lines."""
    body = ["| C | a |", "|---|---|", "| 48 | 1 |"]
    fenced = "\n".join(["```", *body, "```"])
    quoted = "\n".join("> " + line for line in body)
    item = "- item\n\n" + "\n".join("  " + line for line in body)
    for text, line in ((fenced, 2), (quoted, 1), (item, 3)):
        table = only_table(text)
        assert (table.line, rows_of(table)) == (line, [("48", "1")])


def test_escaped_pipes_are_text() -> None:
    """An escaped pipe belongs to its cell, in whole and in pasted tables."""
    assert rows_of(only_table("| C | a |\n|---|---|\n| 48 | x \\| y |")) == [("48", "x | y")]
    assert split_pipes("a \\| b | c") == ["a | b", "c"]


def test_emphasis_and_code_are_taken_off() -> None:
    """Marks of emphasis and code are no part of a cell."""
    table = only_table("| **C** | `T=512` |\n|---|---|\n| *48* | **1** |")
    assert table.header == ("C", "T=512")
    assert rows_of(table) == [("48", "1")]


def test_another_sections_text_is_not_context() -> None:
    """What one section says of its runs is not taken for another section's table."""
    text = "intro\n\n## One\n\nn=5 restarts\n\n## Two\n\n| C | a |\n|---|---|\n| 1 | 2 |\n"
    lines = [prose.text for prose in only_table(text).context]
    assert "intro" in lines
    assert "n=5 restarts" not in lines


def test_html_tables_are_named() -> None:
    """A table written in HTML is not read, and the reader says so."""
    document = parse_markdown("<table><tr><td>1</td></tr></table>\n")
    assert "HTML table" in document.warnings[0]


CELL = st.text(st.characters(codec="utf-8", exclude_characters="|\n\r`\\"), max_size=8)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=6))
def test_any_table_is_read_without_a_crash(rows: list[tuple[str, str, str]]) -> None:
    """Whatever stands in the cells, whole or pasted, reading gives tables or none."""
    lines = ["| C | a | b |", "|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    assert len(parse_markdown("\n".join(lines)).tables) <= len(rows) + 1
    assert len(parse_markdown(" ".join(lines)).tables) <= 1


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="|:-\\ \n`>#ab1,.%±(=)~", max_size=200))
def test_table_like_noise_never_crashes(text: str) -> None:
    """Noise made of the marks that tables are made of never crashes the reader."""
    for table in parse_markdown(text).tables:
        assert all(len(row.cells) == len(table.header) for row in table.rows)
