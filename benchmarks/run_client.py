"""Measures the load generator side by side with the physical limit, and against the truth.

    python benchmarks/run_client.py cpu   --mode step:0.01 -C 64 --seconds 60 --rounds 3
    python benchmarks/run_client.py truth -C 64,96,256 --seconds 20 --burners 2
    python benchmarks/run_client.py scale --requests 20000
    python benchmarks/run_client.py peer  --mode step:0.01 -C 64 -- COMMAND …

`cpu` plays the same load by `bare_loop.py`, plain and batched, and by a worker of `exonerate
bench`, in turn, and prints the CPU time for each event and both ratios. `truth` compares the
client's stamps with the times at which the engine says it sent, also while other processes burn the
cores. `scale` plays two million events without delay and prints memory, start, end and bytes on
disk. `peer` runs any other client against the same engine and counts the CPU time of its whole
process tree. One JSON line for each measurement goes to stdout; what was measured where, and on
what a busy machine does to it, is for whoever runs it to say.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from scripted_engine import page, scripted_engine

FOLDER = Path(__file__).parent
PORT = 8123
TOKENS = 100
PROMPT_TOKENS = 40
BARE_LOOPS: dict[str, tuple[Any, ...]] = {
    "plain bare loop": (0,),
    "plain bare loop of ordinary priority": (0, "ordinary"),
    "batched bare loop": (1,),
}
"""Whether it sleeps between reads, and what else it is told."""


def engine(mode: str) -> AbstractContextManager[str]:
    """The scripted engine, until the block ends."""
    return scripted_engine("paced_engine.py", port=PORT, mode=mode, tokens=TOKENS)


@contextmanager
def burners(number: int) -> Iterator[None]:
    """Processes that use as much CPU as they get."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def stats(url: str) -> Any:
    """The engine's counters."""
    return page(url, "stats")


def bench(url: str, concurrency: int, requests: int, out: Path, batch_ms: float) -> Any:
    """Run `exonerate bench`; returns its JSON and what its process used."""
    command = [sys.executable, "-m", "exonerate", "bench", url, "-m", "mock", "--json", "-q"]
    command += ["-C", str(concurrency), "-n", str(requests), "--prompt-tokens", str(PROMPT_TOKENS)]
    command += ["--output-tokens", str(TOKENS), "--out", str(out), "--batch-ms", str(batch_ms)]
    # A result that is client-bound leaves with status 2; it is a measurement all the same.
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def play_cpu(options: argparse.Namespace) -> None:
    """The limits and ours, in turn.

    The plain loop reads at once whatever is there, once with our priority and once without; the
    batched one waits half a millisecond between two rounds of reads, as ours does.
    """
    concurrency = int(options.concurrency.split(",")[0])
    paced = options.mode.startswith("step")
    rate = concurrency / (0.06 + TOKENS * float(options.mode[5:])) if paced else 1500.0
    requests = max(concurrency, int(options.seconds * rate))
    wanted = {who: BARE_LOOPS[who] for who in options.loop or BARE_LOOPS}
    ratios: dict[str, list[float]] = {who: [] for who in wanted}
    with engine(options.mode) as url, tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            loops = {
                who: _bare(url, concurrency, requests, [str(options.batch_ms / 1000 * batch), *how])
                for who, (batch, *how) in wanted.items()
            }
            ours = _ours(url, concurrency, requests, Path(folder) / "run", options.batch_ms)
            for who, row in (*loops.items(), ("load worker", ours)):
                say({"what": "cpu", "round": number, "mode": options.mode, "who": who, **row})
            for who, row in loops.items():
                ratios[who].append(ours["cpu_us_per_event"] / row["cpu_us_per_event"])
    for who, values in ratios.items():
        named = {"what": f"load worker / {who}", "mode": options.mode, "C": concurrency}
        say({**named, "ratios": rounded(values)})


