"""A benchmark for people: the answer `exonerate.bench/1` as terminal text or Markdown.

Nothing is computed here. A tail that n does not allow is a dash, a result that measured the client
says so first, and what the instrument saw of itself stands beside every cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from exonerate.core.json_types import JsonObject

_HEADER = ("load", "n", "ok", "tok/s", "req/s", "TTFT p50", "p99", "ITL p50", "p99", "TPOT p50")
_TAIL = ("E2E p50", "p99", "CPU", "late p99")


def bench_text(answer: JsonObject) -> str:
    """The run for a terminal; ends with a newline."""
    tree: Any = answer
    rows = [[*_HEADER, *_TAIL], *[_row(cell) for cell in tree["cells"]]]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    table = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([*_title(tree), "", *table, "", *_notes(tree, "  ")]) + "\n"


def bench_markdown(answer: JsonObject) -> str:
    """The run as Markdown; ends with a newline."""
    tree: Any = answer
    rows = [[*_HEADER, *_TAIL], *[_row(cell) for cell in tree["cells"]]]
    rule = ["---:"] * len(rows[0])
    table = [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]
    title = [f"**{line}**" if at == 0 else line for at, line in enumerate(_title(tree))]
    return "\n".join([*title, "", *table, "", *_notes(tree, "- ")]) + "\n"


def comparison_lines(answer: JsonObject) -> str:
    """Two runs side by side; ends with a newline."""
    tree: Any = answer
    rows = [["load", "metric", "before", "after", "change"]]
    for cell in tree["cells"]:
        for metric in cell["metrics"]:
            change = metric["change"]
            rows.append(
                [
                    cell["load"],
                    metric["name"],
                    _number(metric["before"]),
                    _number(metric["after"]),
                    "-" if change is None else f"{change:+.1%}",
                ]
            )
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    table = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([*table, "", *[f"  {note}" for note in tree["notes"]]]) + "\n"


def milliseconds(quantile: Mapping[str, Any] | None) -> str:
    """A quantile with its interval, or a dash where n does not allow it."""
    if quantile is None or quantile["value"] is None:
        return "-"
    value = _number(quantile["value"])
    interval = quantile["ci"]
    return (
        value if interval is None else f"{value} [{_number(interval[0])}, {_number(interval[1])}]"
    )


def _title(tree: Any) -> list[str]:
    header = tree["header"]
    request = header["request"]
    lines = [
        f"{header['url']}{request['path']}  model {request['model']}, "
        f"prompt {request['prompt']['prompt_tokens']} tokens, "
        f"answer {request['max_tokens']} tokens at most; times in ms"
    ]
    if not tree["valid"]:
        lines.insert(0, f"invalid: {tree['invalid']}")
    return lines


def _row(cell: Any) -> list[str]:
    return [
        cell["load"],
        str(cell["requests"]),
        str(cell["complete"]),
        _number(cell["output_tokens_per_s"]),
        _number(cell["requests_per_s"]),
        milliseconds(cell["ttft_ms"]["p50"]),
        _bare(cell["ttft_ms"]["p99"]),
        _bare(cell["itl_ms"]["p50"]),
        _bare(cell["itl_ms"]["p99"]),
        _bare(cell["tpot_ms"]["p50"]),
        _bare(cell["e2e_ms"]["p50"]),
        _bare(cell["e2e_ms"]["p99"]),
        f"{cell['instrument'].get('cpu_share', 0.0):.0%}",
        _number(cell["instrument"].get("lag_ms_p99")),
    ]


def _notes(tree: Any, bullet: str) -> list[str]:
    notes = [f"{cell['load']}: {text}" for cell in tree["cells"] for text in _cell_notes(cell)]
    notes.append(
        "intervals are 95 % for these requests; another run moves more (see `exonerate ab`); "
        "a dash is what n does not allow"
    )
    counted = tree["header"].get("prompt_tokens_counted")
    if counted is not None:
        notes.append(f"prompts have {counted} tokens by the engine's own tokenizer")
    notes.extend(tree["notes"])
    notes.append(f"raw records: {tree['result']}")
    return [f"{bullet}{note}" for note in notes]


def _cell_notes(cell: Any) -> Iterable[str]:
    instrument, engine = cell["instrument"], cell["engine"]
    if instrument.get("client_bound"):
        yield f"invalid: client-bound, {instrument['why']}"
    failed = {code: count for code, count in cell["ends"].items() if code != "ok"}
    if failed:
        listed = ", ".join(f"{count} × {code}" for code, count in failed.items())
        yield f"not complete, by end code: {listed}"
    if cell["window"] != "full load":
        yield "too few requests at full load: the ramps are counted too"
    if cell["steady"] is False:
        yield "not steady: the two halves of the window differ by more than 5 %"
    asked = cell["asked_in_flight"]
    if asked and cell["window"] == "full load" and cell["mean_in_flight"] < 0.95 * asked:
        yield f"{cell['mean_in_flight']:.1f} of {asked} requests were in flight on average"
    if cell["usage_tokens"] and cell["counted_events"] != cell["usage_tokens"]:
        yield f"{cell['counted_events']} events for {cell['usage_tokens']} tokens by the server"
    if instrument.get("censored_share", 0.0) >= 0.01:
        yield (
            f"{instrument['censored_share']:.0%} of the events shared a read with a later one: "
            "their own times are known only within bounds"
        )
    yield from instrument.get("notes", ())
    yield from _goodput_note(cell)
    yield from _engine_notes(engine)


def _goodput_note(cell: Any) -> Iterable[str]:
    goodput = cell["goodput"]
    if goodput and goodput["share"] is not None:
        limits = ", ".join(f"{name} <= {most:g} ms" for name, most in goodput["slo_ms"].items())
        low, high = goodput["ci"]
        yield f"goodput {goodput['share']:.1%} [{low:.1%}, {high:.1%}] within {limits}"


def _engine_notes(engine: Any) -> Iterable[str]:
    parts = [
        f"{label} {_number(engine[name])}"
        for name, label in (
            ("running_mean", "running"),
            ("waiting_mean", "waiting"),
            ("kv_usage_max", "KV at most"),
            ("tokens_per_step", "tokens a step"),
            ("tokens_per_cpu_s", "tokens a CPU second"),
        )
        if engine.get(name) is not None
    ]
    if parts:
        yield "engine: " + ", ".join(parts)
    rate, ours = engine.get("generated_per_s"), engine.get("client_per_s")
    if rate is not None and ours is not None:
        yield f"{_number(rate)} tok/s by the engine's counter, {_number(ours)} by ours meanwhile"
    agreement = engine.get("generated_to_client")
    if agreement is not None and abs(agreement - 1) > 0.01:
        yield f"the engine counted {agreement:.3f} tokens for each of ours"


def _bare(quantile: Mapping[str, Any]) -> str:
    return _number(quantile["value"])


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
    return f"{value:.2f}"


def load_of(name: str) -> float | None:
    """The number in a load's name, for the axis of a plot."""
    digits = name.lstrip("CRA")
    try:
        return float(digits)
    except ValueError:
        return None


def first_loads(cells: Sequence[Any]) -> list[float]:
    """The loads that can stand on an axis."""
    return [load for cell in cells if (load := load_of(cell["load"])) is not None]
