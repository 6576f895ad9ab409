"""What the load loop counts of itself and of the answers that have ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from exonerate.adapters.load_flight import Flight
from exonerate.core.workload.result_blocks import RequestRecord


@dataclass(slots=True)
class LoopFacts:
    """What the loop saw of itself."""

    connections: int = 0
    resent: int = 0
    sent: int = 0
    sending_lag_ns: int = 0
    """Summed over the requests: how long after its intended time each was begun."""
    in_flight: int = 0
    in_flight_peak: int = 0
    events: int = 0
    failed: int = 0
    ended: int = 0
    fresh_connections: bool = False
    """The peer closes after each answer, so a new connection is opened for each request."""
    notes: list[str] = field(default_factory=list)

    def count(self, flight: Flight, record: RequestRecord) -> None:
        """An answer that has ended, and why its content could not be read, once each."""
        self.events += record.events
        self.failed += not record.complete
        unread = None if record.complete else flight.answer.unread
        if unread is not None and unread not in self.notes:
            self.notes.append(unread)
