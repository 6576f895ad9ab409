"""Result files of load tools: each reader turns one format into runs.

Every reader knows one format: `sniff` says whether a file is of it, `read` returns its runs.
Values that a tool computed over the requests of one run carry no interval here: request-level
intervals do not cover the differences between restarts.

Keys were checked on files of AIPerf 0.13.0, GuideLLM 0.8.1, inference-perf 0.7.0 and sglang
0.5.23, and on the source of vLLM 0.32's `bench serve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exonerate.core.documents.model import CellKind, Fact, FactKind, Run
from exonerate.core.json_access import (
    at,
    count_at,
    number_at,
    object_of,
    parse_json,
    text_at,
)
from exonerate.core.json_types import Json

LINES_MAX = 20_000

Found = tuple[tuple[Run, ...], tuple[str, ...]]
"""The runs of a file and the warnings about them."""


class AIPerf:
    """`profile_export_aiperf.json` of AIPerf."""

    name = "aiperf"

    def sniff(self, document: Json) -> bool:
        """Whether the JSON is an AIPerf profile."""
        return "aiperf_version" in object_of(document) and "request_throughput" in object_of(
            document
        )

    def read(self, document: Json) -> Found:
        """One run; its concurrency is the profiling phase's."""
        cell = number_at(document, "input_config", "phases", 0, "concurrency")
        rate = number_at(document, "input_config", "phases", 0, "rate")
        metrics = _metrics(
            document,
            {
                "output_tokens_per_s": ("output_token_throughput", "avg"),
                "requests_per_s": ("request_throughput", "avg"),
                "ttft_ms_p50": ("time_to_first_token", "p50"),
                "ttft_ms_p99": ("time_to_first_token", "p99"),
                "itl_ms_p50": ("inter_token_latency", "p50"),
                "e2e_latency_ms_p50": ("request_latency", "p50"),
            },
        )
        failed = count_at(document, "error_request_count", "avg") or 0
        complete = at(document, "is_complete") is not False
        complete = complete and at(document, "was_cancelled") is not True
        run = Run(
            tool=self.name,
            line=1,
            cell=cell if cell is not None else rate,
            cell_kind=_kind(cell, rate),
            metrics=metrics,
            completed=count_at(document, "request_count", "avg"),
            failed=failed,
            workload=_workload(
                document,
                input_tokens=("input_config", "datasets", 0, "prompts", "isl", "mean"),
                output_tokens=("input_config", "datasets", 0, "prompts", "osl", "mean"),
            ),
            facts=_facts(
                document,
                model=("input_config", "models", "items", 0, "name"),
                date=("start_time",),
            ),
            complete=complete,
        )
        return (run,), _run_warnings(run)


class GuideLLM:
    """`benchmarks.json` of GuideLLM: one run per benchmark."""

    name = "guidellm"

    def sniff(self, document: Json) -> bool:
        """Whether the JSON is a GuideLLM report."""
        return isinstance(at(document, "benchmarks"), list) and (
            at(document, "metadata", "guidellm_version") is not None
            or at(document, "benchmarks", 0, "metrics", "output_tokens_per_second") is not None
        )

    def read(self, document: Json) -> Found:
        """One run per benchmark; its load is the strategy's streams or rate."""
        benchmarks = at(document, "benchmarks")
        assert isinstance(benchmarks, list)
        runs = tuple(self._run(benchmark) for benchmark in benchmarks[:1_000])
        warnings = tuple(warning for run in runs for warning in _run_warnings(run))
        for position, benchmark in enumerate(benchmarks[:1_000], start=1):
            for index in range(5):
                message = text_at(benchmark, "warnings", index, "message")
                if message:
                    warnings += (f"benchmark {position}: GuideLLM warned: {message}",)
        return runs, warnings

    def _run(self, benchmark: Json) -> Run:
        strategy = at(benchmark, "config", "strategy")
        streams = number_at(strategy, "streams") or number_at(strategy, "max_concurrency")
        rate = number_at(strategy, "rate")
        by_rate = rate is not None and number_at(strategy, "streams") is None
        streams = None if by_rate else streams
        metrics = _metrics(
            at(benchmark, "metrics"),
            {
                "output_tokens_per_s": ("output_tokens_per_second", "successful", "mean"),
                "requests_per_s": ("requests_per_second", "successful", "mean"),
                "ttft_ms_p50": ("time_to_first_token_ms", "successful", "percentiles", "p50"),
                "ttft_ms_p99": ("time_to_first_token_ms", "successful", "percentiles", "p99"),
                "itl_ms_p50": ("inter_token_latency_ms", "successful", "percentiles", "p50"),
            },
        )
        totals = at(benchmark, "metrics", "request_totals")
        return Run(
            tool=self.name,
            line=1,
            cell=streams if streams is not None else rate,
            cell_kind=_kind(streams, rate),
            metrics=metrics,
            completed=count_at(totals, "successful"),
            failed=count_at(totals, "errored"),
            workload={},
            facts=_facts(benchmark, model=("config", "backend", "model")),
        )


