"""A comparison for people: the answer `exonerate.comparison/1` as terminal text or Markdown.

Nothing is computed here. Every verdict stands beside its estimate, interval and n; what the data
cannot tell is shown as `~ undecided` with the blocks that would settle it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from exonerate.core.json_types import JsonObject
from exonerate.core.stats.wording import percent, share

WIDTH = 100
HEADER_TAIL = ("change", "95 % interval", "n", "verdict", "blocks needed")
_RIGHT_ALIGNED = 5
"""Label, the two values, change and interval are numbers; so is n, verdicts are words."""


def comparison_text(answer: JsonObject, *, width: int = WIDTH) -> str:
    """The comparison for a terminal, without colour; notes are wrapped; ends with a newline."""
    tree: Any = answer
    rows = [_header(tree), *_rows(tree)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    table = [
        "  ".join(
            cell.rjust(width) if at <= _RIGHT_ALIGNED else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    notes = (
        textwrap.fill(note, width, subsequent_indent="    ", break_on_hyphens=False)
        for note in _notes(tree, "  ")
    )
    return "\n".join([_title(tree), "", *table, "", *notes]) + "\n"


def comparison_markdown(answer: JsonObject) -> str:
    """The comparison as Markdown: a pipe table and lists; ends with a newline."""
    tree: Any = answer
    rows = [[_escaped(cell) for cell in row] for row in (_header(tree), *_rows(tree))]
    rule = ["---:" if at <= _RIGHT_ALIGNED else "---" for at in range(len(rows[0]))]
    table = ["| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:])]
    notes = (_escaped(note) for note in _notes(tree, "- "))
    return "\n".join([f"**{_escaped(_title(tree))}**", "", *table, "", *notes]) + "\n"


def headline(answer: JsonObject) -> str:
    """The primary result in one line."""
    tree: Any = answer
    primary = tree["primary"]
    return (
        f"{tree['arms'][1]} against {tree['arms'][0]}: {_verdict(primary)}, "
        f"{_change(primary)} {_interval(primary)} over {_cells(primary['cells'])}, "
        f"n = {primary['n']}"
    )


def _title(tree: Any) -> str:
    direction = "lower" if tree["lower_is_better"] else "higher"
    return (
        f"{tree['arms'][1]} against {tree['arms'][0]} (baseline): {tree['metric']}, {direction} "
        f"is better; {tree['blocks']} block{'s' if tree['blocks'] != 1 else ''}, "
        f"margin {share(tree['margin'])}"
    )


def _header(tree: Any) -> list[str]:
    return ["cell", *tree["arms"], *HEADER_TAIL]


def _rows(tree: Any) -> Iterable[list[str]]:
    for cell in tree["cells"]:
        yield [f"C{cell['cell']}", *_figures(cell)]
    yield ["primary", *_figures(tree["primary"])]


def _figures(found: Mapping[str, Any]) -> list[str]:
    needed = found["blocks_needed"]
    return [
        _value(found["baseline"]),
        _value(found["candidate"]),
        _change(found),
        _interval(found),
        str(found["n"]),
        _verdict(found),
        f"about {needed}" if needed is not None else "",
    ]


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:#.4g}"


def _change(found: Mapping[str, Any]) -> str:
    return "–" if found["effect"] is None else percent(found["effect"])


def _interval(found: Mapping[str, Any]) -> str:
    if found["ci"] is None:
        return "no interval"
    low, high = found["ci"]
    return f"[{100 * low:+.1f}, {100 * high:+.1f}] %".replace("-", "−")


def _verdict(found: Mapping[str, Any]) -> str:
    return "~ undecided" if found["verdict"] == "undecided" else str(found["verdict"])


def _notes(tree: Any, bullet: str) -> Iterable[str]:
    yield f"{bullet}primary = mean over {_cells(tree['primary']['cells'])}"
    for name, found in _endpoints(tree):
        yield f"{bullet}{name}: {found['verdict']}: {found['why']}"
    for found in tree["anomalies"]:
        yield f"{bullet}{_anomaly(found)}"
    for guard in tree["guards"]:
        bound = "no bound" if guard["bound"] is None else f"bound {percent(guard['bound'])}"
        margin = share(guard["margin"])
        yield f"{bullet}guard C{guard['cell']}: {guard['verdict']} ({bound}, margin {margin})"
    for gate in tree["gates"]:
        if gate["status"] == "broken":
            where = "" if gate["cell"] is None else f" at C{gate['cell']}"
            yield f"{bullet}gate {gate['gate']} broken{where}: {gate['why']}"
    for warning in tree["warnings"]:
        yield f"{bullet}warning: {warning}"
    if tree.get("noise"):
        yield f"{bullet}{_noise(tree['noise'])}"
    yield f"{bullet}{_instrument(tree['instrument'])}"
    yield f"{bullet}assumed: {tree['assumption']}"
    yield f"{bullet}not examined: {'; '.join(_unexamined(tree))}"


def _endpoints(tree: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    yield "primary", tree["primary"]
    for cell in tree["cells"]:
        yield f"C{cell['cell']}", cell


def _anomaly(found: Mapping[str, Any]) -> str:
    low, high = found["cells"]
    size = (
        f"C{high} lies {abs(100 * found['drop']):.1f} % {'below' if found['drop'] > 0 else 'above'}"
    )
    cured = f"; removed by {found['removed_by']}" if found["removed_by"] else ""
    return f"scaling, {found['arm']}: {size} C{low}: {found['verdict']}{cured}"


def _noise(noise: Mapping[str, Any]) -> str:
    few = "" if noise["enough"] else f"; only {noise['blocks']} blocks, so a rough figure"
    return (
        f"noise: a cell's value varies by {share(noise['cell_value_sd'])} from restart to restart "
        f"({share(noise['restart_sd'])} of the restart, {share(noise['within_sd'])} within); the "
        f"second place costs {percent(-noise['position_effect'])}, drift "
        f"{percent(noise['drift_per_block'])} a block{few}"
    )


def _instrument(instrument: Mapping[str, Any]) -> str:
    if instrument["client_bound"] is None:
        return "instrument: not seen"
    limit = "the client was the limit" if instrument["client_bound"] else "the client kept up"
    return (
        f"instrument: {limit} (CPU {share(instrument['cpu_share'])}, "
        f"p99 lag {instrument['lag_ms_p99']:.1f} ms)"
    )


def _unexamined(tree: Any) -> Sequence[str]:
    unseen = [gate["gate"] for gate in tree["gates"] if gate["status"] == "not_examined"]
    gates = [f"the gates {', '.join(dict.fromkeys(unseen))}"] if unseen else []
    return [*gates, *tree["not_examined"]]


def _cells(cells: Sequence[float]) -> str:
    return ", ".join(f"C{cell}" for cell in cells)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