def _bare(url: str, concurrency: int, requests: int, how: list[str]) -> dict[str, Any]:
    before = stats(url)
    command = [sys.executable, str(FOLDER / "bare_loop.py"), str(PORT), str(requests)]
    command += [str(concurrency), *how]
    loop = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    after = stats(url)
    events = after["events"] - before["events"]
    return {
        "C": concurrency,
        "events": events,
        "events_per_s": round(events / loop["took_s"]),
        "cpu_us_per_event": round(1e6 * loop["cpu_s"] / events, 2),
        "engine_us_per_event": round(1e6 * (after["cpu_s"] - before["cpu_s"]) / events, 2),
        "reads_per_event": round(loop["reads"] / events, 3),
    }


def _ours(url: str, concurrency: int, requests: int, out: Path, batch_ms: float) -> dict[str, Any]:
    before, used = stats(url), children_cpu_s()
    answer = bench(url, concurrency, requests, out, batch_ms)
    after, used = stats(url), children_cpu_s() - used
    events = after["events"] - before["events"]
    cell = answer["cells"][0]
    instrument = cell["instrument"]
    return {
        "C": concurrency,
        "events": events,
        "recorded_events": cell["counted_events"],
        "events_per_s": round(cell["output_tokens_per_s"] or 0),
        "cpu_us_per_event": round(1e6 * instrument["cpu_s"] / events, 2),
        "whole_command_us_per_event": round(1e6 * used / events, 2),
        "engine_us_per_event": round(1e6 * (after["cpu_s"] - before["cpu_s"]) / events, 2),
        "lag_ms_p99": instrument["lag_ms_p99"],
        "censored_share": round(instrument["censored_share"], 4),
        "valid": answer["valid"],
    }


def play_truth(options: argparse.Namespace) -> None:
    """Our stamps against the engine's own send times."""
    for text in options.concurrency.split(","):
        concurrency = int(text)
        requests = max(concurrency, int(options.seconds * concurrency / (0.06 + TOKENS * 0.01)))
        with (
            engine(options.mode) as url,
            tempfile.TemporaryDirectory() as folder,
            burners(options.burners),
        ):
            out = Path(folder) / "run"
            answer = bench(url, concurrency, requests, out, options.batch_ms)
            sent = {int(name.rpartition("-")[2]): times for name, _, times in page(url, "sent")}
            say(
                {
                    "what": "truth",
                    "C": concurrency,
                    "burners": options.burners,
                    **compare_with_truth(out, sent),
                    "valid": answer["valid"],
                    "late_steps": stats(url)["late_steps"],
                }
            )


def compare_with_truth(out: Path, sent: dict[int, list[int]]) -> dict[str, Any]:
    """Medians and tails of TTFT and ITL as the engine sent them and as the client saw them."""
    from exonerate.core.workload.result_blocks import RequestRecord, decode_blocks

    found: dict[str, list[float]] = {
        name: [] for name in ("ttft", "ttft_true", "itl", "itl_true", "late", "error", "read_error")
    }
    censored = events = 0
    for record in decode_blocks(out.read_bytes()):
        if not isinstance(record, RequestRecord) or record.index not in sent:
            continue
        arrivals, truth = record.placed_arrivals_ns(), sent[record.index]
        assert len(arrivals) == len(truth), "every event is recorded"
        hidden = {
            event
            for read in record.coalesced
            for event in range(read.first_event, read.first_event + read.events - 1)
        }
        censored += record.censored
        events += record.events
        found["ttft"].append((arrivals[0] - record.begun_ns) / 1e6)
        found["ttft_true"].append((truth[0] - record.begun_ns) / 1e6)
        found["itl_true"] += [(later - one) / 1e6 for one, later in pairwise(truth)]
        found["itl"] += [(later - one) / 1e6 for one, later in pairwise(arrivals)]
        found["error"] += [
            (arrival - true) / 1e6
            for at, (arrival, true) in enumerate(zip(arrivals, truth, strict=True))
            if at not in hidden
        ]
        found["late"] += [late / 1000 for late in record.lateness_us]
    row: dict[str, Any] = {"events": events, "censored_share": round(censored / events, 4)}
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        for metric in ("ttft", "itl"):
            ours, true = at_share(found[metric], share), at_share(found[f"{metric}_true"], share)
            row[f"{metric}_{name}_ms"] = round(ours, 3)
            row[f"{metric}_{name}_true_ms"] = round(true, 3)
            row[f"{metric}_{name}_off_ms"] = round(ours - true, 3)
        row[f"stamp_error_{name}_ms"] = round(at_share(found["error"], share), 3)
        row[f"client_late_{name}_ms"] = round(at_share(found["late"], share), 3)
    return row


