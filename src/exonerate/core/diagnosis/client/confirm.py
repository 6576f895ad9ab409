"""Our own requests in the client's shape, past the client: what the path does without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment, Hop, Victim
from exonerate.core.deployment.topology import entry_hop, is_engine, probeable
from exonerate.core.diagnosis.client.observed import Observed
from exonerate.core.diagnosis.client.signs import (
    CLIENT,
    TimerSeen,
    after_close,
    stale_idle_s,
    timer_seen,
)
from exonerate.core.diagnosis.facts import Session
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.scene import Connection, ProbeSession, PromptRecipe, RequestRecipe, Scene

CONFIRM_SCENE = "confirm-1"
TRIES = 3
THINK_S_MAX = 0.3
IDLE_MARGIN_S = 0.3
IDLE_RATIO = 1.3
LATE_SHARE = 0.9
"""A probe that took this share of the client's limit would not have been sure to be in time."""
LATER_RATIO = 1.5
LATER_S = 0.3
OWN, DIRECT, HALF, IDLE = "own@", "direct@", "half@", "idle@"


@dataclass(frozen=True, slots=True)
class Waits:
    """How long our own requests waited for their first token, entering at each end of the path."""

    through: tuple[float, ...]
    direct: tuple[float, ...]

    @property
    def path_adds(self) -> bool:
        """Whether the path makes answers later than the engine does."""
        if not self.direct or not self.through:
            return False
        through, direct = min(self.through), max(self.direct)
        return through > LATER_RATIO * direct and through - direct > LATER_S


def confirm_scene(deployment: Deployment, observed: Observed, slug: str, seed: int) -> Scene:
    """The scene that a suspicion needs; its sessions follow each other, one request at a time."""
    asker = _Asker(deployment, seed)
    match slug:
        case "client-timer":
            sessions = asker.alternating(timer_seen(observed))
        case "half-close":
            sessions = [asker.own(connection="fresh"), asker.half_closing()]
        case "stale-reuse":
            idle_s = stale_idle_s(observed, after_close(observed)) or 0.0
            sessions = [asker.own(connection="reuse", think_s=idle_s / 2), asker.idling(idle_s)]
        case _:
            sessions = [asker.own(connection=deployment.victim.connection)]
    limit_s = sum(s.rounds * (s.deadline_s + s.think_s) for s in sessions) + 5.0
    return Scene(
        id=CONFIRM_SCENE,
        why=f"send the client's requests without the client: is it `{slug}`, or the path?",
        activities=tuple(sessions),
        time_limit_s=limit_s,
    )


def probe_signs(sessions: Sequence[Session], observed: Observed) -> list[Observation]:
    """What our own requests showed."""
    found: list[Observation] = []
    own = _rounds(sessions, OWN)
    if own:
        found.append(_own(own, sum(s.plan.rounds for s in sessions if _is(s, OWN)), observed))
    half = _rounds(sessions, HALF)
    if half:
        failed = sum(not ok for ok, _, _ in half)
        value = "fails" if failed == len(half) else "ok"
        times = failed if value == "fails" else len(half) - failed
        found.append(Observation(CLIENT, "half-close-probe", value, times, len(half)))
    idle = _rounds(sessions, IDLE)[1:]
    if idle:
        closed = sum(was_closed for _, _, was_closed in idle)
        value = "closed" if closed == len(idle) else "kept"
        times = closed if value == "closed" else len(idle) - closed
        found.append(Observation(CLIENT, "idle-probe", value, times, len(idle)))
    return found


def waits(sessions: Sequence[Session]) -> Waits:
    """The waits of our own requests that were answered."""
    return Waits(
        through=tuple(wait for ok, wait, _ in _rounds(sessions, OWN) if ok),
        direct=tuple(wait for ok, wait, _ in _rounds(sessions, DIRECT) if ok),
    )


