"""What packets showed between a hop and the next one: whether a request went on, and what became.

A request that carries its id is recognised wherever it passes, so that others under way at the same
time do not disturb. That a request did *not* pass says something only where requests of ours that
entered the same hop were seen to pass to each next hop, where they leave its own kernel, where
nothing else that the hop sends stays unseen, and where nothing was missed: no packet dropped, no
request unrecognised, no connection that nobody answered, none that was opened and never used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import (
    before,
    hop_address,
    hop_port,
    is_engine,
    next_hops,
)
from exonerate.core.diagnosis.carried import (
    AFTERMATH_NS,
    REQUEST_BYTES_FRACTION,
    WATCHED_S_MIN,
    Passage,
)
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.instant import NS_PER_MS, NS_PER_S, seconds_between
from exonerate.core.wire.packets.seen import Capture, PacketConnection, Turn

SOURCE = "packets"
AGAIN_MIN = 2
"""One segment sent again is loss; two without an answer are silence."""
EARLY_MIN, AHEAD_NS_MIN = 2, 50 * NS_PER_MS


def captured_passage(
    facts: Facts, round_: Round, hop: Hop, deployment: Deployment
) -> Passage | None:
    """What became of one request at a hop, by packets on their way to its next hops."""
    if is_engine(hop) or not facts.beside.captures:
        return None
    ways = _ways(facts, hop, deployment)
    passed = _went_on(facts, round_, hop, deployment)
    if passed is not None:
        return passed
    strange = _Strangers(facts, hop, deployment)
    entered = {other.name for other in before(deployment, hop.name)}
    rounds = [r for s in facts.sessions if s.hop in entered for r in s.rounds if r is not round_]
    if not ways or not _watched(round_) or not strange.nothing_passed(round_):
        return None
    kept = all(way.nothing_passed(round_, rounds) for way in ways)
    return Passage("no", source=SOURCE) if kept else None


def _went_on(facts: Facts, round_: Round, hop: Hop, deployment: Deployment) -> Passage | None:
    """Where this request was seen behind the hop, by its id; None where it was not."""
    carried = [pair for way in _ways(facts, hop, deployment) for pair in way.carrying(round_)]
    address = hop_address(hop)
    known = any(address in capture.addresses for capture in facts.beside.captures)
    own = [turn for c, turn in carried if not known or c.client == address]
    strange = [] if own else _Strangers(facts, hop, deployment).carrying(round_)
    turns = own or strange
    if not turns:
        # Somebody between the two sent it on, so that it left the hop.
        return Passage("yes", 1, source=SOURCE) if carried else None
    left = "answered" if any(turn.answer_acked for turn in turns) else "yes"
    return Passage(left, len(turns), elsewhere=bool(strange), source=SOURCE)


def broke_off_in_packets(facts: Facts, round_: Round, hop: Hop, deployment: Deployment) -> bool:
    """Whether the next hop ended the connection of this request first, its answer unfinished."""
    for way in _ways(facts, hop, deployment):
        for connection, turn in way.carrying(round_):
            end = next(iter(connection.ends), None)
            if end is None or end.who != "server" or end.at_ns < turn.begun_ns:
                continue
            if end.at_ns > round_.exchange.ended_ns + AFTERMATH_NS or turn.end_seen:
                continue
            # A whole answer may end with FIN as well, unless its own end shows and was missing.
            if end.how == "reset" or not turn.answer_bytes or way.shows_ends():
                return True
    return False


def onward_in_packets(
    facts: Facts, session: Session, hop: Hop, deployment: Deployment
) -> str | None:
    """`unacked` where nobody answered what the hop sent on of a waiting request, else `acked`."""
    round_ = session.waiting
    if round_ is None or round_.outcome != "hang" or is_engine(hop):
        return None
    ways = _ways(facts, hop, deployment)
    turns = [turn for way in ways for _, turn in way.carrying(round_)]
    if any(turn.unanswered >= AGAIN_MIN for turn in turns):
        return "unacked"
    if any(_unanswered(c) for way in ways for c in way.opened_during(round_)):
        return "unacked"
    sizes = [(turn.request_acked, turn.request_bytes) for turn in turns]
    whole = bool(sizes) and all(acked >= REQUEST_BYTES_FRACTION * size for acked, size in sizes)
    return "acked" if whole else None


def held_in_packets(facts: Facts, session: Session, hop: Hop, deployment: Deployment) -> str | None:
    """`yes` when an answer had begun to reach the hop while the client had none; None if unseen."""
    values = [
        held
        for round_ in session.rounds
        for way in _ways(facts, hop, deployment)
        for _, turn in way.carrying(round_)
        if (held := _held(round_, turn)) is not None
    ]
    return None if not values else "yes" if values.count("yes") * 2 > len(values) else "no"


def missed_packets(facts: Facts) -> list[str]:
    """What the capture could not see."""
    captures = facts.beside.captures
    dropped, left_out = sum(c.dropped for c in captures), sum(c.left_out for c in captures)
    missing = []
    if dropped:
        missing.append(f"packets: {dropped} of {dropped + _packets(captures)} came too fast")
    if left_out:
        missing.append(f"packets: of {left_out} connections nothing was kept")
    if any(c.clock_steps for c in captures):
        missing.append("packets: the clock of this host was set meanwhile")
    return missing


@dataclass(frozen=True, slots=True)
class _Way:
    """The connections of others to one hop, as packets showed them."""

    facts: Facts
    hop: Hop
    deployment: Deployment
    sender: str | None = None
    """The address of the hop before it."""

    def carrying(self, round_: Round) -> list[tuple[PacketConnection, Turn]]:
        """Where this request passed, by its id."""
        passed = self.facts.beside.passed.get(round_.exchange.request_id, ())
        return [(connection, turn) for connection, turn in passed if self._is_mine(connection)]

    def nothing_passed(self, round_: Round, others: Sequence[Round]) -> bool:
        """Whether it would have been seen here, and was not."""
        begun, until = round_.exchange.begun_ns, round_.exchange.ended_ns
        captures = [c for c in self.facts.beside.captures if c.covers(begun, until)]
        if not captures or not all(c.whole for c in captures):
            return False
        return _quiet(round_, self._connections(begun)) and self._in_sight(others)

    def opened_during(self, round_: Round) -> Iterator[PacketConnection]:
        """Connections that were begun while the round lasted."""
        for connection in self._connections(round_.exchange.begun_ns):
            if _opened_during(round_, connection):
                yield connection

    def shows_ends(self) -> bool:
        """Whether answers that this hop ends are seen to end."""
        return any(turn.end_seen for _, turn in self._turns(0))

    def _in_sight(self, others: Sequence[Round]) -> bool:
        """Whether other requests of ours passed here, seen where they left the hop's kernel."""
        passed = [connection for round_ in others for connection, _ in self.carrying(round_)]
        return bool(passed) and all(c.near and c.client == self.sender for c in passed)

    def _turns(self, since_ns: int) -> Iterator[tuple[PacketConnection, Turn]]:
        for connection in self._connections(since_ns):
            for turn in connection.turns:
                if turn.begun_ns >= since_ns:
                    yield connection, turn

    def _connections(self, since_ns: int) -> Iterator[PacketConnection]:
        for capture in self.facts.beside.captures:
            if capture.until_ns >= since_ns:
                yield from filter(self._is_mine, capture.connections)

    def _is_mine(self, connection: PacketConnection) -> bool:
        ours = connection.client_port in self.facts.own_ports
        return not ours and _leads_to(connection, self.hop, self.deployment)


