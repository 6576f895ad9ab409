"""Capture files as an operator hands them over."""

from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.jobs.capture import read_capture


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"log": {"entries": []}}', b"\xff\xfe"])
def test_a_file_without_a_request_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    """The message names the file and says what is needed."""
    path = tmp_path / "capture.har"
    path.write_bytes(content)
    with pytest.raises(ExonerateError, match=r"capture\.har") as refused:
        read_capture(path)
    assert refused.value.hint


def test_a_file_that_is_missing_is_refused_in_words(tmp_path: Path) -> None:
    """No traceback for a wrong name."""
    with pytest.raises(ExonerateError, match="cannot be read"):
        read_capture(tmp_path / "none.har")
