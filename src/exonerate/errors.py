"""The one error that is the operator's to act on."""

from __future__ import annotations


class ExonerateError(Exception):
    """Something the operator can change; says what happened and what to do about it.

    Failures of the system under test are observations, not exceptions; a defect of Exonerate
    crashes with its traceback.

    Args:
        problem: one sentence without a full stop, with backticks round commands and paths.
        hint: what to do now, same form; printed after a blank line as ``hint: ...``.
    """

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
