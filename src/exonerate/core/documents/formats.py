"""Which reader a file goes to, and what comes back as one source.

A new format of result file is a class with `name`, `sniff` and `read`, added to RESULT_FORMATS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from exonerate.core.documents.columns import NotUnderstood
from exonerate.core.documents.compare import comparisons_of
from exonerate.core.documents.delimited import csv_table, object_table
from exonerate.core.documents.facts import claims_in, facts_in
from exonerate.core.documents.grade import graded
from exonerate.core.documents.markdown import parse_markdown
from exonerate.core.documents.model import Comparison, DecimalMark, Source
from exonerate.core.documents.result_files import (
    AIPerf,
    Found,
    GuideLLM,
    InferencePerf,
    SGLangServing,
    VLLMServing,
    json_lines,
)
from exonerate.core.documents.table import COLUMNS_MAX, ROWS_MAX, Table
from exonerate.core.json_access import object_of, parse_json
from exonerate.core.json_types import Json

BYTES_MAX = 64 * 1024 * 1024
# A text of this size takes a few seconds at most, whatever stands in it.
TEXT_BYTES_MAX = 1024 * 1024
WARNINGS_MAX = 100
COMPARISONS_MAX = 200


class ResultFormat(Protocol):
    """A reader of one tool's result files."""

    name: str

    def sniff(self, document: Json) -> bool:
        """Whether the JSON (a list for JSON Lines) is of this format."""

    def read(self, document: Json) -> Found:
        """The runs of a document that was sniffed, and warnings about them."""


RESULT_FORMATS: tuple[ResultFormat, ...] = (
    AIPerf(),
    GuideLLM(),
    InferencePerf(),
    SGLangServing(),
    VLLMServing(),
)


