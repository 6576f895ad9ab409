"""A verdict of `locate` as typed values, with the sentences that people read of it.

The answer is an `exonerate.verdict/1`; what it lacks stays empty, so that older verdicts and
verdicts without a timeline can be shown as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exonerate.core.json_access import at, number_at, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.report.json_lists import objects_at, texts_at
from exonerate.report.phrases import duration, listed, unsigned_percent, visible

OUTCOME_WORDS = {
    "fault": "Fault found",
    "no_fault": "No fault found",
    "insufficient_evidence": "Not enough evidence",
}
LABEL_CHARACTERS_MAX = 6
_DETAIL_WORDS = {
    "scope": "counted per {}",
    "after_requests": "after {} requests",
    "idle_s": "after {} s idle",
    "total_s": "after {} s in all",
    "period_s": "every {} s",
    "phase_s": "at second {} of the period",
    "depends_on": "depends on {}",
    "request_bytes": "with bodies of {} bytes",
    "age_s": "on connections of {} s",
    "idle_before_s": "after {} s of silence",
    "idle_s_between": "the threshold lies at {} s",
    "total_s_between": "the threshold lies at {} s",
    "prompt_tokens": "with prompts of {} tokens",
    "batch": "at batch {}",
    "peer": "towards {}",
    "ages_s": "on connections {} s old",
    "repeated_in_walks": "repeated by {} walk(s) of requests in a row",
    "setting": "what to change: {}",
}


@dataclass(frozen=True, slots=True)
class FaultView:
    """One convicted hop or boundary."""

    layer: str
    hops: tuple[str, ...]
    fault_class: str
    details: tuple[str, ...]
    confidence: float | None
    evidence: tuple[str, ...]

    @property
    def where(self) -> str:
        """`proxy edge`, `boundary between edge and engine`."""
        if self.layer == "boundary" and len(self.hops) > 1:
            return f"boundary between {listed(self.hops)}"
        hops = listed(self.hops)
        return hops if hops == self.layer else f"{self.layer} {hops}".strip()


@dataclass(frozen=True, slots=True)
class ClearedView:
    """A hop or a knob that is not to blame, and why."""

    kind: str
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class SuspectView:
    """A class of fault at a hop, its posterior and the observations that contradict it."""

    fault_class: str
    layer: str
    hop: str
    posterior: float | None
    contradicted_by: tuple[str, ...]
    predicted: tuple[str, ...]

    @property
    def where(self) -> str:
        """`proxy edge`; a hop that is called like its layer is named once."""
        return self.hop if self.hop == self.layer else f"{self.layer} {self.hop}".strip()


@dataclass(frozen=True, slots=True)
class ObservationView:
    """Something that was seen, and when in the run; `label` is a short name for it (`o3`)."""

    id: str
    label: str
    text: str
    at_s: float | None


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a lane of the timeline."""

    lane: str
    label: str
    begin_s: float
    end_s: float
    state: str


@dataclass(frozen=True, slots=True)
class VerdictView:
    """Everything that a report shows of one verdict."""

    outcome: str
    faults: tuple[FaultView, ...]
    explanation: str | None
    cleared: tuple[ClearedView, ...]
    not_examined: tuple[str, ...]
    next_steps: tuple[str, ...]
    elapsed_s: float | None
    paragraph: str
    suspects: tuple[SuspectView, ...]
    observations: tuple[ObservationView, ...]
    timeline: tuple[Span, ...]
    at: str | None = None

    @property
    def headline(self) -> str:
        """One line: who is to blame, or that nobody is, or that it cannot be told."""
        if self.outcome == "fault" and self.faults:
            return "; ".join(f"{fault.where}: {fault.fault_class}" for fault in self.faults)
        if self.outcome == "no_fault":
            return f"nobody is to blame{f': {self.explanation}' if self.explanation else ''}"
        return "the evidence does not suffice to blame anybody"

    @property
    def confidence(self) -> float | None:
        """The lowest confidence among the faults, or None without one."""
        known = [fault.confidence for fault in self.faults if fault.confidence is not None]
        return min(known, default=None)


def verdict_view(answer: JsonObject, at_stamp: str | None = None) -> VerdictView:
    """The view of an `exonerate.verdict/1` answer."""
    labels = _labels(answer)
    return VerdictView(
        outcome=text_at(answer, "outcome") or "insufficient_evidence",
        faults=tuple(_fault(fault) for fault in objects_at(answer, "faults")),
        explanation=text_at(answer, "explanation", "class"),
        cleared=tuple(_cleared(entry) for entry in objects_at(answer, "cleared")),
        not_examined=tuple(map(visible, texts_at(answer, "not_examined"))),
        next_steps=tuple(map(visible, texts_at(answer, "next"))),
        elapsed_s=number_at(answer, "elapsed_s"),
        paragraph=visible(at(answer, "paragraph") or ""),
        suspects=_suspects(answer, labels),
        observations=tuple(
            _observation(entry, labels) for entry in objects_at(answer, "observations")
        ),
        timeline=_timeline(answer),
        at=at_stamp,
    )


