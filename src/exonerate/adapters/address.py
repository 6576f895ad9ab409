"""Where a URL points: host, port, TLS or not, and the path before the endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from exonerate.errors import ExonerateError

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a hop's URL that a connection needs."""

    host: str
    port: int
    secure: bool
    base_path: str = ""

    @property
    def authority(self) -> str:
        """The `Host` header: the port only where it is not the default one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _DEFAULT_PORTS["https" if self.secure else "http"]
        return host if self.port == default else f"{host}:{self.port}"

    def target(self, path: str) -> str:
        """The request target of an endpoint under this URL."""
        return f"{self.base_path}{path}" if path.startswith("/") else f"{self.base_path}/{path}"


def parse_address(url: str) -> Address:
    """The address of an http or https URL; raises ExonerateError for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _unusable(url, str(error)) from error
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise _unusable(url, "it must begin with `http://` or `https://` and name a host")
    return Address(
        host=parts.hostname,
        port=port or _DEFAULT_PORTS[parts.scheme],
        secure=parts.scheme == "https",
        base_path=parts.path.rstrip("/"),
    )


def _unusable(url: str, why: str) -> ExonerateError:
    return ExonerateError(
        f"`{url}` is no URL that can be probed: {why}", "example: http://127.0.0.1:8000"
    )
