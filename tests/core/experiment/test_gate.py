"""Gates and the cells they break."""

from __future__ import annotations

from exonerate.core.experiment.gate import Gate, broken_cells


def test_a_gate_of_the_whole_breaks_every_cell() -> None:
    """A gate without a cell breaks all of them, and reasons add up."""
    gates = [Gate("environment", "broken", "wrong value"), Gate("errors", "broken", "3 failed", 8)]
    assert broken_cells(gates, [1, 8]) == {1: "wrong value", 8: "wrong value; 3 failed"}


def test_doubts_and_blind_spots_break_nothing() -> None:
    """Only a broken gate makes a cell invalid."""
    gates = [
        Gate("order", "doubtful", "always first"),
        Gate("tokens", "not_examined", "?"),
        Gate("errors", "kept", "none", 8),
    ]
    assert broken_cells(gates, [1, 8]) == {}
