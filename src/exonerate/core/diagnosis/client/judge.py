"""What the signs of an observed run amount to, and what is to be done next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from exonerate.core.case.records import Record
from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.catalogue.clients import CLASSES
from exonerate.core.diagnosis.client.confirm import CONFIRM_SCENE, Waits, probe_signs, waits
from exonerate.core.diagnosis.client.observed import OBSERVE_SCENE, Observed, read_observed
from exonerate.core.diagnosis.client.signs import CLIENT, signs, timer_seen, wire_outcome
from exonerate.core.diagnosis.facts import Session, read_facts
from exonerate.core.diagnosis.posterior import Rating, rate
from exonerate.core.diagnosis.suspect import Observation, Suspect
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event
from exonerate.core.scene_json import event_from_json
from exonerate.core.wire.tapped import TappedExchange

CONVICTION = 0.95
SUSPICION = 0.5
OWN_TRIES_MIN = 3
EVENTS_MIN = 8
ROUNDS_MIN = 2
ROUNDS_ALIKE = 4
BURST_SPREAD_MS = 5.0
BURST_SHARE = 0.01
JERKY_GAP_MS = 1.0
JERKY_PAUSE_MS = 120.0
COMPARABLE_SHARE = 0.7
QUICK_SHARE = 0.5
SUSPECTED_ONLY = frozenset({"client-parser"})
"""Classes that the wire can raise and not prove: a client that asks again may dislike what the
answer says, which is somebody else's fault."""


@dataclass(frozen=True, slots=True)
class ClientJudgement:
    """The observed run, its signs, and how every suspect at the client fares."""

    observed: Observed
    deployment: Deployment
    sessions: tuple[Session, ...]
    """Our own requests, where they were sent."""
    observations: tuple[Observation, ...]
    ratings: tuple[Rating, ...]
    none_of_these: float
    elapsed_s: float

    @property
    def top(self) -> Rating:
        """The most believable suspect."""
        return self.ratings[0]

    @property
    def suspicion(self) -> str | None:
        """The class at the client that is worth our own requests, if there is one."""
        top = self.top
        if not top.suspect.suspect_class.is_fault or top.contradicted_by:
            return None
        slug = top.suspect.suspect_class.slug
        if slug == "client-timer" and quickly_answered(self.observed):
            return None
        return slug if top.posterior >= SUSPICION else None

    @property
    def waits(self) -> Waits:
        """How long our own requests waited."""
        return waits(self.sessions)

    @property
    def unwell(self) -> bool:
        """The client failed, or got less than whole answers."""
        return not self.observed.went_well or self.observed_value("wire") == "bad"

    def observed_value(self, name: str) -> str | None:
        """The value of a sign, or None where it was not seen."""
        seen = (o.value for o in self.observations if o.observable == name)
        return next(seen, None)

    def outcome(self, *, complaint: bool) -> str:
        """`fault`, `no_fault`, `insufficient_evidence`, `confirm` or `localise`."""
        slug = self.top.suspect.suspect_class.slug
        if not self.observed.connections and self.suspicion is None:
            return "insufficient_evidence"
        if slug == "healthy" and self.observed.rounds and not complaint:
            return "localise" if uneven(self.observed.rounds) else "no_fault"
        if self.suspicion is not None:
            if not self.sessions:
                return "confirm"
            if self.suspicion in SUSPECTED_ONLY and self.observed_value("own-probe") == "ok":
                return "insufficient_evidence"
            return "fault" if self._convicted() else "localise"
        if slug == "own-affair":
            return "confirm" if not self.sessions else "insufficient_evidence"
        return "localise"

    def timer_is_too_short(self) -> bool:
        """Our own requests were answered whole, and always later than the client waits."""
        own = next((o for o in self.observations if o.observable == "own-probe"), None)
        late = own is not None and own.value == "late" and own.times >= OWN_TRIES_MIN
        return late and self.observed_value("client-closes") == "constant"

    def _convicted(self) -> bool:
        top = self.top
        if top.posterior < CONVICTION or top.contradicted_by:
            return False
        prior = top.suspect.suspect_class.prior
        rivals = [r for r in self.ratings[1:] if r.suspect.suspect_class.prior >= prior]
        if not all(sum(o.times for o in rival.contradicted_by) >= 2 for rival in rivals):
            return False
        own = next((o for o in self.observations if o.observable == "own-probe"), None)
        if own is None or own.times < OWN_TRIES_MIN or own.value == "fails":
            return False
        if top.suspect.suspect_class.slug == "client-timer":
            return not self.waits.path_adds
        return True


