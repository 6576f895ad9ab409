"""Comparisons, documents, the cure and the debt as typed values for reports.

Read from `exonerate.comparison/1`, `exonerate.reading/1`, `exonerate.cure/1` and
`exonerate.debt/1` answers. Whatever an answer lacks or has in another type is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.json_access import at, number_at, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.report.json_lists import numbers_at, objects_at, texts_at
from exonerate.report.phrases import load, metric_words, percent, visible

DEBT_ITEMS_MAX = 100


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell of a comparison: both values, the effect with its interval, the verdict."""

    name: str
    cell: float | None
    baseline: float | None
    candidate: float | None
    effect: float | None
    ci: tuple[float, float] | None
    verdict: str
    why: str
    stated: str = ""
    agrees: bool | None = None


@dataclass(frozen=True, slots=True)
class DipView:
    """A cell that is slower than the one before it."""

    arm: str
    cells: tuple[float, float]
    drop: float
    verdict: str
    removed_by: str


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A controlled comparison of two arms."""

    when: str
    job: str
    arms: tuple[str, ...]
    knob: str
    metric: str
    blocks: int | None
    level: float
    cells: tuple[CellView, ...]
    primary: CellView | None
    dips: tuple[DipView, ...]
    client_bound: bool

    @property
    def headline(self) -> str:
        """`256 → 512: better, +4.1 % [+2.0, +6.2] %` of the primary band."""
        pair = " → ".join(self.arms) or "?"
        if self.primary is None:
            return pair
        return f"{pair}: {self.primary.verdict}, {percent(self.primary.effect)}"


@dataclass(frozen=True, slots=True)
class TableView:
    """A comparison that a document states."""

    line: int
    metric: str
    arms: tuple[str, ...]
    knob: str
    cell_kind: str
    cells: tuple[CellView, ...]
    values: tuple[tuple[float, tuple[float | None, ...]], ...]
    dips: tuple[DipView, ...]
    grade: str
    why: tuple[str, ...]
    copy_of: str

    @property
    def headline(self) -> str:
        """`TARGET_CTAS 256 → 512, output tokens/s`."""
        knob = f"{self.knob} " if self.knob else ""
        return f"{knob}{' → '.join(self.arms)}, {self.metric}"


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document or result file with its tables and claims."""

    path: str
    sha256: str
    tables: tuple[TableView, ...]
    claims: tuple[tuple[int, str, bool], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CureCorner:
    """One corner of the cure check: the fault there or not, the knob reverted or restored."""

    fault: str
    knob: str
    completed: bool | None
    rounds: str
    detail: str


@dataclass(frozen=True, slots=True)
class CureView:
    """The victim's shape again in all four corners."""

    fault_name: str
    knob_name: str
    corners: tuple[CureCorner, ...]
    why: str

    @property
    def fault_states(self) -> tuple[str, ...]:
        """The states of the fault, in the order given."""
        return tuple(dict.fromkeys(corner.fault for corner in self.corners))

    @property
    def knob_states(self) -> tuple[str, ...]:
        """The states of the knob, in the order given."""
        return tuple(dict.fromkeys(corner.knob for corner in self.corners))

    def corner(self, fault: str, knob: str) -> CureCorner | None:
        """That corner, or None when it was not tried."""
        return next((c for c in self.corners if (c.fault, c.knob) == (fault, knob)), None)


@dataclass(frozen=True, slots=True)
class PriceView:
    """What a standing revert costs at one load."""

    cell: float | None
    loss: float
    ci: tuple[float, float] | None
    grade: str


@dataclass(frozen=True, slots=True)
class DebtView:
    """A standing revert with its price."""

    knob: str
    live: str
    was: str
    since: str
    hypothesis: str
    state: str
    price_class: str
    why_listed: str
    prices: tuple[PriceView, ...]


def comparison_view(answer: JsonObject, when: str, job: str = "ab") -> ComparisonView:
    """The view of an `exonerate.comparison/1` answer."""
    primary = at(answer, "primary")
    blocks = number_at(answer, "blocks")
    level = number_at(answer, "cells", 0, "level")
    cells = tuple(_cell(cell) for cell in objects_at(answer, "cells"))
    return ComparisonView(
        when=when,
        job=job,
        arms=tuple(visible(arm, 120) for arm in texts_at(answer, "arms")),
        knob=visible(at(answer, "knob") or "", 120),
        metric=metric_words(text_at(answer, "metric") or ""),
        blocks=None if blocks is None else int(blocks),
        level=level if level is not None else 0.95,
        cells=cells,
        primary=_primary(primary) if primary else None,
        dips=_dips(answer),
        client_bound=at(answer, "instrument", "client_bound") is True,
    )


def document_views(content: JsonObject) -> tuple[DocumentView, ...]:
    """The documents of a piece of evidence that holds a reading."""
    sources = objects_at(content, "reading", "sources")
    return tuple(_document(source) for source in sources)


def cure_view(answer: JsonObject) -> CureView | None:
    """The view of an `exonerate.cure/1` answer, or None without corners."""
    corners = tuple(_corner(corner) for corner in objects_at(answer, "corners"))
    if not corners:
        return None
    return CureView(
        fault_name=visible(at(answer, "fault") or "fault", 80),
        knob_name=visible(at(answer, "knob") or "knob", 120),
        corners=corners,
        why=visible(at(answer, "why") or ""),
    )


def debt_views(answer: JsonObject) -> tuple[DebtView, ...]:
    """The items of an `exonerate.debt/1` answer."""
    return tuple(_debt(item) for item in objects_at(answer, "items")[:DEBT_ITEMS_MAX])


def _cell(cell: JsonObject) -> CellView:
    number = number_at(cell, "cell")
    return CellView(
        name=load(number),
        cell=number,
        baseline=number_at(cell, "baseline"),
        candidate=number_at(cell, "candidate"),
        effect=number_at(cell, "effect"),
        ci=_bounds(cell),
        verdict=visible(at(cell, "verdict") or "undecided", 40),
        why=visible(at(cell, "why") or ""),
    )


def _primary(primary: Json) -> CellView:
    cells = ", ".join(load(cell) for cell in numbers_at(primary, "cells"))
    return CellView(
        name=f"primary ({cells})" if cells else "primary",
        cell=None,
        baseline=None,
        candidate=None,
        effect=number_at(primary, "effect"),
        ci=_bounds(primary),
        verdict=visible(at(primary, "verdict") or "undecided", 40),
        why=visible(at(primary, "why") or ""),
    )


def _bounds(value: Json) -> tuple[float, float] | None:
    bounds = numbers_at(value, "ci")
    return (bounds[0], bounds[1]) if len(bounds) == 2 else None


def _dips(answer: JsonObject) -> tuple[DipView, ...]:
    dips = []
    for entry in objects_at(answer, "anomalies"):
        cells, drop = numbers_at(entry, "cells"), number_at(entry, "drop")
        if len(cells) < 2 or drop is None or at(entry, "verdict") == "excluded":
            continue
        dips.append(
            DipView(
                arm=visible(at(entry, "arm") or "?", 120),
                cells=(cells[0], cells[1]),
                drop=drop,
                verdict=visible(at(entry, "verdict") or "suspected", 40),
                removed_by=visible(at(entry, "removed_by") or "", 120),
            )
        )
    return tuple(dips)


def _document(source: JsonObject) -> DocumentView:
    return DocumentView(
        path=visible(at(source, "path") or "?", 300),
        sha256=(text_at(source, "sha256") or "")[:12],
        tables=tuple(_table(entry) for entry in objects_at(source, "comparisons")),
        claims=tuple(
            (
                int(number_at(claim, "line") or 0),
                visible(at(claim, "text") or ""),
                at(claim, "defined") is True,
            )
            for claim in objects_at(source, "claims")
        ),
        warnings=tuple(map(visible, texts_at(source, "warnings"))),
    )


def _table(entry: JsonObject) -> TableView:
    arms = tuple(visible(arm, 120) for arm in texts_at(entry, "arms"))
    cells = objects_at(entry, "cells")
    return TableView(
        line=int(number_at(entry, "line") or 0),
        metric=metric_words(text_at(entry, "metric") or ""),
        arms=arms,
        knob=visible(at(entry, "knob") or "", 120),
        cell_kind=visible(at(entry, "cell_kind") or "cell", 40),
        cells=tuple(_stated_cell(cell, texts_at(entry, "arms")) for cell in cells),
        values=tuple(
            (number, tuple(number_at(cell, "values", arm) for arm in texts_at(entry, "arms")))
            for cell in cells
            if (number := number_at(cell, "cell")) is not None
        ),
        dips=_dips(entry),
        grade=visible(at(entry, "grade") or "E", 2),
        why=tuple(map(visible, texts_at(entry, "why"))),
        copy_of=visible(at(entry, "copy_of") or "", 300),
    )


def _stated_cell(cell: JsonObject, arms: list[str]) -> CellView:
    pair = [*arms, "", ""][:2]
    agrees = at(cell, "agrees")
    return CellView(
        name=load(number_at(cell, "cell")),
        cell=number_at(cell, "cell"),
        baseline=number_at(cell, "values", pair[0]),
        candidate=number_at(cell, "values", pair[1]),
        effect=number_at(cell, "computed_gain"),
        ci=None,
        verdict="claimed",
        why="",
        stated=visible(at(cell, "stated") or "", 80),
        agrees=agrees if isinstance(agrees, bool) else None,
    )


def _corner(corner: JsonObject) -> CureCorner:
    completed = at(corner, "completed")
    done, wanted = number_at(corner, "rounds"), number_at(corner, "of")
    rounds = "" if done is None else f"{done:g} of {load(wanted)} rounds"
    return CureCorner(
        fault=visible(at(corner, "fault") or "?", 80),
        knob=visible(at(corner, "knob") or "?", 80),
        completed=completed if isinstance(completed, bool) else None,
        rounds=rounds,
        detail=visible(at(corner, "detail") or ""),
    )


def _debt(item: JsonObject) -> DebtView:
    prices = []
    for price in objects_at(item, "price"):
        loss = number_at(price, "loss")
        if loss is not None:
            grade = visible(at(price, "grade") or "E", 2)
            prices.append(PriceView(number_at(price, "cell"), loss, _bounds(price), grade))
    return DebtView(
        knob=visible(at(item, "knob") or "?", 120),
        live=visible(text_at(item, "live") or "absent", 120),
        was=visible(text_at(item, "was") or "absent", 120),
        since=visible(at(item, "since") or "", 40),
        hypothesis=visible(at(item, "hypothesis") or ""),
        state=visible(at(item, "state") or "", 40),
        price_class=visible(at(item, "class") or "unpriced", 40),
        why_listed=visible(at(item, "why_listed") or ""),
        prices=tuple(prices),
    )
