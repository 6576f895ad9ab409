"""Puts load generators side by side: one engine, one load, and what each reports beside the truth.

    python benchmarks/run_peers.py install --tokenizer .venv-engines/model
    python benchmarks/run_peers.py measure --mode step:0.01 -C 64 --requests 1152 --rounds 3
    python benchmarks/run_peers.py measure --mode inter -C 64 --requests 2000 --rounds 3
    python benchmarks/run_peers.py table peers.jsonl

The engine (`run_peers_engine.py`) notes when it got each request and when it sent each event, so
what a client reports can be held against what happened. `install` makes an environment for each
client with exact versions; one that cannot be installed is left out, and `measure` says so.
`measure` runs the clients in an order drawn anew for each round and appends one JSON line for each
run; `table` folds them. CPU time is that of the client's whole process tree. Nothing is fetched
while clients run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from run_peers_clients import CLIENTS, TOKENS, Client, Load, python_of
from run_peers_watch import Watch
from scripted_engine import page, scripted_engine

FOLDER = Path(__file__).parent
PORT = 8124
PROGRAM = "run_peers_engine.py"
LIMIT_S = 240.0
SPOKEN = re.compile(
    r"(?i)bottleneck|overload|saturat|event loop|\blag|client.{0,30}(slow|bound|limit)|\bcpu\b"
)
COLUMNS = (
    "client",
    "runs",
    "CPU µs an event",
    "whole command",
    "events/s",
    "TTFT p50: reported / true",
    "p90",
    "p99",
    "ITL p50: reported / true",
    "p99",
    "memory, processes",
    "start, end",
)
LINES_KEPT = 8
"""Of what a client prints about itself."""


def install(options: argparse.Namespace) -> int:
    """An environment for each client; returns how many could not be made."""
    failed = 0
    for client in CLIENTS:
        if client.environment in (None, "vllm") or client.name.endswith("Rust client"):
            continue
        folder = options.environments / str(client.environment)
        python = folder / "bin" / "python"
        steps = [[client.python, "-m", "venv", str(folder)]] if not python.exists() else []
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if client.no_dependencies:
            steps.append([*pip, "--no-deps", client.no_dependencies])
        steps.append([*pip, "-r", str(FOLDER / "peers" / f"{client.environment}.txt")])
        for step in steps:
            if subprocess.run(step, check=False).returncode != 0:
                print(f"{client.name}: `{' '.join(step)}` failed", file=sys.stderr)
                failed += 1
                break
    return failed


def measure(options: argparse.Namespace) -> int:
    """Every client in every round; returns how many runs did not end well."""
    wanted = [client for client in CLIENTS if not options.only or client.name in options.only]
    failed = 0
    for number in range(options.rounds):
        order = random.Random(f"{options.seed}/{number}").sample(wanted, len(wanted))
        for client in order:
            row = {"round": number, "mode": options.mode, "C": options.concurrency}
            row |= {"client": client.name, "load_average": os.getloadavg()[0]}
            row |= run(client, options)
            failed += row["status"] != 0
            print(json.dumps(row), flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return failed


def run(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    """One client, once."""
    python = python_of(client, options.environments)
    if not Path(python).exists():
        return {"status": "not installed"}
    engine = scripted_engine(PROGRAM, port=PORT, mode=options.mode, tokens=TOKENS)
    with engine as url, tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        tokenizer = options.tokenizer.absolute()
        load = Load(url, options.concurrency, options.requests, tokenizer, out)
        began_ns, before = time.monotonic_ns(), _children_cpu_s()
        with (out / "stdout").open("wb") as stdout, (out / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                client.command(python, load),
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
                env={**os.environ, "COLUMNS": "200", "TERM": "dumb", **client.settings},
            )
            watch = Watch(process.pid, url)
            with watch.running():
                status = _wait(process)
        ended_ns = time.monotonic_ns()
        row = truth(page(url, "sent"), options.requests, began_ns, ended_ns)
        return {
            "status": status,
            **row,
            "cpu_us_per_event": watch.cpu_us_per_event(),
            "whole_us_per_event": _us_per_event(watch, _children_cpu_s() - before, row),
            "memory_mib": round(watch.memory_kib / 1024, 1),
            "processes": watch.processes,
            **reported(client, out, status),
        }


def reported(client: Client, out: Path, status: int) -> dict[str, Any]:
    """What the client says: numbers, and warnings in its result and on its screen."""
    # A client-bound result of ours leaves with status 2; it is a report all the same.
    if status not in (0, 2):
        return {"said": (out / "stderr").read_text(errors="replace")[-600:]}
    lines = [
        line.strip()
        for name in ("stdout", "stderr")
        for line in (out / name).read_text(errors="replace").splitlines()
        if SPOKEN.search(line) and len(line) < 400
    ]
    lines += [
        line.strip()
        for path in sorted(out.rglob("*.log"))
        for line in path.read_text(errors="replace").splitlines()
        if SPOKEN.search(line) and len(line) < 400
    ]
    return {
        "status": 0,
        "reported": client.read(out),
        "warnings": client.warnings(out),
        "spoken": list(dict.fromkeys(lines))[:LINES_KEPT],
    }


def truth(sent: Sequence[Any], requests: int, began_ns: int, ended_ns: int) -> dict[str, Any]:
    """What the engine did: the last so many requests, a trial request at the beginning left out."""
    rows = sorted(sent, key=lambda one: one[1])[-requests:]
    if not rows:
        return {"requests_true": 0}
    ttft = sorted((times[0] - asked) / 1e6 for _, asked, times in rows)
    itl = sorted((later - one) / 1e6 for _, _, times in rows for one, later in pairwise(times))
    first_ns, last_ns = rows[0][1], max(times[-1] for _, _, times in rows)
    return {
        "requests_true": len(rows),
        "events": sum(len(times) for _, _, times in sent),
        "ttft_p50_true_ms": _at(ttft, 0.5),
        "ttft_p90_true_ms": _at(ttft, 0.9),
        "ttft_p99_true_ms": _at(ttft, 0.99),
        "itl_p50_true_ms": _at(itl, 0.5),
        "itl_p99_true_ms": _at(itl, 0.99),
        "events_per_s": len(rows) * TOKENS / ((last_ns - first_ns) / 1e9),
        "start_s": (first_ns - began_ns) / 1e9,
        "end_s": (ended_ns - last_ns) / 1e9,
    }


def table(options: argparse.Namespace) -> int:
    """The runs of a file as Markdown: medians, and the range where there are several rounds."""
    rows = [json.loads(line) for line in options.file.read_text().splitlines()]
    for mode, concurrency in dict.fromkeys((row["mode"], row["C"]) for row in rows):
        print(f"\n{mode}, C = {concurrency}\n")
        print(f"| {' | '.join(COLUMNS)} |")
        print("|---" * len(COLUMNS) + "|")
        for client in CLIENTS:
            chosen = [row for row in rows if (row["mode"], row["C"]) == (mode, concurrency)]
            chosen = [row for row in chosen if row["client"] == client.name]
            if chosen:
                print(_line(client.name, chosen))
    return 0


def _line(name: str, rows: Sequence[dict[str, Any]]) -> str:
    good = [row for row in rows if row["status"] == 0]
    if not good:
        return f"| {name} | {rows[-1]['status']} |" + " |" * 10
    pairs = [
        _pair(good, metric) for metric in ("ttft_p50", "ttft_p90", "ttft_p99", "itl_p50", "itl_p99")
    ]
    cells = [
        str(len(good)),
        _range(good, "cpu_us_per_event"),
        _range(good, "whole_us_per_event"),
        f"{_median(good, 'events_per_s'):,.0f}",
        *pairs,
        f"{_median(good, 'memory_mib'):,.0f} MiB, {_median(good, 'processes'):.0f}",
        f"{_median(good, 'start_s'):.1f} s, {_median(good, 'end_s'):.1f} s",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _pair(rows: Sequence[dict[str, Any]], metric: str) -> str:
    """Reported and true medians over the rounds."""
    said = [row["reported"].get(f"{metric}_ms") for row in rows]
    known = [value for value in said if value is not None]
    ours = f"{statistics.median(known):.2f}" if known else "-"
    return f"{ours} / {_median(rows, f'{metric}_true_ms'):.2f}"


def _range(rows: Sequence[dict[str, Any]], name: str) -> str:
    values = sorted(row[name] for row in rows if row[name] is not None)
    if not values:
        return "-"
    middle = f"{statistics.median(values):.1f}"
    return middle if len(values) < 2 else f"{middle} [{values[0]:.1f}, {values[-1]:.1f}]"


def _median(rows: Sequence[dict[str, Any]], name: str) -> float:
    return float(statistics.median(row[name] for row in rows))


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -1


def _us_per_event(watch: Watch, waited_s: float, row: dict[str, Any]) -> float | None:
    """Start and end included; the kernel's sum misses children that nobody waited for."""
    spent_s = max(waited_s, sum(watch.cpu_s.values()))
    return 1e6 * spent_s / row["events"] if row.get("events") else None


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _at(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)


def main() -> int:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["install", "measure", "table"])
    parser.add_argument("file", type=Path, nargs="?", default=Path("peers.jsonl"))
    parser.add_argument("--environments", type=Path, default=Path(".venv-peers"))
    parser.add_argument("--tokenizer", type=Path, default=Path(".venv-engines/model"))
    parser.add_argument("--mode", default="step:0.01")
    parser.add_argument("-C", "--concurrency", type=int, default=64)
    parser.add_argument("--requests", type=int, default=1152)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a client's name; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("peers.jsonl"))
    options = parser.parse_args()
    return {"install": install, "measure": measure, "table": table}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