def judge_client(
    records: Sequence[Record], deployment: Deployment, *, tap_port: int
) -> ClientJudgement:
    """Everything that the records say about the client."""
    observed = read_observed(events_of(records, OBSERVE_SCENE), tap_port)
    facts = read_facts(records)
    sessions = tuple(s for s in facts.sessions if s.scene == CONFIRM_SCENE)
    found = [*signs(observed), *probe_signs(sessions, observed)]
    ratings, none = rate([Suspect(c, CLIENT) for c in CLASSES], found)
    return ClientJudgement(
        observed=observed,
        deployment=deployment,
        sessions=sessions,
        observations=tuple(found),
        ratings=tuple(ratings),
        none_of_these=none,
        elapsed_s=facts.elapsed_s,
    )


def events_of(records: Sequence[Record], scene: str) -> list[Event]:
    """The events of one played scene."""
    for record in records:
        if record.kind == "scene_played" and record.body.get("scene") == scene:
            events = record.body["events"]
            assert isinstance(events, Sequence)
            return [event_from_json(_object(event)) for event in events]
    return []


def quickly_answered(observed: Observed) -> bool:
    """Whether requests as large as those that the client gave up came well within its limit.

    Then the waiting was not in the request, and a longer limit would not be the cure.
    """
    timer = timer_seen(observed)
    if timer is None:
        return False
    left = [r for r in observed.rounds if r.ended_by == "client"]
    smallest = min((r.asked.body_bytes for r in left), default=0)
    return any(
        r.exchange.complete
        and r.asked.body_bytes >= COMPARABLE_SHARE * smallest
        and r.waited_s <= QUICK_SHARE * timer.limit_s
        for r in observed.rounds
    )


def rounds_needed(rounds: Sequence[TappedExchange]) -> int:
    """How many rounds show what the client met: up to the first odd one, and one more.

    Where all were alike a few do, so that the time goes into repeating them.
    """
    odd = [
        number
        for number, round_ in enumerate(rounds, start=1)
        if wire_outcome(round_) != "ok" or uneven([round_])
    ]
    return max(ROUNDS_MIN, odd[0] + 1 if odd else ROUNDS_ALIKE)


def uneven(rounds: Sequence[TappedExchange]) -> bool:
    """Whether streams came in one piece or in jerks: worth a comparison with the engine's own."""
    streams = [r.exchange.arrivals_ms for r in rounds if len(r.exchange.arrivals_ms) >= EVENTS_MIN]
    odd = [arrivals for arrivals in streams if _in_one_piece(arrivals) or _in_jerks(arrivals)]
    return bool(streams) and len(odd) * 2 >= len(streams)


def _in_one_piece(arrivals: Sequence[float]) -> bool:
    spread = arrivals[-1] - arrivals[0]
    return spread <= max(BURST_SPREAD_MS, BURST_SHARE * arrivals[0])


def _in_jerks(arrivals: Sequence[float]) -> bool:
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    together = sum(gap < JERKY_GAP_MS for gap in gaps)
    return together * 2 > len(gaps) and max(gaps) >= JERKY_PAUSE_MS


def _object(value: object) -> JsonObject:
    assert isinstance(value, dict)
    return value
