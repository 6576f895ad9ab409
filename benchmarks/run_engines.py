"""Holds `exonerate bench` and `exonerate locate` against what real engines say of themselves.

    python benchmarks/run_engines.py bench  --vllm-python .venv-engines/bin/python
    python benchmarks/run_engines.py locate --vllm-python .venv-engines/bin/python

`bench` starts llama.cpp and vLLM in turn, runs `exonerate bench -C 1,4,8` and compares counts and
rates with the engine's own counters, read by this program and not by the project. Exit status 1:
something was off by more than one per cent, or a prompt had another length than was asked. `locate`
asks who is to blame on a vLLM that is well, on one with long prompts and on one that is saturated;
an accusation is exit status 1. One JSON line for each row goes to stdout, a table to stderr.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engines_real import Engine, LiveCount, llamacpp, vllm

from exonerate.adapters.address import parse_address
from exonerate.adapters.load_request import RequestMaker
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.plan import Work
from exonerate.core.workload.result_blocks import RequestRecord, decode_blocks
from exonerate.lab.model import fetch_model

FOLDER = Path(__file__).parent
PORT = 8211
OFF_MAX = 0.01
EXONERATE = [sys.executable, "-m", "exonerate"]
DEPLOYMENT = """
[deployment]
name = "real"
model = "smollm2"

[[hop]]
name = "engine"
role = "engine"
url = "{url}"
metrics = "{url}/metrics"