class InferencePerf:
    """`stage_N_lifecycle_metrics.json` or the summary of inference-perf."""

    name = "inference-perf"

    def sniff(self, document: Json) -> bool:
        """Whether the JSON is a lifecycle report."""
        return "load_summary" in object_of(document) and "successes" in object_of(document)

    def read(self, document: Json) -> Found:
        """One run. Tokens are the server's count where the client's differs from it."""
        mismatches = count_at(document, "successes", "token_count_mismatches") or 0
        tokens = number_at(document, "successes", "output_tokens", "total")
        duration = number_at(document, "benchmark_time_seconds")
        metrics = _metrics(
            document,
            {
                "output_tokens_per_s": ("successes", "throughput", "output_tokens_per_sec"),
                "requests_per_s": ("successes", "throughput", "requests_per_sec"),
            },
        )
        warnings: tuple[str, ...] = ()
        if mismatches and tokens and duration:
            metrics["output_tokens_per_s"] = tokens / duration
            warnings = (
                f"the client's and the server's token counts differ in {mismatches} requests; "
                "the server's count was used",
            )
        for name, key in (
            ("ttft_ms_p50", "time_to_first_token"),
            ("itl_ms_p50", "inter_token_latency"),
        ):
            seconds = number_at(document, "successes", "latency", key, "median")
            if seconds is not None:
                metrics[name] = seconds * 1_000
        cell = number_at(document, "load_summary", "concurrency")
        rate = number_at(document, "load_summary", "requested_rate") if cell is None else None
        run = Run(
            tool=self.name,
            line=1,
            cell=cell if cell is not None else rate,
            cell_kind=_kind(cell, rate),
            metrics=metrics,
            completed=count_at(document, "successes", "count"),
            failed=count_at(document, "failures", "count"),
            workload={},
        )
        return (run,), (*warnings, *_run_warnings(run))


class _ServingBenchmark:
    """Shared by sglang's and vLLM's serving benchmark: flat objects, same throughput keys."""

    name = ""

    def read(self, document: Json) -> Found:
        """One run per object."""
        objects = document if isinstance(document, list) else [document]
        runs = tuple(
            self._run(entry, line) for line, entry in enumerate(objects[:LINES_MAX], start=1)
        )
        return runs, tuple(warning for run in runs for warning in _run_warnings(run))

    def _run(self, entry: Json, line: int) -> Run:
        cell = number_at(entry, "max_concurrency")
        rate = number_at(entry, "request_rate") if cell is None else None
        metrics = _metrics(
            entry,
            {
                "output_tokens_per_s": ("output_throughput",),
                "requests_per_s": ("request_throughput",),
                "ttft_ms_p50": ("median_ttft_ms",),
                "ttft_ms_p99": ("p99_ttft_ms",),
                "itl_ms_p50": ("median_itl_ms",),
                "tpot_ms_p50": ("median_tpot_ms",),
            },
        )
        return Run(
            tool=self.name,
            line=line,
            cell=cell if cell is not None else rate,
            cell_kind=_kind(cell, rate),
            metrics=metrics,
            completed=count_at(entry, "completed"),
            failed=count_at(entry, "failed"),
            workload=_workload(
                entry,
                input_tokens=("random_input_len",),
                output_tokens=("random_output_len",),
                dataset=("dataset_name",),
            ),
            facts=_facts(entry, model=("model_id",), date=("date",)),
        )


class SGLangServing(_ServingBenchmark):
    """JSON lines of `sglang.bench_serving`, one run per line."""

    name = "sglang"

    def sniff(self, document: Json) -> bool:
        """Whether the first object has sglang's own keys."""
        keys = object_of(at(document, 0) if isinstance(document, list) else document)
        own = "total_output_tokens_retokenized" in keys or "sharegpt_output_len" in keys
        return own and "output_throughput" in keys


class VLLMServing(_ServingBenchmark):
    """The result of `vllm bench serve --save-result`, or a sweep's list of them."""

    name = "vllm"

    def sniff(self, document: Json) -> bool:
        """Whether the object has vLLM's own keys."""
        keys = object_of(at(document, 0) if isinstance(document, list) else document)
        own = "tokenizer_id" in keys or "endpoint_type" in keys
        return own and "output_throughput" in keys


def json_lines(text: str) -> list[Json] | None:
    """The objects of a JSON Lines text, or None when a line is not an object."""
    objects: list[Json] = []
    for line in _filled_lines(text):
        value = parse_json(line)
        if not isinstance(value, dict):
            return None
        objects.append(value)
        if len(objects) > LINES_MAX:
            return None
    return objects or None


def _filled_lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.strip())


def _metrics(document: Json, paths: Mapping[str, tuple[str | int, ...]]) -> dict[str, float]:
    found = {name: number_at(document, *path) for name, path in paths.items()}
    return {name: number for name, number in found.items() if number is not None}


def _workload(document: Json, **paths: tuple[str | int, ...]) -> dict[str, str]:
    found = {name: text_at(document, *path) for name, path in paths.items()}
    return {name: text for name, text in found.items() if text is not None}


def _facts(document: Json, **paths: tuple[str | int, ...]) -> tuple[Fact, ...]:
    facts = []
    kinds: tuple[FactKind, ...] = ("model", "date", "engine", "gpu")
    for kind in kinds:
        value = text_at(document, *paths[kind]) if kind in paths else None
        if value:
            facts.append(Fact(kind, value[:10] if kind == "date" else value, 1))
    return tuple(facts)


def _kind(concurrency: float | None, rate: float | None) -> CellKind | None:
    if concurrency is not None:
        return "concurrency"
    return "rate" if rate is not None else None


def _run_warnings(run: Run) -> tuple[str, ...]:
    warnings = []
    where = f"line {run.line}: " if run.line > 1 else ""
    if run.cell is None:
        warnings.append(f"{where}the file names no concurrency or rate")
    if not run.complete:
        warnings.append(f"{where}the run was cancelled or is not complete")
    if run.failed:
        warnings.append(f"{where}{run.failed} requests failed")
    if "output_tokens_per_s" not in run.metrics:
        warnings.append(f"{where}no output throughput was found")
    return tuple(warnings)
