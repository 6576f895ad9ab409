"""How long scenarios take, for an honest estimate before a run.

`durations.json` holds the median wall time of each scenario, measured on two cores with one
scenario at a time; `python -m exonerate.lab.durations RESULTS... > durations.json` makes it anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

RECORDED = Path(__file__).parent / "durations.json"
UNKNOWN_S = 45.0
"""For a scenario that nobody has timed: about what most of them take."""


def recorded_s() -> Mapping[str, float]:
    """The recorded wall time of each scenario that was timed."""
    if not RECORDED.exists():
        return {}
    seconds: Mapping[str, float] = json.loads(RECORDED.read_text())
    return seconds


def estimate_s(scenario: str, own: Sequence[float], recorded: Mapping[str, float]) -> float:
    """Seconds that one run will take: as on this host before, else as recorded."""
    return median(own) if own else recorded.get(scenario, UNKNOWN_S)


def medians(rows: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """The median wall time of each scenario in rows of results."""
    found: dict[str, list[float]] = {}
    for row in rows:
        seconds = row.get("wall_s")
        if isinstance(seconds, int | float) and seconds > 0:
            found.setdefault(str(row["scenario"]), []).append(float(seconds))
    return {name: round(median(values), 1) for name, values in sorted(found.items())}


def main(arguments: Sequence[str]) -> int:
    """Print the medians of files of results over what is recorded so far."""
    lines = [line for name in arguments for line in Path(name).read_text().splitlines()]
    merged = {**recorded_s(), **medians([json.loads(line) for line in lines])}
    sys.stdout.write(json.dumps(merged, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
