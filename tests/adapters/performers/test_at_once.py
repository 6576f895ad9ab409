"""Whole runs of the localiser at real sockets: what each address has under way, at the most.

The hops are servers of the test that answer by a rule, each for itself; the run is played in
skipped time by the real player.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from tests.support.probed import ANSWER, EVENTS, silent, take_request
from tests.support.skipped_time import played
from tests.support.world import PATH, World, record, start_records

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.probing import ProbePerformer
from exonerate.adapters.player import Performer, ScenePlayer, Stage
from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.localiser import decide
from exonerate.core.json_access import object_of
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, ProbeSession
from exonerate.core.scene_json import event_to_json, scene_to_json

PAIR = """\
[deployment]
model = "m"
[[hop]]
name = "edge"
role = "router"
url = "http://127.0.0.1:8080"
[[hop]]
name = "prefill"
role = "prefill"
url = "http://127.0.0.1:8081"
[[hop]]
name = "decode"
role = "decode"
url = "http://127.0.0.1:8082"
[victim]
rounds = 4
think_s = 0.4
deadline_s = 6
"""
HOPS = ("edge", "inner", "engine")
HEAD = ANSWER[: ANSWER.index(b"\r\n\r\n") + 4]
CHUNK = b"%x\r\n%s\r\n" % (len(EVENTS[0]), EVENTS[0])
END = ANSWER[ANSWER.index(b"%x\r\n%s" % (len(EVENTS[1]), EVENTS[1])) :]
FOR_EVER_S = 1e6


@dataclass(frozen=True)
class Sent:
    """One request, as the rule of a hop sees it."""

    hop: str
    on_connection: int
    in_all: int
    at_s: float
    body_bytes: int


@dataclass(frozen=True)
class Pace:
    """How an answer comes."""

    wait_s: float = 0.1
    lasts_s: float = 0.3
    stops: bool = False
    """In the middle, and the connection stays open."""


Rule = Callable[[Sent], Pace]
NEVER = Pace(wait_s=FOR_EVER_S)


@dataclass
class Hops:
    """The servers."""

    rule: Rule
    ports: dict[str, int] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """All of them, on ports of their own."""
        async with AsyncExitStack() as stack:
            for hop in HOPS:
                started = await asyncio.start_server(self._taker(hop), "127.0.0.1", 0)
                await stack.enter_async_context(started)
                self.ports[hop] = started.sockets[0].getsockname()[1]
            yield

    def _taker(
        self, hop: str
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], "asyncio.Future[None]"]:
        def take(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> "asyncio.Future[None]":
            return asyncio.ensure_future(self._connection(hop, reader, writer))

        return take

    async def _connection(
        self, hop: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        number = 0
        try:
            while True:
                length = await take_request(reader)
                number += 1
                self.taken[hop] += 1
                at_s = asyncio.get_running_loop().time()
                answering = asyncio.ensure_future(
                    self._answer(Sent(hop, number, self.taken[hop], at_s, length), writer)
                )
                left = asyncio.ensure_future(reader.read(1))
                await asyncio.wait([answering, left], return_when=asyncio.FIRST_COMPLETED)
                if not answering.done():
                    answering.cancel()
                    return
                left.cancel()
                await asyncio.wait([left])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, sent: Sent, writer: asyncio.StreamWriter) -> None:
        pace = self.rule(sent)
        await asyncio.sleep(pace.wait_s)
        writer.write(HEAD)
        for number in range(10):
            writer.write(CHUNK)
            await asyncio.sleep(FOR_EVER_S if pace.stops and number == 5 else pace.lasts_s / 10)
        writer.write(END)


async def _nothing(_activity: Activity, _stage: Stage) -> None:
    """What is only read is not there."""


def performers(ports: Mapping[str, int]) -> dict[type[Activity], Performer]:
    """Real probes; nothing else can be seen."""
    urls = {hop: f"http://127.0.0.1:{port}" for hop, port in ports.items()}
    found: dict[type[Activity], Performer] = dict.fromkeys(get_args(Activity), _nothing)
    found[ProbeSession] = ProbePerformer(Path("/"), urls, (), links={})
    return found


def at_once(exchanges: Sequence[JsonObject]) -> dict[str, int]:
    """The most that were under way at the same moment, by hop."""
    spans = [(str(e["hop"]), int(str(e["begun_ns"])), int(str(e["ended_ns"]))) for e in exchanges]
    return {
        hop: max(
            sum(other == hop and begun <= at_ns < ended for other, begun, ended in spans)
            for where, at_ns, _ in spans
            if where == hop
        )
        for hop in {hop for hop, _, _ in spans}
    }


def most_under_way(rule: Rule, concurrency: int, path: str = PATH) -> dict[str, int]:
    """By hop, over a whole run."""
    deployment = parse_deployment(path, path="test", folder="/")
    victim = replace(deployment.victim, concurrency=concurrency)
    world = World(lambda _: None, deployment=replace(deployment, victim=victim))  # type: ignore[arg-type,return-value]  # only its deployment is used

    async def run() -> dict[str, int]:
        hops, played_so_far = Hops(rule), list[JsonObject]()
        records = start_records(world, budget_s=60.0)
        async with hops.serving():
            player = ScenePlayer(clock=SystemClock(), performers=performers(hops.ports))
            while not isinstance(decided := decide(records), Verdict):
                records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
                seen = [event_to_json(event) for event in await player.play(decided, silent)]
                assert not [e for e in seen if e["activity"] == "scene"], decided.id
                played_so_far += [e for e in seen if e["kind"] == "exchange"]
                body = {"scene": decided.id, "events": seen}
                records.append(record(records, "scene_played", body))  # type: ignore[arg-type]  # an object
        assert len(records) > 2
        found = at_once([object_of(event["data"]) for event in played_so_far])
        assert decided.answer["requests_at_once"] == found
        return found

    return played(run())


def _drops_at(*hops: str) -> Rule:
    return lambda sent: NEVER if sent.hop in hops and sent.on_connection >= 3 else Pace()


def _every_third(sent: Sent) -> Pace:
    return NEVER if sent.hop == "inner" and sent.in_all % 3 == 0 else Pace()


def _struck(sent: Sent) -> Pace:
    period_s = 5.0
    stops = sent.hop == "edge" and sent.at_s % period_s > period_s - 2.0
    return Pace(lasts_s=2.5, stops=stops)


def _by_chance(seed: int) -> Rule:
    random = Random(seed)

    def rule(_sent: Sent) -> Pace:
        drawn = random.random()
        return NEVER if drawn < 0.15 else Pace(wait_s=3.0 * random.random() if drawn < 0.5 else 0.1)

    return rule


RULES: dict[str, Rule] = {
    "well": lambda _: Pace(),
    "slow for everybody": lambda _: Pace(wait_s=4.0),
    "drops at the edge": _drops_at("edge"),
    "drops further in": _drops_at("edge", "inner"),
    "drops everywhere": _drops_at(*HOPS),
    "nothing is ever answered": lambda _: NEVER,
    "every third of a process": _every_third,
    "stopped in the middle": _struck,
    **{f"by chance, {seed}": _by_chance(seed) for seed in range(1)},
}


CROWDED = ("drops at the edge", "by chance, 0")


@pytest.mark.parametrize(
    ("name", "concurrency"), [*((name, 1) for name in RULES), *((name, 3) for name in CROWDED)]
)
def test_at_most_one_request_more_than_the_victim_has_is_under_way(
    name: str, concurrency: int
) -> None:
    """Whatever the hops do, and no scene runs into its limit."""
    most = most_under_way(RULES[name], concurrency)
    assert most
    assert all(number <= concurrency + 1 for number in most.values()), most


def test_behind_a_pair_the_small_request_is_asked_though_the_victims_own_hangs() -> None:
    """One request at the router beside the victim's, and what tells a pair that is half gone."""
    asked: list[bool] = []

    def large_hangs(sent: Sent) -> Pace:
        asked.append(sent.body_bytes < 400)
        return Pace() if sent.body_bytes < 400 else NEVER

    assert most_under_way(large_hangs, 1, PAIR) == {"edge": 2}
    assert any(asked)
