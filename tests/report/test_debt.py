"""The debt as an operator reads it."""

from __future__ import annotations

from exonerate.core.json_types import JsonObject
from exonerate.report.debt import debt_text

ITEM: JsonObject = {
    "knob": "K",
    "live": "256",
    "was": "512",
    "since": "2026-01-01T00:00:00Z",
    "hypothesis": "512 hangs it",
    "state": "refuted",
    "why_listed": "the reason for it is refuted",
    "class": "priced",
    "price": [{"cell": 64, "loss": 0.114, "ci": [0.08, 0.14], "grade": "A", "source": "v1"}],
}


def text(**changed: object) -> str:
    """The words for one item."""
    item: dict[str, object] = {**ITEM, **changed}
    return debt_text({"items": [item]})  # type: ignore[list-item]  # JSON by construction


def test_item_shows_values_state_and_price() -> None:
    """A reader sees what the knob is and was, what became of the reason, and the loss."""
    for part in ("K", "live 256, was 512", "refuted", "11.4 %", "[+8.0, +14.0] %"):
        assert part in text()


def test_provisional_and_stale_prices_are_called_so() -> None:
    """A grade D price and one from another environment say what they are worth."""
    shown = text(**{"price": [{"cell": 64, "loss": 0.1, "grade": "D"}], "class": "stale"})
    assert "D (provisional)" in shown
    assert "another environment" in shown


def test_unpriced_item_shows_no_number() -> None:
    """Without evidence there is no number that could be taken for a price."""
    shown = text(**{"price": [], "class": "unpriced"})
    assert "unpriced" in shown
    assert "%" not in shown


def test_no_debt_is_said() -> None:
    """An empty debt is a sentence, not an empty screen."""
    assert debt_text({"items": []}) == "no revert stands"