def _ways(facts: Facts, hop: Hop, deployment: Deployment) -> list[_Way]:
    """From the hop to each next one."""
    nexts = next_hops(deployment, hop.name)
    return [_Way(facts, other, deployment, hop_address(hop)) for other in nexts]


@dataclass(frozen=True, slots=True)
class _Strangers:
    """The connections of a hop to whatever is no hop of the deployment."""

    facts: Facts
    hop: Hop
    deployment: Deployment

    def carrying(self, round_: Round) -> list[Turn]:
        """Where this request passed, by its id."""
        passed = self.facts.beside.passed.get(round_.exchange.request_id, ())
        return [turn for connection, turn in passed if self._is_strange(connection)]

    def nothing_passed(self, round_: Round) -> bool:
        """Whether everything that the hop sent would have been seen, and no such request was."""
        address, begun = hop_address(self.hop), round_.exchange.begun_ns
        late = [c for c in self.facts.beside.captures if c.until_ns >= begun]
        if address is None or not all(address in capture.addresses for capture in late):
            return False
        seen = (connection for capture in late for connection in capture.connections)
        return _quiet(round_, filter(self._is_strange, seen))

    def _is_strange(self, connection: PacketConnection) -> bool:
        if connection.client is None or connection.client != hop_address(self.hop):
            return False
        return not any(_leads_to(connection, h, self.deployment) for h in self.deployment.hops)


