"""What is read back from a result file of `bench`."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.core.workload.result_blocks import MAGIC, encode_json
from exonerate.errors import ExonerateError
from exonerate.jobs.bench_result import read_result


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A file that is no result names itself and says which one to give."""
    other = tmp_path / "notes.txt"
    other.write_bytes(b"not a result")
    with pytest.raises(ExonerateError, match="notes"):
        read_result(other)


def test_a_run_that_broke_off_before_its_first_request_is_an_empty_result(tmp_path: Path) -> None:
    """A header and a note are enough to say what was asked and that it was interrupted."""
    out = tmp_path / "run.exbench"
    note = encode_json({"type": "note", "text": "interrupted"})
    out.write_bytes(MAGIC + encode_json({"type": "header", "cells": []}) + note)
    result = read_result(out)
    assert result.cells == ()
    assert result.notes == ("interrupted",)
