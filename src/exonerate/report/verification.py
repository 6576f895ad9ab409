"""The verification of a ledger for a terminal."""

from __future__ import annotations

from rich.text import Text

from exonerate.core.json_types import JsonObject
from exonerate.report.json_lists import objects_at
from exonerate.report.phrases import visible
from exonerate.report.terminal import as_text


def verification_text(answer: JsonObject, *, width: int = 100, colour: bool = False) -> str:
    """The answer `exonerate.verification/1` in words."""
    records, first_bad = answer.get("records"), answer.get("first_bad")
    if first_bad is None:
        lines = [Text(f"chain ok: {records} records, none altered", "good")]
    else:
        lines = [Text(f"chain broken at record {first_bad} of {records}", "bad")]
        lines.append(Text("the runs before it were decided again all the same"))
    for kind in ("verdicts", "unfinished_runs"):
        for entry in objects_at(answer, kind):
            lines.append(_line(entry, kind == "verdicts"))
    return as_text(*lines, width=width, colour=colour)


def _line(entry: JsonObject, is_verdict: bool) -> Text:
    name = visible(entry.get("id") if is_verdict else entry.get("run"))
    what = f"verdict {name}" if is_verdict else f"unfinished run {name}"
    same = entry.get("same")
    if same is True:
        return Text(f"{what}: decided again from the records, the same", "good")
    if same is False:
        return Text(f"{what}: not the same: {visible(entry.get('why'))}", "bad")
    return Text(f"{what}: not decided again: {visible(entry.get('why'))}", "doubt")
