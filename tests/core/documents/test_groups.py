"""Copies count once, and contradictions are flagged."""

from __future__ import annotations

from exonerate.core.documents.formats import Options, Unreadable, read_source
from exonerate.core.documents.groups import grouped
from exonerate.core.documents.model import Source

TABLE = """H100, tokens/s

| C | 256 | 512 |
|---|---|---|
| 48 | 700.1 | 710.2 |
| 64 | 720.3 | 790.4 |
| 80 | 801.5 | 811.6 |
"""
DATA = """# H100
concurrency,256 tok/s,512 tok/s
48,700.14,710.21
64,720.28,790.44
80,801.52,811.58
"""


def source(name: str, text: str) -> Source:
    """The source that a text of that name is."""
    found = read_source(name, text.encode(), Options())
    assert not isinstance(found, Unreadable)
    return found


def test_a_table_and_its_data_file_are_one_group() -> None:
    """A document that rounds the numbers of a data file is the same evidence."""
    document, data = grouped([source("plan.md", TABLE), source("trials.csv", DATA)])
    assert data.comparisons[0].group == document.comparisons[0].group
    assert data.comparisons[0].copy_of == "plan.md:3"


def test_independent_tables_are_two_groups() -> None:
    """Tables with other numbers are other evidence."""
    other = TABLE.replace("700.1", "699.0").replace("720.3", "731.0").replace("801.5", "799.0")
    first, second = grouped([source("a.md", TABLE), source("b.md", other)])
    assert first.comparisons[0].group != second.comparisons[0].group


def test_a_document_that_contradicts_its_data_is_downgraded() -> None:
    """A table that agrees with a data file but for one cell falls to E and says where."""
    altered = TABLE.replace("790.4", "850.4")
    document, data = grouped([source("plan.md", altered), source("trials.csv", DATA)])
    assert document.comparisons[0].grade == "E"
    assert "contradicted by trials.csv:2 at concurrency 64" in document.comparisons[0].why[0]
    assert "contradicted" in document.warnings[-1]
    assert "contradicted" in data.warnings[-1]
    assert data.comparisons[0].grade == "D"


def test_the_group_depends_on_the_numbers_alone() -> None:
    """The same table in a file of another name has the same group in every reading."""
    (first,), (second,) = (
        grouped([source("a.md", TABLE)]),
        grouped([source("b.md", "x\n\n" + TABLE)]),
    )
    assert first.comparisons[0].group == second.comparisons[0].group