# Files that tools write beside their summaries: the keys that give them away, and what they are.
_COMPANIONS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"metadata", "metrics"}), "per-request records; give the tool's summary"),
    (frozenset({"aiperf_version", "metrics"}), "the server metrics of AIPerf; give its profile"),
    (frozenset({"global", "reports"}), "the self-check of inference-perf; give a stage report"),
    (frozenset({"Metric", "avg"}), "AIPerf's CSV without a load; give profile_export_aiperf.json"),
    (frozenset({"input_lens", "ttfts"}), "per-request records; give the tool's summary"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator says about the files: the decimal mark, and today's environment."""

    decimal: DecimalMark | None = None
    live: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file was not read, and what to do about it."""

    reason: str
    hint: str


def read_source(
    path: str,
    content: bytes,
    options: Options,
    formats: Sequence[ResultFormat] = RESULT_FORMATS,
) -> Source | Unreadable:
    """Everything that is found in one file."""
    text = _decoded(content)
    if isinstance(text, Unreadable):
        return text
    blank = Source(path=path, sha256=hashlib.sha256(content).hexdigest(), format="markdown")
    source = _structured(blank, text, options, formats)
    if source is None:
        if len(content) > TEXT_BYTES_MAX:
            return Unreadable(
                f"it is a text of {len(content):,} bytes; the limit is {TEXT_BYTES_MAX:,}",
                "cut out the part that holds the tables",
            )
        source = _markdown(blank, text, options)
    left = len(source.warnings) - WARNINGS_MAX
    if left > 0:
        kept = (*source.warnings[:WARNINGS_MAX], f"and {left} more warnings")
        source = replace(source, warnings=kept)
    return source


def _decoded(content: bytes) -> str | Unreadable:
    if len(content) > BYTES_MAX:
        return Unreadable(
            f"it has {len(content):,} bytes; the limit is {BYTES_MAX:,}",
            "give the summary that the tool wrote, not the log or the per-request records",
        )
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        return Unreadable(
            f"it is not UTF-8 text (byte {error.start})", "convert it, or give the text it holds"
        )
    if "\0" in text:
        return Unreadable("it is binary, not text", "give a document or a result file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _structured(
    blank: Source, text: str, options: Options, formats: Sequence[ResultFormat]
) -> Source | None:
    """The source of a JSON, JSON Lines or CSV text, or None when the text is a document."""
    if text.lstrip()[:1] in ("{", "["):
        whole = parse_json(text)
        lines = json_lines(text) if whole is None else None
        for document in (whole, lines):
            source = _result_file(blank, document, formats) if document is not None else None
            if source is not None:
                return source
        objects = lines if lines is not None else whole
        if objects is not None:
            return _objects(blank, objects, options)
    if blank.path.lower().endswith((".md", ".markdown", ".txt", ".rst")):
        return None
    table = csv_table(text)
    if table is not None:
        return _data_table(replace(blank, format="csv"), table, options)
    if blank.path.lower().endswith((".csv", ".tsv")):
        warning = f"no table of 2 to {COLUMNS_MAX} columns and 1 to {ROWS_MAX} rows was found"
        return replace(blank, format="csv", warnings=(warning,))
    return None


def _result_file(blank: Source, document: Json, formats: Sequence[ResultFormat]) -> Source | None:
    for reader in formats:
        if reader.sniff(document):
            runs, warnings = reader.read(document)
            return replace(blank, format=reader.name, runs=runs, warnings=warnings)
    return None


def _objects(blank: Source, document: Json, options: Options) -> Source:
    """A list of flat objects as a table; anything else as a file that was not understood."""
    objects = document if isinstance(document, list) else [document]
    companion = _companion(object_of(objects[0] if objects else None))
    if companion is not None:
        return replace(blank, format="json", warnings=(companion,))
    flat = all(isinstance(entry, dict) for entry in objects)
    table = object_table(objects) if flat and len(objects) > 1 else None
    if table is None:
        known = ", ".join(reader.name for reader in RESULT_FORMATS)
        warning = f"this JSON is of no known result format ({known})"
        return replace(blank, format="json", warnings=(warning,))
    return _data_table(replace(blank, format="jsonl"), table, options)


def _companion(names: Collection[str]) -> str | None:
    """What a file is that holds no summary, by the names of its keys or columns."""
    for keys, what in _COMPANIONS:
        if keys.issubset(names):
            return f"these are {what}" if what.startswith("per-") else f"this is {what}"
    return None


def _data_table(blank: Source, table: Table, options: Options) -> Source:
    companion = _companion(table.header)
    if companion is not None:
        return replace(blank, warnings=(companion,))
    found = comparisons_of(table, options.decimal)
    if isinstance(found, NotUnderstood):
        warning = f"line {table.line}: no comparison was taken: {found.reason}"
        return replace(blank, warnings=(warning,))
    return replace(blank, comparisons=_graded(table, found, options, raw_data=True))


def _markdown(blank: Source, text: str, options: Options) -> Source:
    document = parse_markdown(text)
    comparisons: list[Comparison] = []
    warnings = list(document.warnings)
    for table in document.tables:
        if len(comparisons) >= COMPARISONS_MAX:
            warnings.insert(0, f"tables from line {table.line} on were not read; too many")
            break
        found = comparisons_of(table, options.decimal)
        if not isinstance(found, NotUnderstood):
            comparisons += _graded(table, found, options, raw_data=False)
        elif not found.benign:
            warnings.append(
                f"line {table.line}: no comparison was taken from the table: {found.reason}"
            )
        else:
            warnings.append(f"line {table.line}: the table is not a comparison: {found.reason}")
    if not document.tables:
        warnings.append("no table was found")
    headings = {heading.line for heading in document.headings}
    return replace(
        blank,
        comparisons=tuple(comparisons),
        claims=claims_in(prose for prose in document.prose if prose.line not in headings),
        facts=facts_in(document.prose),
        warnings=(*warnings, *_disagreements(comparisons)),
    )


def _graded(
    table: Table, found: Sequence[Comparison], options: Options, *, raw_data: bool
) -> tuple[Comparison, ...]:
    facts = facts_in(table.context)
    gates = any("gate" in prose.text.lower() for prose in table.context)
    return tuple(
        graded(
            replace(comparison, facts=facts),
            raw_data=raw_data,
            gates=gates,
            live=options.live,
        )
        for comparison in found
    )


def _disagreements(comparisons: Sequence[Comparison]) -> list[str]:
    """A warning for each stated gain that its own row does not give."""
    return [
        f"line {row.line}: {comparison.cell_kind} {row.cell:g} states {row.stated.text}, "
        f"its values give {row.computed_gain:+.1%}"
        for comparison in comparisons
        for row in comparison.cells
        if row.agrees is False and row.stated is not None and row.computed_gain is not None
    ]
