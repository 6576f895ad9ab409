"""A case as one self-contained HTML page: no script, no fetch, readable on a phone and on paper.

Everything that comes from documents, logs or people is untrusted. The template escapes by
default, pictures escape every text, and the page's content policy forbids scripts and loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from exonerate.report import phrases
from exonerate.report.experiments import ComparisonView, CureCorner, TableView
from exonerate.report.forest_plot import forest_plot
from exonerate.report.glance import dip_sentence, grade_mood, outcome_words, state_mood, tiles
from exonerate.report.story import FIT_WORDS, Story
from exonerate.report.swim_lane import swim_lane
from exonerate.report.throughput_plot import throughput_plot

WIDE, NARROW = 900.0, 340.0
BAR_WIDTH = 120
POINTS_DRAWN_MIN = 2

Pictures = tuple[Markup, Markup]
"""The same picture for a desk and for a phone; the style sheet shows one."""


def case_html(story: Story) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("exonerate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    source = environment.loader
    assert source is not None
    css, _, _ = source.get_source(environment, "case.css")
    timeline = story.verdict.timeline if story.verdict else ()
    return environment.get_template("case.html.j2").render(
        story=story,
        # The style sheet is a file of this package, not text of the case.
        css=Markup(css),
        outcome=outcome_words(story),
        tiles=list(tiles(story)),
        timeline=_both(lambda width: swim_lane(timeline, width)) if timeline else None,
        comparisons=[(view, _forest(view)) for view in story.comparisons],
        documents=[
            (document, [(table, _throughput(table)) for table in document.tables])
            for document in story.documents
        ],
    )


def _worded(text: str) -> Markup:
    """Text with what stands between backticks as code, and long names allowed to break."""
    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return _breakable(text)
    shown = [
        Markup("<code>{}</code>").format(_breakable(piece)) if place % 2 else _breakable(piece)
        for place, piece in enumerate(pieces)
    ]
    return Markup("").join(shown)


def _breakable(text: str) -> Markup:
    """Text that may break after an underscore or a slash, as long knob names and paths must."""
    escaped = str(escape(text))
    # Escaped text holds no underscore or slash of its own making, so this adds nothing inside one.
    return Markup(escaped.replace("_", "_<wbr>").replace("/", "/<wbr>"))


def _both(draw: Callable[[float], Markup]) -> Pictures:
    return draw(WIDE), draw(NARROW)


def _forest(view: ComparisonView) -> Pictures:
    cells = [*view.cells, *([view.primary] if view.primary else [])]
    return _both(lambda width: forest_plot(cells, kind="C", width=width))


def _throughput(table: TableView) -> Pictures | None:
    """Drawn for the original of a table with enough loads to make a line."""
    if table.copy_of or len(table.values) < POINTS_DRAWN_MIN:
        return None
    return _both(lambda width: throughput_plot(table, width))


def _share(value: float | None) -> str:
    if value is None:
        return "?"
    if value < 0.005:
        return "< 1 %"
    return phrases.unsigned_percent(value, 0)


def _portion(value: float | None, whole: float) -> str:
    """A part of a width in a style, always a number between 0 and the whole."""
    return f"{min(max(value or 0.0, 0.0), 1.0) * whole:.1f}"


def _corner_mood(corner: CureCorner | None) -> str:
    if corner is None or corner.completed is None:
        return ""
    return "good" if corner.completed else "bad"


_FILTERS: Mapping[str, Callable[..., str]] = {
    "worded": _worded,
    "percent": phrases.percent,
    "interval": phrases.interval,
    "number": phrases.number,
    "load": phrases.load,
    "duration": phrases.duration,
    "loss": phrases.unsigned_percent,
    "share": _share,
    "width": lambda value: _portion(value, 100),
    "bar": lambda value: _portion(value, BAR_WIDTH),
    "mood": state_mood,
    "grade_mood": grade_mood,
    "corner_mood": _corner_mood,
    "dip": dip_sentence,
    "fit": lambda fit: FIT_WORDS.get(fit, "not rated"),
}