def _quiet(round_: Round, connections: Iterable[PacketConnection]) -> bool:
    """Whether no request that cannot be recognised was begun, or tried, while the round lasted."""
    begun, until = round_.exchange.begun_ns, round_.exchange.ended_ns
    least = REQUEST_BYTES_FRACTION * round_.exchange.request_bytes
    for connection in connections:
        tried = _opened_during(round_, connection) and connection.answered_ns is None
        if connection.unseen_bytes or _opened_in_vain(connection):
            return False
        unknown = any(
            begun <= turn.begun_ns <= until and not turn.ids and turn.request_bytes >= least
            for turn in connection.turns
        )
        if tried or unknown or connection.turns_left_out:
            return False
    return True


def _opened_in_vain(connection: PacketConnection) -> bool:
    """Opened, and never used: what should have gone over it may have been lost on the hop's host.

    One that is closed at once was a look at whether anybody listens.
    """
    if connection.opened_ns is None or connection.turns or connection.turns_left_out:
        return False
    until_ns = connection.ends[0].at_ns if connection.ends else None
    return until_ns is None or until_ns - connection.opened_ns >= WATCHED_S_MIN * NS_PER_S


def _opened_during(round_: Round, connection: PacketConnection) -> bool:
    opened, exchange = connection.opened_ns, round_.exchange
    return opened is not None and exchange.begun_ns <= opened <= exchange.ended_ns


def _leads_to(connection: PacketConnection, hop: Hop, deployment: Deployment) -> bool:
    """Whether its server is this hop: by its port, and by its address where others share that."""
    if connection.server_port != hop_port(hop):
        return False
    if sum(hop_port(other) == hop_port(hop) for other in deployment.hops) == 1:
        return True
    return hop_address(hop) == connection.server


def _watched(round_: Round) -> bool:
    """Whether it was waited for long enough, or over."""
    exchange = round_.exchange
    over = exchange.given_up == "no"
    return over or seconds_between(exchange.begun_ns, exchange.ended_ns) >= WATCHED_S_MIN


def _unanswered(connection: PacketConnection) -> bool:
    return connection.answered_ns is None and connection.syn_again >= AGAIN_MIN


def _held(round_: Round, turn: Turn) -> str | None:
    first_ns = round_.exchange.first_byte_ns
    # The first packet holds the head of the answer.
    tokens = turn.answer_stamps_ns[1:]
    if first_ns is None or len(tokens) < EARLY_MIN:
        return None
    early = [ns for ns in tokens if ns < first_ns]
    return "yes" if len(early) >= EARLY_MIN and first_ns - early[0] >= AHEAD_NS_MIN else "no"


def _packets(captures: Sequence[Capture]) -> int:
    return sum(capture.packets for capture in captures)
