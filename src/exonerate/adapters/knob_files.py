"""What the knobs of a deployment are set to in their files, right now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exonerate.core.deployment.knobs import effective_value, meant_value
from exonerate.core.deployment.model import Deployment, Knob
from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True)
class KnobReading:
    """One knob as its file has it.

    `written` is None where the file does not set it; `live` is then the knob's default. With an
    `error` nothing is known.
    """

    knob: Knob
    written: str | None
    live: str | None
    error: str | None = None


def read_knob(deployment: Deployment, knob: Knob) -> KnobReading:
    """Read one knob; that its file cannot be read or understood is part of the answer."""
    path = Path(deployment.folder) / knob.file
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device could have no end.
            return KnobReading(knob, None, None, f"`{knob.file}`: not a regular file")
        written = effective_value(path.read_bytes(), knob)
    except OSError as error:
        return KnobReading(knob, None, None, f"`{knob.file}`: {error.strerror}")
    except ExonerateError as error:
        return KnobReading(knob, None, None, error.problem)
    return KnobReading(knob, written, meant_value(knob, written))
