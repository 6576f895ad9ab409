"""URLs as arguments of commands."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import click


class Url(click.ParamType[str]):
    """`http://host:port`; a bare `host:port` is taken for http."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The URL without a slash at its end."""
        text = str(value)
        if "://" not in text:
            text = f"http://{text}"
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            self.fail(f"`{value}`: the port is 1 to 65535", param, ctx)
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            self.fail(f"`{value}` is not like http://127.0.0.1:8000", param, ctx)
        return text.rstrip("/")
