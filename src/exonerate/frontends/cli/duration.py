"""A time on the command line."""

from __future__ import annotations

import click

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """`60`, `60s`, `2m`: a time in seconds."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        text = str(value).strip()
        factor = _UNITS.get(text[-1:])
        try:
            seconds = float(text[:-1]) * factor if factor else float(text)
        except ValueError:
            self.fail(f"`{value}` is not a time; write for example 60s or 2m", param, ctx)
        if not 0 < seconds <= 86400:
            self.fail(f"`{value}` is not between 0 and 24 h", param, ctx)
        return seconds
