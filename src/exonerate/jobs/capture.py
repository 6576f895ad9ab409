"""A capture of the victim's requests: a HAR, or a tap's own recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.case.records import Record
from exonerate.core.deployment.model import Victim
from exonerate.core.diagnosis.client.captures import recording, requests_in
from exonerate.core.diagnosis.client.judge import events_of
from exonerate.core.diagnosis.client.observed import OBSERVE_SCENE
from exonerate.core.diagnosis.client.victim_shape import SentRequest, model_of, victim_of
from exonerate.core.json_access import parse_json
from exonerate.core.json_types import JsonObject
from exonerate.core.wire.tapped import tapped_exchange_from_json
from exonerate.errors import ExonerateError

CAPTURE_BYTES_MAX = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Capture:
    """What the victim sent, as far as its shape matters."""

    sent: Sequence[SentRequest]

    @property
    def model(self) -> str | None:
        """The model that it named."""
        return model_of(self.sent)

    def victim(self, base: Victim) -> Victim:
        """The victim that sends such requests."""
        return victim_of(self.sent, base)


def read_capture(path: Path) -> Capture:
    """The capture in a file.

    Raises:
        ExonerateError: it cannot be read, or holds no request to a model.
    """
    try:
        if path.stat().st_size > CAPTURE_BYTES_MAX:
            raise ExonerateError(f"`{path}` is larger than 256 MiB", "cut the capture")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ExonerateError(f"`{path}` cannot be read: {error}", "check the file") from error
    sent = requests_in(parse_json(text))
    if not sent:
        raise ExonerateError(
            f"`{path}` holds no request to a model",
            "give a HAR with request bodies, or the recording of a tap (`exonerate.tap/1`)",
        )
    return Capture(sent)


def recording_of(records: Sequence[Record]) -> JsonObject:
    """What crossed the tap in a run, as `read_capture` reads it again; it holds no text."""
    crossed = [event.data for event in events_of(records, OBSERVE_SCENE)]
    return recording([tapped_exchange_from_json(data) for data in crossed if "asked" in data])
