"""URLs as arguments of commands."""

from __future__ import annotations

from typing import Any

import click

from exonerate.core.deployment.fields import url_problem


class Url(click.ParamType[str]):
    """`http://host:port`; a bare `host:port` is taken for http."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The URL without a slash at its end."""
        text = str(value)
        if "://" not in text:
            text = f"http://{text}"
        expected = url_problem(text)
        if expected is not None:
            self.fail(f"`{value}` is not {expected}", param, ctx)
        return text.rstrip("/")
