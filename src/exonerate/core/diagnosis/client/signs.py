"""From an observed run to signs: observables about the client, small closed vocabularies.

- ``client-exit``: how the program ended: by its own account well, by its own account not, or
  because somebody stopped it
- ``client-stood``: how it stood when nothing crossed any more, if that lasted:
  ``not``; ``waiting`` for an answer that had not come whole; ``unread``, with an answer that it
  had not read at all; ``holding`` connections whose answers were whole, while it had opened others;
  ``locked``, every thread of it in a lock; ``busy`` computing; ``idle``, none of these
- ``client-closes``: how it ended exchanges that were under way: ``never``; ``half``, its sending
  side right after the request; ``constant``, always after the same time; ``once``; ``varying``
- ``client-reuse``: ``after-close`` when it asked on a connection that the hop had closed
- ``client-repeats``: ``answered`` when it asked the very same again after a whole good answer
- ``client-route``: whether it talks to the tap: ``tap``, ``env-proxy``, ``elsewhere``, ``nowhere``
- ``wire``: how the exchanges went as they crossed: ``ok``, ``errors`` (whole answers, 4xx or 5xx
  among them), ``bad``
- ``own-probe``: the same requests sent by us, past the client: ``ok``; ``late``, whole but only
  after the time that the client allows; ``fails``
- ``half-close-probe``, ``idle-probe``: the same requests by us, once with the client's habit
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median_low

from exonerate.core.diagnosis.client.observed import (
    Observed,
    own_unread_bytes,
    whole_answer,
)
from exonerate.core.diagnosis.facts import CONTENT_FAULTS, outcome_of
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import seconds_between
from exonerate.core.wire.tapped import TappedConnection, TappedExchange

CLIENT = "client"
STILL_S_MIN = 2.0
STILL_RATIO = 3.0
"""A silence means something from this many times the longest pause before it."""
HALF_CLOSE_S_MAX = 0.1
CONSTANT_S = 0.15
CONSTANT_SHARE = 0.1
BUSY_SHARE = 0.5
UNREAD_SHARE = 0.5
REPEATS_MIN = 2
LOCKS = ("futex_wait_queue", "futex_wait_queue_me", "futex_do_wait", "futex_wait")


@dataclass(frozen=True, slots=True)
class TimerSeen:
    """The client ended `times` exchanges after about `limit_s`."""

    limit_s: float
    times: int
    constant: bool
    before_first_token: bool


def signs(observed: Observed) -> list[Observation]:
    """Every sign of the run itself; probes of our own are read elsewhere."""
    found = [_exit(observed), _route(observed)]
    if observed.rounds:
        found += [
            _stood(observed),
            _closes(observed),
            _reuse(observed),
            _repeats(observed),
            _wire(observed),
        ]
    return found


def timer_seen(observed: Observed) -> TimerSeen | None:
    """After what time the client ended exchanges under way; None where it never did."""
    left = [r for r in observed.rounds if _left_by_client(r) and not _is_half_closed(r)]
    ages = [seconds_between(r.exchange.begun_ns, r.exchange.ended_ns) for r in left]
    if not ages:
        return None
    spread = max(ages) - min(ages)
    constant = len(ages) >= 2 and spread <= max(CONSTANT_S, CONSTANT_SHARE * mean(ages))
    waiting = all(r.exchange.first_token_ns is None for r in left)
    return TimerSeen(mean(ages), len(ages), constant, waiting)


def held_connections(observed: Observed) -> list[TappedConnection]:
    """Connections whose answers were whole, that stayed open and unused while others were opened.

    A pool that had got them back would have used them again.
    """
    last_opened_ns = max((c.opened_ns for c in observed.connections), default=0)
    held = [c for c in observed.connections if _is_held(c, observed)]
    elder = [c for c in held if c.opened_ns < last_opened_ns]
    return held if elder else []


def after_close(observed: Observed) -> list[TappedExchange]:
    """Requests sent on a connection that the hop had already closed, and never answered."""
    return [
        r
        for r in observed.rounds
        if r.hop_closed_ns is not None and r.exchange.first_byte_ns is None
    ]


def half_closed(observed: Observed) -> list[TappedExchange]:
    """Requests after which the client ended its sending side at once, and then got nothing."""
    return [r for r in observed.rounds if _is_half_closed(r)]


def _exit(observed: Observed) -> Observation:
    if observed.went_well:
        return Observation(CLIENT, "client-exit", "well", 1, 1)
    if observed.ended_by != "itself":
        text = {"interrupt": "Ctrl-C", "limit": "the time limit"}.get(observed.ended_by, "")
        return Observation(CLIENT, "client-exit", "stopped", 1, 1, text)
    return Observation(CLIENT, "client-exit", "failed", 1, 1, f"status {observed.status}")


def _route(observed: Observed) -> Observation:
    if observed.connections:
        count = len(observed.connections) + len(observed.exchanges)
        return Observation(CLIENT, "client-route", "tap", count, count)
    peers = Counter(
        f"{row.peer}:{row.peer_port}"
        for sample in observed.samples
        for row in sample.sockets
        if row.peer_port not in (0, observed.tap_port)
    )
    if not peers:
        samples = max(1, len(observed.samples))
        return Observation(CLIENT, "client-route", "nowhere", samples, samples)
    named = {_loopback(address) for address in observed.proxies.values()}
    seen = [(peer, times) for peer, times in peers.items() if _loopback(peer) in named]
    value = "env-proxy" if seen else "elsewhere"
    peer, times = seen[0] if seen else peers.most_common(1)[0]
    return Observation(CLIENT, "client-route", value, times, sum(peers.values()), peer)


def _loopback(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in ("localhost", "::1", "[::1]") else address


def _stood(observed: Observed) -> Observation:
    last = observed.rounds[-1]
    limit_s = max(STILL_S_MIN, STILL_RATIO * max(observed.pauses_s(), default=0.0))
    samples = observed.still_samples
    under_way = [
        r
        for r in observed.rounds
        if not (whole_answer(r) or _left_after_the_end(r)) and _lasted_to_the_end(r, observed)
    ]
    times = max(1, len(samples))
    text = f"{observed.still_s:.1f} s"
    if under_way:
        return Observation(CLIENT, "client-stood", "waiting", times, times, text)
    if observed.went_well or observed.still_s < limit_s:
        return Observation(CLIENT, "client-stood", "not", 1, 1)
    unread = [own_unread_bytes(s, last, observed.tap_port) for s in samples]
    if unread and whole_answer(last) and _left_unread(unread, last):
        text = f"{max(unread)} of {last.answer_bytes} bytes unread for {observed.still_s:.1f} s"
        return Observation(CLIENT, "client-stood", "unread", times, times, text)
    held = held_connections(observed)
    if held:
        text = f"{len(held)} connections held, nothing asked for {observed.still_s:.1f} s"
        return Observation(CLIENT, "client-stood", "holding", max(len(held), times), times, text)
    return Observation(CLIENT, "client-stood", _how_it_waited(observed), times, times, text)


def _left_unread(unread: Sequence[int], last: TappedExchange) -> bool:
    """Whether most of the answer lay in the socket at most of the looks.

    What is read never comes back, so that one look may have been too early, before the bytes had
    come, or too late, while the program ended.
    """
    return median_low(unread) >= UNREAD_SHARE * max(1, last.answer_bytes)


def _how_it_waited(observed: Observed) -> str:
    samples = observed.still_samples
    if len(samples) >= 2:
        used_s = samples[-1].cpu_s - samples[0].cpu_s
        if used_s > BUSY_SHARE * seconds_between(samples[0].at_ns, samples[-1].at_ns):
            return "busy"
        if all(s.waits and all(wait in LOCKS for wait in s.waits) for s in samples):
            return "locked"
    return "idle"


def _lasted_to_the_end(round_: TappedExchange, observed: Observed) -> bool:
    """The client was still waiting for it when it ended or was ended."""
    if round_.ended_by not in ("client", "nobody"):
        return False
    left_s = seconds_between(round_.exchange.ended_ns, observed.ended_ns)
    return left_s < 1.0


def _closes(observed: Observed) -> Observation:
    rounds = len(observed.rounds)
    half = half_closed(observed)
    if half:
        return Observation(CLIENT, "client-closes", "half", len(half), rounds)
    timer = timer_seen(observed)
    if timer is None:
        return Observation(CLIENT, "client-closes", "never", rounds, rounds)
    value = "once" if timer.times == 1 else "constant" if timer.constant else "varying"
    text = f"after {timer.limit_s:.2f} s"
    return Observation(CLIENT, "client-closes", value, timer.times, rounds, text)


def _left_by_client(round_: TappedExchange) -> bool:
    left = round_.ended_by == "client" and round_.how != "open"
    return left and round_.hop_closed_ns is None and not _left_after_the_end(round_)


def _left_after_the_end(round_: TappedExchange) -> bool:
    """The client left once the stream had said that it was done, before the framing had ended.

    Many clients read no further than that, and whether the rest comes in the same segment is luck.
    """
    return round_.ended_by == "client" and round_.exchange.content.done_seen


def _is_half_closed(round_: TappedExchange) -> bool:
    """FIN right behind the request, before any byte of an answer: it still wanted to read."""
    if round_.half_closed_ns is None or round_.request_ended_ns is None:
        return False
    if round_.hop_closed_ns is not None:
        return False
    promptly = seconds_between(round_.request_ended_ns, round_.half_closed_ns) <= HALF_CLOSE_S_MAX
    first_ns = round_.exchange.first_byte_ns
    return promptly and (first_ns is None or first_ns >= round_.half_closed_ns)


def _reuse(observed: Observed) -> Observation:
    stale = after_close(observed)
    rounds = len(observed.rounds)
    if not stale:
        return Observation(CLIENT, "client-reuse", "sound", rounds, rounds)
    facts = stale[0]
    assert facts.hop_closed_ns is not None
    late_s = seconds_between(facts.hop_closed_ns, facts.exchange.begun_ns)
    text = f"asked {late_s:.2f} s after the hop had closed"
    return Observation(CLIENT, "client-reuse", "after-close", len(stale), rounds, text)


def _repeats(observed: Observed) -> Observation:
    answered: set[str] = set()
    again = 0
    for round_ in observed.rounds:
        digest = round_.asked.prompt_sha256
        again += digest in answered
        if digest is not None and outcome_of(round_.exchange, None) == "ok":
            answered.add(digest)
    rounds = len(observed.rounds)
    if again >= REPEATS_MIN:
        return Observation(CLIENT, "client-repeats", "answered", again, rounds)
    return Observation(CLIENT, "client-repeats", "no", rounds, rounds)


def _wire(observed: Observed) -> Observation:
    outcomes = [wire_outcome(round_) for round_ in observed.rounds]
    counts = Counter(outcomes)
    for value in ("bad", "errors", "ok"):
        if counts[value]:
            return Observation(CLIENT, "wire", value, counts[value], len(outcomes))
    raise AssertionError("a run with rounds has outcomes")


def wire_outcome(round_: TappedExchange) -> str:
    """How one exchange went as it crossed."""
    exchange = round_.exchange
    if _left_after_the_end(round_):
        return "bad" if CONTENT_FAULTS & set(exchange.content.defects) else "ok"
    outcome = outcome_of(exchange, None)
    if outcome in ("ok", "slow"):
        return "ok"
    whole = outcome in ("refused", "server-error") and exchange.body_complete
    return "errors" if whole else "bad"


def _is_held(connection: TappedConnection, observed: Observed) -> bool:
    """Open and unused to the end, all of its answers whole."""
    left_ns = connection.client_left_ns
    if left_ns is not None and left_ns < observed.ended_ns - 500_000_000:
        return False
    own = [r for r in observed.rounds if r.exchange.connection.ordinal == connection.ordinal]
    idle_s = seconds_between(connection.last_byte_ns or connection.opened_ns, observed.ended_ns)
    return bool(own) and all(whole_answer(r) for r in own) and idle_s >= STILL_S_MIN


def stale_idle_s(observed: Observed, rounds: Sequence[TappedExchange]) -> float | None:
    """After how long an idle connection was closed by the hop, where a request ran into that."""
    found: list[float] = []
    for round_ in rounds:
        ordinal = round_.exchange.connection.ordinal
        before = [
            r.exchange.ended_ns
            for r in observed.exchanges
            if r.exchange.connection.ordinal == ordinal
            and r.exchange.ended_ns <= round_.exchange.begun_ns
            and r is not round_
        ]
        if before and round_.hop_closed_ns is not None:
            found.append(seconds_between(max(before), round_.hop_closed_ns))
    return min(found, default=None)