def _own(own: Sequence[tuple[bool, float, bool]], planned: int, observed: Observed) -> Observation:
    bad = sum(not ok for ok, _, _ in own)
    if bad:
        return Observation(CLIENT, "own-probe", "fails", bad, len(own))
    timer = timer_seen(observed)
    slowest = f"first token after {min(w for _, w, _ in own):.2f} s at the earliest"
    late = [wait for _, wait, _ in own if timer and wait >= LATE_SHARE * timer.limit_s]
    if timer is not None and len(late) == len(own):
        return Observation(CLIENT, "own-probe", "late", len(late), len(own), slowest)
    return Observation(CLIENT, "own-probe", "ok", len(own), max(len(own), planned))


def _rounds(sessions: Sequence[Session], prefix: str) -> list[tuple[bool, float, bool]]:
    """Of each round: answered well, waited, its kept connection had been closed meanwhile."""
    return [
        (r.outcome in ("ok", "slow"), r.wait_s, r.exchange.connection.closed_while_idle)
        for session in sessions
        if _is(session, prefix)
        for r in session.rounds
        if r.outcome != "unfinished"
    ]


def _is(session: Session, prefix: str) -> bool:
    return session.plan.name.startswith(prefix)


class _Asker:
    """Makes the sessions, each after the one before."""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self._deployment = deployment
        self._victim: Victim = deployment.victim
        self._seed = seed
        self._before: tuple[str, ...] = ()
        self._count = 0

    def own(self, *, connection: Connection, think_s: float | None = None) -> ProbeSession:
        """The client's requests at the first hop."""
        pause_s = min(THINK_S_MAX, self._victim.think_s) if think_s is None else think_s
        entry = entry_hop(self._deployment)
        return self._session(OWN, entry, rounds=TRIES, connection=connection, think_s=pause_s)

    def half_closing(self) -> ProbeSession:
        """The same, each followed by the end of our sending side."""
        entry = entry_hop(self._deployment)
        return self._session(HALF, entry, rounds=TRIES, connection="fresh", think_s=0.0)

    def idling(self, idle_s: float) -> ProbeSession:
        """The same with pauses a little longer than what the hop was seen to allow."""
        entry = entry_hop(self._deployment)
        think_s = IDLE_RATIO * idle_s + IDLE_MARGIN_S
        return self._session(IDLE, entry, rounds=TRIES + 1, connection="reuse", think_s=think_s)

    def alternating(self, timer: TimerSeen | None) -> list[ProbeSession]:
        """One request through the path and one at the engine, in turns, with patience."""
        entry = entry_hop(self._deployment)
        engines = [h for h in self._deployment.hops if is_engine(h) and probeable(h) and h != entry]
        found: list[ProbeSession] = []
        for number in range(TRIES):
            found.append(self._session(OWN, entry, rounds=1, connection="fresh", think_s=0.0))
            if engines and number < TRIES - 1:
                direct = self._session(
                    DIRECT, engines[0], rounds=1, connection="fresh", think_s=0.0
                )
                found.append(direct)
        return found

    def _session(
        self, prefix: str, hop: Hop, *, rounds: int, connection: Connection, think_s: float
    ) -> ProbeSession:
        self._count += 1
        victim = self._victim
        session = ProbeSession(
            name=f"{prefix}{hop.name}/{self._count}",
            hop=hop.name,
            url=hop.url,
            request=RequestRecipe(
                path=victim.endpoint,
                model=self._deployment.model,
                prompt=PromptRecipe(
                    seed=self._seed,
                    prompt_tokens=victim.prompt_tokens,
                    growth_tokens=victim.growth_tokens,
                    salt=f"{self._seed}-confirm-{self._count}",
                ),
                max_tokens=victim.max_tokens,
                stream=victim.stream,
                api_key_env=victim.api_key_env,
                body_ref=victim.request,
            ),
            rounds=rounds,
            connection=connection,
            think_s=round(think_s, 3),
            deadline_s=victim.deadline_s,
            stop_after_failure=prefix != HALF,
            half_close=prefix == HALF,
            after=self._before,
        )
        self._before = (session.name,)
        return session