def verdict_paragraph(view: VerdictView, standing: str = "") -> str:
    """The paragraph that came with the verdict, or one made of its parts.

    `standing` says what reverts still cost; it stands before the next step.
    """
    if view.paragraph:
        return f"{view.paragraph} {standing}".strip()
    sentences = [_outcome_sentence(view)]
    if view.cleared:
        sentences.append(f"Cleared: {listed([entry.name for entry in view.cleared])}.")
    if standing:
        sentences.append(standing)
    if view.next_steps:
        sentences.append(f"Next: {view.next_steps[0].rstrip('.')}.")
    return " ".join(sentences)


def _outcome_sentence(view: VerdictView) -> str:
    if view.outcome == "fault" and view.faults:
        return " ".join(_fault_sentence(fault) for fault in view.faults)
    if view.outcome == "no_fault":
        why = f" The explanation is `{view.explanation}`." if view.explanation else ""
        return f"No layer is at fault.{why}"
    return "The evidence does not suffice to blame any layer, so none is blamed."


def _fault_sentence(fault: FaultView) -> str:
    details = f" ({', '.join(fault.details)})" if fault.details else ""
    sure = ""
    if fault.confidence is not None:
        sure = f", with a confidence of {unsigned_percent(fault.confidence, 0)}"
    return f"The {fault.where} is to blame: {fault.fault_class}{details}{sure}."


def _fault(fault: JsonObject) -> FaultView:
    details = at(fault, "details")
    return FaultView(
        layer=visible(at(fault, "layer") or "unknown layer", 80),
        hops=tuple(visible(hop, 80) for hop in texts_at(fault, "hops")),
        fault_class=visible(at(fault, "class") or "unknown", 80),
        details=_details(details if isinstance(details, Mapping) else {}),
        confidence=number_at(fault, "confidence"),
        evidence=tuple(map(visible, texts_at(fault, "evidence"))),
    )


def _details(details: JsonObject) -> tuple[str, ...]:
    words = []
    for key, value in details.items():
        if value is None:
            continue
        pattern = _DETAIL_WORDS.get(key)
        text = _detail_value(value)
        words.append(pattern.format(text) if pattern else f"{visible(key, 60)}: {text}")
    return tuple(words)


def _detail_value(value: Json) -> str:
    if isinstance(value, Mapping) and value.keys() == {"largest_ok", "smallest_bad"}:
        return _threshold(value)
    if isinstance(value, Mapping):
        return listed(
            [f"{visible(key, 60)}: {visible(inner, 200)}" for key, inner in value.items()]
        )
    if isinstance(value, list | tuple):
        return listed([visible(inner, 200) for inner in value])
    if isinstance(value, float):
        return f"{value:g}"
    return visible(value, 200)


def _threshold(value: JsonObject) -> str:
    """`more than 4096 (4100 failed)`: what went well, and the least that did not."""
    largest_ok, smallest_bad = value["largest_ok"], value["smallest_bad"]
    if largest_ok is None:
        return f"{_detail_value(smallest_bad)} and less"
    return f"more than {_detail_value(largest_ok)} ({_detail_value(smallest_bad)} failed)"


def _cleared(entry: JsonObject) -> ClearedView:
    kind = next((kind for kind in ("hop", "knob", "layer") if kind in entry), "hop")
    return ClearedView(kind, visible(at(entry, kind) or "?"), visible(at(entry, "why") or ""))


def _labels(answer: JsonObject) -> dict[str, str]:
    """A short label for each observation: its id where that is short, else its number."""
    identities = [text_at(entry, "id") or "" for entry in objects_at(answer, "observations")]
    return {
        identity: visible(identity) if 0 < len(identity) <= LABEL_CHARACTERS_MAX else f"o{number}"
        for number, identity in enumerate(identities, start=1)
    }


def _suspects(answer: JsonObject, labels: Mapping[str, str]) -> tuple[SuspectView, ...]:
    views = [
        SuspectView(
            fault_class=visible(at(entry, "class") or "?", 80),
            layer=visible(at(entry, "layer") or "", 80),
            hop=visible(at(entry, "hop") or "", 80),
            posterior=number_at(entry, "posterior"),
            contradicted_by=tuple(
                labels.get(text) or visible(text, 300)
                for text in texts_at(entry, "contradicted_by")
            ),
            predicted=tuple(map(visible, texts_at(entry, "predicted"))),
        )
        for entry in objects_at(answer, "suspects")
    ]
    return tuple(sorted(views, key=lambda view: -(view.posterior or 0)))


def _observation(entry: JsonObject, labels: Mapping[str, str]) -> ObservationView:
    return ObservationView(
        id=visible(at(entry, "id") or "", 80),
        label=labels.get(text_at(entry, "id") or "", ""),
        text=visible(at(entry, "text") or ""),
        at_s=number_at(entry, "at_s"),
    )


def _timeline(answer: JsonObject) -> tuple[Span, ...]:
    spans = []
    for entry in objects_at(answer, "timeline"):
        begin, end = number_at(entry, "begin_s"), number_at(entry, "end_s")
        if begin is None or end is None or end < begin:
            continue
        spans.append(
            Span(
                lane=visible(at(entry, "lane") or "?", 80),
                label=visible(at(entry, "label") or "", 120),
                begin_s=begin,
                end_s=end,
                state=visible(at(entry, "state") or "", 40),
            )
        )
    return tuple(spans)


def elapsed(view: VerdictView) -> str:
    """How long it took to reach the verdict."""
    return duration(view.elapsed_s)
