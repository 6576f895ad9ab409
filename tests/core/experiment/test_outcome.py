"""What a comparison comes to as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from exonerate.core.experiment.outcome import outcome_of


def answer(primary: str, cells: tuple[str, ...] = (), guards: tuple[str, ...] = ()) -> Any:
    """The parts of an answer that count."""
    return {
        "primary": {"verdict": primary},
        "cells": [{"verdict": verdict} for verdict in cells],
        "guards": [{"verdict": verdict} for verdict in guards],
    }


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (answer("better"), "better"),
        (answer("flat", ("flat", "undecided")), "flat"),
        (answer("better", ("better", "worse")), "worse"),
        (answer("undecided", ("worse",)), "worse"),
        (answer("invalid", ("worse",)), "invalid"),
        (answer("better", guards=("no regression shown",)), "better"),
        (answer("better", guards=("regression not excluded",)), "undecided"),
        (answer("flat", guards=("no regression shown", "regression not excluded")), "undecided"),
        (answer("worse", guards=("regression not excluded",)), "worse"),
    ],
)
def test_a_bad_part_is_never_outweighed(given: Any, outcome: str) -> None:
    """A lost cell makes it worse, an uncleared guard undecided, a broken gate invalid."""
    assert outcome_of(given) == outcome
