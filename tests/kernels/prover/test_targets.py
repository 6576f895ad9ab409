"""Names of targets."""

from __future__ import annotations

import pytest

from exonerate.errors import ExonerateError
from exonerate.kernels.prover.targets import open_target, require


@pytest.mark.parametrize(
    ("name", "problem", "hint"),
    [
        ("nonsense", "`nonsense` is no target", "torch-split"),
        ("exec:", "names no command", "exec:./attend"),
    ],
)
def test_a_name_that_means_nothing_is_refused(name: str, problem: str, hint: str) -> None:
    """The answer says which names mean something."""
    with pytest.raises(ExonerateError, match=problem) as error:
        open_target(name)
    assert hint in error.value.hint


def test_a_missing_library_says_which_extra_to_install() -> None:
    """Without an optional module the hint is a command, not a traceback."""
    require("numpy")
    with pytest.raises(ExonerateError, match="`no_such_module` is not installed"):
        require("no_such_module")