def play_scale(options: argparse.Namespace) -> None:
    """Memory, start, end and disk at very many events."""
    with engine("inter") as url, tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "exonerate", "bench", url, "-m", "mock", "--json", "-q"]
        command += ["-C", "64", "-n", str(options.requests), "--prompt-tokens", "40"]
        command += ["--output-tokens", str(TOKENS), "--out", str(out)]
        begun_ns = time.monotonic_ns()
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        peak_kib = 0
        while process.poll() is None:
            peak_kib = max(peak_kib, resident_kib(process.pid))
            time.sleep(0.05)
        ended_ns = time.monotonic_ns()
        assert process.stdout is not None
        answer = json.loads(process.stdout.read())
        sent, size = page(url, "sent"), out.stat().st_size
    cell = answer["cells"][0]
    events = cell["counted_events"]
    first_ns = min(asked for _, asked, _ in sent)
    last_ns = max(times[-1] for _, _, times in sent)
    worker_mib = cell["instrument"]["resident_mib"]
    say(
        {
            "what": "scale",
            "events": events,
            "command_mib": round(peak_kib / 1024, 1),
            "workers_mib": round(worker_mib, 1),
            "together_mib": round(peak_kib / 1024 + worker_mib, 1),
            "start_to_first_request_s": round((first_ns - begun_ns) / 1e9, 3),
            "last_event_to_exit_s": round((ended_ns - last_ns) / 1e9, 3),
            "bytes_per_event": round(size / events, 2),
            "cpu_us_per_event": round(cell["instrument"]["cpu_us_per_event"], 2),
            "cpu_share": round(cell["instrument"]["cpu_share"], 3),
            "events_per_s": round(cell["output_tokens_per_s"]),
            "invalid_because": cell["instrument"]["why"],
        }
    )


def play_peer(options: argparse.Namespace) -> None:
    """Any other client against the same engine."""
    with engine(options.mode) as url:
        before, used = stats(url), children_cpu_s()
        begun_s = time.monotonic()
        status = subprocess.run(options.command, stdout=subprocess.DEVNULL, check=False).returncode
        took_s = time.monotonic() - begun_s
        after, used = stats(url), children_cpu_s() - used
    events = after["events"] - before["events"]
    say(
        {
            "what": "peer",
            "command": options.command[0],
            "status": status,
            "events": events,
            "took_s": round(took_s, 1),
            "cpu_us_per_event": round(1e6 * used / max(1, events), 2),
        }
    )


def children_cpu_s() -> float:
    """CPU time of every child that has ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def resident_kib(pid: int) -> int:
    """The most memory that a process has had (VmHWM, proc_pid_status(5))."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def at_share(values: Sequence[float], share: float) -> float:
    """A quantile by rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def rounded(values: Sequence[float]) -> list[float]:
    """For reading."""
    return [round(value, 3) for value in values]


def say(row: dict[str, Any]) -> None:
    """One measurement."""
    print(json.dumps(row), flush=True)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cpu", "truth", "scale", "peer"])
    parser.add_argument("--mode", default="step:0.01")
    parser.add_argument("-C", "--concurrency", default="64")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop", action="append", choices=[*BARE_LOOPS], help="of `cpu`; or all")
    parser.add_argument("--burners", type=int, default=0)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--batch-ms", type=float, default=0.5)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    plays = {"cpu": play_cpu, "truth": play_truth, "scale": play_scale, "peer": play_peer}
    plays[options.what](options)


if __name__ == "__main__":
    main()
