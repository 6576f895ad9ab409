"""Searches the parsers of the wire for input that breaks them, with coverage as the guide.

`make fuzz` installs atheris and runs every target for a minute each (`make fuzz SECONDS=600`); an
input that fails is written into the folder `fuzz-findings`. One target:
`python scripts/fuzz_parsers.py --target http2 --seconds 60`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "fuzz-findings"
INPUT_BYTES_MAX = 4096
ONE_INPUT_S_MAX = 20
MEMORY_MIB_MAX = 2048


def main() -> int:
    """Run one target, or each in a process of its own; 1 where one of them found something."""
    sys.path.insert(0, str(ROOT))
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--target", help="one of them; default: all, one after the other")
    options.add_argument("--seconds", type=int, default=60, help="for each target")
    given = options.parse_args()
    FINDINGS.mkdir(exist_ok=True)
    if given.target is not None:
        search(given.target, given.seconds)
    from tests.fuzz.targets import TARGETS

    failed = [name for name in TARGETS if not _holds(name, given.seconds)]
    for name in failed:
        sys.stderr.write(f"{name}: an input that breaks it lies in {FINDINGS}\n")
    if not any(FINDINGS.iterdir()):
        FINDINGS.rmdir()
    return 1 if failed else 0


def search(name: str, seconds: int) -> None:
    """Search one target; ends the process."""
    import atheris

    with atheris.instrument_imports(include=["exonerate.core", "tests.fuzz"]):
        from tests.fuzz.targets import SEEDS, TARGETS
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS[name]):
            (Path(corpus) / f"seed{number}").write_bytes(seed)
        arguments = [
            sys.argv[0], f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}",
            f"-timeout={ONE_INPUT_S_MAX}", f"-rss_limit_mb={MEMORY_MIB_MAX}", "-verbosity=1",
            f"-artifact_prefix={FINDINGS}/{name}-", corpus,
        ]  # fmt: skip
        atheris.Setup(arguments, TARGETS[name])
        atheris.Fuzz()


def _holds(name: str, seconds: int) -> bool:
    sys.stderr.write(f"{name}: {seconds} s\n")
    command = [sys.executable, __file__, "--target", name, "--seconds", str(seconds)]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