[victim]
rounds = {rounds}
think_s = 0.2
prompt_tokens = {prompt_tokens}
growth_tokens = 0
max_tokens = 32
deadline_s = {deadline_s}
"""


def play_bench(options: argparse.Namespace) -> int:
    """Each engine, each concurrency; returns the exit status."""
    rows = []
    for engine in _engines(options):
        for concurrency in (int(text) for text in options.concurrency.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                row = compare(engine, concurrency, options, Path(folder) / "run")
            rows.append(row)
            print(json.dumps(row), flush=True)
    print(bench_table(rows), file=sys.stderr)
    return int(any(row["worst_off"] > OFF_MAX or row["prompts_exact"] < row["n"] for row in rows))


def _engines(options: argparse.Namespace) -> Iterator[Engine]:
    wanted = options.engines.split(",")
    model = fetch_model(None, lambda text, share: None)
    if "llamacpp" in wanted:
        with llamacpp(model, port=PORT, threads=options.threads) as engine:
            yield engine
    if "vllm" in wanted:
        with vllm(options.vllm_python, converted(options, model), port=PORT) as engine:
            yield engine


def converted(options: argparse.Namespace, model: Path) -> Path:
    """The same model in the form that vLLM loads."""
    folder = options.model_folder or options.vllm_python.parent.parent / "model"
    command = [options.vllm_python, FOLDER / "engines_model.py", model, folder]
    subprocess.run([str(part) for part in command], check=True, stdout=sys.stderr)
    return Path(folder).resolve()


def compare(
    engine: Engine, concurrency: int, options: argparse.Namespace, out: Path
) -> dict[str, Any]:
    """One load, counted by both sides."""
    requests = max(options.requests, concurrency * options.requests // 4)
    command = [*EXONERATE, "bench", engine.url, "-m", engine.model, "--json", "-q"]
    command += ["-C", str(concurrency), "-n", str(requests), "--out", str(out)]
    command += ["--prompt-tokens", str(options.prompt_tokens)]
    command += ["--output-tokens", str(options.output_tokens)]
    live, before = LiveCount(engine), engine.counts()
    with live.running():
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    moved = {name: value - before[name] for name, value in engine.counts().items()}
    answer = json.loads(done.stdout)
    cell, records = answer["cells"][0], _records(out)
    begin_ns = cell["window_begin_ns"]
    end_ns = begin_ns + cell["window_s"] * 1e9
    rate = (live.at(end_ns) - live.at(begin_ns)) / cell["window_s"]
    one_s = sum(record.ended_ns - record.first_token_ns for record in records) / 1e9
    row = {
        "what": "bench",
        "engine": engine.name,
        "C": concurrency,
        "n": len(records),
        "complete": cell["complete"],
        "tokens_engine": moved["generated"],
        "tokens_usage": cell["usage_tokens"],
        "events": cell["counted_events"],
        "prompt_engine": moved["prompt"],
        "prompt_usage": cell["prompt_tokens"],
        "tok_s_bench": cell["output_tokens_per_s"],
        "tok_s_engine": rate,
        "bench_says_engine_tok_s": cell["engine"].get("generated_per_s"),
        "bench_says_ours_meanwhile": cell["engine"].get("client_per_s"),
        "one_request_tok_s_bench": (cell["usage_tokens"] - len(records)) / one_s,
        "one_request_tok_s_engine": (moved["generated"] - len(records)) / moved["decode_s"],
        "running_mean": cell["engine"].get("running_mean"),
        "waiting_max": cell["engine"].get("waiting_max"),
        "kv_usage_max": cell["engine"].get("kv_usage_max"),
        "ttft_ms_mean": statistics.fmean(_ttft_ms(record) for record in records),
        "window": cell["window"],
        "prompts_exact": exact_prompts(engine, answer["header"], options.prompt_tokens, records),
        "bench_status": done.returncode,
    }
    pairs = (("tokens_usage", "tokens_engine"), ("prompt_usage", "prompt_engine"))
    pairs += (("tok_s_bench", "tok_s_engine"),)
    pairs += (("one_request_tok_s_bench", "one_request_tok_s_engine"),)
    row["worst_off"] = max(abs(row[ours] / row[theirs] - 1) for ours, theirs in pairs)
    return {
        name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()
    }


def exact_prompts(
    engine: Engine, header: Any, wanted: int, records: Sequence[RequestRecord]
) -> int:
    """How many of the prompts that were sent have exactly the asked number of tokens.

    The prompts are made again from the recipe in the result and counted by the engine.
    """
    given = {**header["request"], "headers": ()}
    prompt = dict(given["prompt"])
    prompt["prompt_tokens"] = prompt.pop("prompt_words")
    given["prompt"] = PromptRecipe(**prompt)
    cell = header["cells"][0]["name"]
    maker = RequestMaker(parse_address(engine.url), RequestRecipe(**given), cell=f"{cell}/0")
    exact = 0
    for record in records:
        work = Work(index=record.index, intended_ns=0, lane=0)
        body = json.loads(maker.make(work).partition(b"\r\n\r\n")[2])
        exact += engine.token_count(body["messages"][0]["content"]) == wanted
    return exact


def _records(out: Path) -> list[RequestRecord]:
    blocks = decode_blocks(out.read_bytes())
    return [block for block in blocks if isinstance(block, RequestRecord)]


def _ttft_ms(record: RequestRecord) -> float:
    return (record.first_token_ns - record.begun_ns) / 1e6


def bench_table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| engine | C | requests | tokens: engine / usage / events | prompt tokens: engine / usage "
        "| exact prompts | tok/s: bench / engine | one request, tok/s | worst off |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        counts = [row[name] for name in ("tokens_engine", "tokens_usage", "events")]
        lines.append(
            f"| {row['engine']} | {row['C']} | {row['complete']} of {row['n']} "
            f"| {' / '.join(f'{count:,.0f}' for count in counts)} "
            f"| {row['prompt_engine']:,.0f} / {row['prompt_usage']:,.0f} "
            f"| {row['prompts_exact']} of {row['n']} "
            f"| {row['tok_s_bench']:.2f} / {row['tok_s_engine']:.2f} "
            f"| {row['one_request_tok_s_bench']:.2f} / {row['one_request_tok_s_engine']:.2f} "
            f"| {row['worst_off']:.2%} |"
        )
    return "\n".join(lines)


def play_locate(options: argparse.Namespace) -> int:
    """Who is to blame where nobody is; returns the exit status."""
    model = converted(options, fetch_model(None, lambda text, share: None))
    rows = []
    with vllm(options.vllm_python, model, port=PORT) as engine:
        rows.append(ask(engine, "healthy", prompt_tokens=100, symptom="hang"))
    slow = ["--max-num-batched-tokens", "128"]
    with vllm(options.vllm_python, model, port=PORT, extra=slow) as engine:
        rows.append(ask(engine, "long prompts", prompt_tokens=1800, symptom="slow"))
    with vllm(options.vllm_python, model, port=PORT, sequences=1) as engine, crowd(engine, 4):
        rows.append(ask(engine, "one at a time, 4 clients", prompt_tokens=100, symptom="slow"))
        rows.append(ask(engine, "the same, little patience", deadline_s=6, symptom="hang"))
    return int(any(row["outcome"] == "fault" for row in rows))


@contextmanager
def crowd(engine: Engine, clients: int) -> Iterator[None]:
    """That many clients, each with a request of 64 tokens in flight, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*EXONERATE, "bench", engine.url, "-m", engine.model, "-q", "-C", str(clients)]
        command += ["--duration", "30m", "--out", f"{folder}/crowd"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def ask(
    engine: Engine,
    situation: str,
    *,
    symptom: str,
    prompt_tokens: int = 100,
    deadline_s: float = 30,
) -> dict[str, Any]:
    """One `locate` with its answer."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "exonerate.toml"
        file.write_text(
            DEPLOYMENT.format(
                url=engine.url, rounds=4, prompt_tokens=prompt_tokens, deadline_s=deadline_s
            )
        )
        command = [*EXONERATE, "locate", "-c", str(file), "--json", "--symptom", symptom]
        command += ["--ledger", f"{folder}/ledger.db", "--budget", "120s", "--seed", "1"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout)
    row = {
        "what": "locate",
        "situation": situation,
        "symptom": symptom,
        "status": done.returncode,
        "outcome": answer["outcome"],
        "explanation": answer["explanation"],
        "faults": answer["faults"],
        "elapsed_s": answer["elapsed_s"],
    }
    print(json.dumps(row), flush=True)
    return row


def main() -> int:
    """Parse the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["bench", "locate"])
    parser.add_argument("--vllm-python", type=Path, default=Path(".venv-engines/bin/python"))
    parser.add_argument("--model-folder", type=Path, help="of the converted model; made if absent")
    parser.add_argument("--engines", default="llamacpp,vllm")
    parser.add_argument("-C", "--concurrency", default="1,4,8")
    parser.add_argument(
        "--requests", type=int, default=32, help="at C <= 4; C = 8 sends twice that"
    )
    parser.add_argument("--threads", type=int, default=1, help="of llama.cpp")
    parser.add_argument("--prompt-tokens", type=int, default=100)
    parser.add_argument("--output-tokens", type=int, default=64)
    options = parser.parse_args()
    # Its own absolute name: the engines run in folders of their own.
    options.vllm_python = options.vllm_python.absolute()
    return play_bench(options) if options.what == "bench" else play_locate(options)


if __name__ == "__main__":
    sys.exit(main())
