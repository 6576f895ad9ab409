"""A private certificate authority for tests, by the `openssl` program."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """An authority whom no host knows unless it is told."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """What a client must know."""
        return self.folder / "ca.pem"

    def sign(self, name: str, *, days: int = 2) -> Pair:
        """A certificate for that address or host name; below 0 days it has expired."""
        kind = "IP" if name.replace(".", "").isdigit() else "DNS"
        files = Pair(self.folder / f"{name}{days}.pem", self.folder / f"{name}{days}.key")
        request = self.folder / f"{name}{days}.csr"
        extension = self.folder / f"{name}{days}.ext"
        extension.write_text(f"subjectAltName={kind}:{name}\n")
        _openssl("req", *_KEY, "-subj", "/CN=test", "-keyout", files.key, "-out", request)
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
            self.folder / "ca.key", "-CAcreateserial", "-extfile", extension,
            "-days", str(days), "-out", files.certificate,
        )  # fmt: skip
        return files


def authority_in(folder: Path) -> Authority:
    """A new authority whose files lie in that folder."""
    made = Authority(folder)
    _openssl(
        "req", "-x509", *_KEY, "-days", "2", "-subj", "/CN=private authority",
        "-keyout", folder / "ca.key", "-out", made.certificate,
    )  # fmt: skip
    return made


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
