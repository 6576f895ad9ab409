"""Asking before a change, and how its end becomes an exit status."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.knob_desk import confirm, ended


def test_a_yes_is_not_asked_for_again() -> None:
    """Nothing is even drawn up to be shown."""

    def never() -> str:
        raise AssertionError("shown")

    confirm("change it", never, yes=True)


def test_nobody_to_ask_is_a_refusal_with_the_way_out() -> None:
    """The hint names the dry run and the flag."""
    with CliRunner().isolation(), pytest.raises(ExonerateError, match="no terminal") as error:
        confirm("change it", lambda: "", yes=False)
    assert "--dry-run" in error.value.hint
    assert "--yes" in error.value.hint


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("committed", exit_status.DONE),
        ("rolled-back", exit_status.OPERATOR),
        ("rollback-failed", exit_status.OPERATOR),
        ("refused", exit_status.OPERATOR),
    ],
)
def test_only_a_committed_change_is_done(outcome: str, status: int) -> None:
    """Every other end needs the operator."""
    with CliRunner().isolation():
        assert ended({"outcome": outcome}, as_json=True) == status
