"""The raw records of a benchmark as a Parquet file, through the extra `parquet`.

Written after the run and in row groups, so that a result of any size needs little memory, and under
another name until it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from exonerate.core.json_types import Json, JsonObject
from exonerate.errors import ExonerateError

ROW_GROUP = 50_000
TEXTS = frozenset({"end", "finish_reason"})
HEADER_KEY = "exonerate.bench"
"""The file's own metadata holds the header of the run under this key, as JSON."""


def check_parquet() -> None:
    """Whether this installation writes Parquet.

    Raises:
        ExonerateError: the extra is missing.
    """
    if find_spec("pyarrow") is None:
        raise ExonerateError(
            "Parquet is written by `pyarrow`, which is not installed",
            "pip install exonerate[parquet], or `--format csv`, or read the .exbench file itself "
            "(docs/performance.md)",
        )


def write_parquet(
    rows: Iterable[Mapping[str, Json]],
    path: Path,
    *,
    header: JsonObject,
    like: Mapping[str, Json],
) -> int:
    """Write the rows; returns how many there were. All have the keys of `like`, as its columns.

    Raises:
        ExonerateError: the extra is missing, or the file cannot be written.
    """
    check_parquet()
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        count = _write(iter(rows), unfinished, header, like)
        unfinished.replace(path)
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be written: {error.strerror or error}", "name another file"
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
    return count


def _write(
    rows: Iterator[Mapping[str, Json]], path: Path, header: JsonObject, like: Mapping[str, Json]
) -> int:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    schema = _schema(arrow, like).with_metadata({HEADER_KEY: orjson.dumps(header)})
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def _schema(arrow: Any, row: Mapping[str, Json]) -> Any:
    """A column is a number, a truth or one of few texts; any of them but a truth may be missing."""
    return arrow.schema([arrow.field(name, _kind(arrow, name, row[name])) for name in row])


def _kind(arrow: Any, name: str, value: Json) -> Any:
    if isinstance(value, bool):
        return arrow.bool_()
    return arrow.string() if name in TEXTS else arrow.int64()
