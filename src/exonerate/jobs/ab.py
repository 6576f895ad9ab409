"""The jobs `ab` and `aa`: a controlled comparison of one knob, and the noise of doing nothing.

Both are one experiment: restarts in blocks, decided by `core.experiment.decide` from the records
alone. The bytes of each arm and the original bytes lie in the ledger before the first restart, so
that whatever happens in between (Ctrl-C, a kill, a crash) the way back is on the disk: an
interruption winds the run up at once, a kill is wound up by the next command.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exonerate.core.case.records import Record
from exonerate.core.case.redaction import Redactor
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.deployment.knobs import with_value, written_value
from exonerate.core.deployment.model import Deployment, Hop, Knob, Service
from exonerate.core.deployment.topology import before, hop_named, probeable
from exonerate.core.experiment.decide import RESTORE_ATTEMPTS_MAX, RULES, decide
from exonerate.core.experiment.scenes import restore_scene
from exonerate.core.experiment.setup import Setup, options_json, setup_of
from exonerate.core.instant import seconds_between
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock, Ledger, Player, Progress
from exonerate.core.scene import Event, Scene
from exonerate.core.stats.comparison import MARGIN_DEFAULT
from exonerate.core.stats.design import BLOCKS_DEFAULT
from exonerate.errors import ExonerateError
from exonerate.jobs.knob_files import knob_named, read_bytes
from exonerate.jobs.ledger_run import RunStart, drive, wind_up

JOBS = ("ab", "aa")
AA_ARMS = ("A", "B")
DEADLINE_S_MIN = 60.0
"""Under load a request may wait far longer than the victim's own requests do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRequest:
    """What the operator asks of an experiment; `requests` is per cell, by concurrency if None."""

    seed: int
    blocks: int = BLOCKS_DEFAULT
    cells: tuple[int, ...] = (1, 4)
    requests: int | None = None
    prompt_tokens: int | None = None
    max_tokens: int | None = None
    margin: float = MARGIN_DEFAULT
    primary: tuple[int, ...] | None = None
    guards: tuple[int, ...] = ()
    looks: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """An experiment that is ready to run: its setup, and the contents it will put in place."""

    setup: Setup
    contents: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Where an experiment is recorded: case and run; and the host on which it runs."""

    case: str
    run: str
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an experiment works with."""

    ledger: Ledger
    player: Player
    redactor: Redactor
    clock: Clock
    progress: Progress


def prepare_ab(
    deployment: Deployment,
    knob_name: str,
    request: ExperimentRequest,
    *,
    values: tuple[str, ...],
    content: bytes,
) -> Prepared:
    """Set an A/B up: `content` is what the knob's file holds now, the first value the baseline.

    Raises:
        ExonerateError: no such knob, not two values, or no single edit makes an arm.
    """
    knob = knob_named(deployment, knob_name)
    arms = _two_values(knob, values)
    made = {arm: with_value(content, knob, written_value(knob, arm)) for arm in arms}
    if made[arms[0]] == made[arms[1]]:
        raise ExonerateError(
            f"`{arms[0]}` and `{arms[1]}` leave `{knob.file}` the same",
            "compare two values that differ in the file",
        )
    setup = _setup("ab", deployment, _service(deployment, knob.service), request, arms=arms)
    setup = replace(
        setup,
        knob=knob.name,
        file=str(_knob_path(deployment, knob)),
        arm_sha256={arm: _sha256(made[arm]) for arm in arms},
        original_sha256=_sha256(content),
    )
    return Prepared(setup, (content, *made.values()))


def prepare_aa(
    deployment: Deployment, service_name: str | None, request: ExperimentRequest
) -> Prepared:
    """Set an A/A up: the same service restarted for both arms, nothing exchanged.

    Raises:
        ExonerateError: no such service, or several and none named.
    """
    names = [service.name for service in deployment.services]
    if service_name is None and len(names) != 1:
        raise ExonerateError(
            f"`aa` has to know which service to restart; there are {len(names)}",
            f"name one: {', '.join(f'`exonerate aa {name}`' for name in names)}"
            if names
            else "add a `[[service]]` section to the deployment file",
        )
    service = _service(deployment, service_name or names[0])
    return Prepared(_setup("aa", deployment, service, request, arms=AA_ARMS))


async def run_experiment(prepared: Prepared, run: Run, means: Means) -> JsonObject:
    """Play the whole experiment; returns the answer `exonerate.comparison/1`.

    An interruption, and a ledger that fails, put the original bytes back before they go on.

    Raises:
        ExonerateError: the ledger cannot be written.
    """
    setup = prepared.setup
    for content in prepared.contents:
        means.ledger.put_blob(content)
    start = RunStart(
        case=run.case,
        run=run.run,
        job=setup.job,
        rules=RULES,
        seed=setup.seed,
        options={**options_json(setup), "host": run.host},
        deployment=deployment_to_json(setup.deployment),
        scenes_max=2 * setup.blocks + RESTORE_ATTEMPTS_MAX + 1,
    )
    try:
        return await drive(
            decide,
            run=start,
            ledger=means.ledger,
            player=_Announcing(means.player, means.clock, scenes=2 * setup.blocks + 1),
            redactor=means.redactor,
            progress=means.progress,
        )
    except (asyncio.CancelledError, KeyboardInterrupt, ExonerateError):
        await _put_back_before_leaving(run, means)
        raise


async def finish_cut_off(
    deployment: Deployment, means: Means, *, host: str
) -> tuple[JsonObject, ...]:
    """Wind up every experiment of this deployment that was cut off; returns their answers.

    The caller holds the lock under which experiments run, so that none of them is under way here;
    one of another host, in a ledger that both share, is left alone.
    """
    answers = []
    for records in _unfinished(means.ledger.records()):
        setup = setup_of(records)
        options: Any = records[0].body["options"]
        if setup.deployment.folder == deployment.folder and options.get("host") == host:
            means.progress(f"finishing {records[0].run}, which was cut off", None)
            answers.append(await _wind_up(records, means))
    return tuple(answers)


def knob_content(deployment: Deployment, name: str) -> bytes:
    """What the file of a knob holds now; raises ExonerateError."""
    return read_bytes(_knob_path(deployment, knob_named(deployment, name)))


class _Announcing:
    """The player, saying before each scene what it is, how far it all has come and what is left."""

    def __init__(self, player: Player, clock: Clock, *, scenes: int) -> None:
        self._player = player
        self._clock = clock
        self._scenes = scenes
        self._played = 0
        self._spent_s = 0.0

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """Play the scene."""
        progress(f"{scene.why}{self._time_left()}", min(1.0, self._played / self._scenes))
        begun = self._clock.now()
        events = await self._player.play(scene, progress)
        self._played += 1
        self._spent_s += seconds_between(begun, self._clock.now())
        return events

    def _time_left(self) -> str:
        if not self._played or self._played >= self._scenes:
            return ""
        left_s = self._spent_s / self._played * (self._scenes - self._played)
        return (
            f", about {left_s / 60:.0f} min left" if left_s > 90 else f", about {left_s:.0f} s left"
        )


async def _put_back_before_leaving(run: Run, means: Means) -> None:
    """Wind the run up although the task is being cancelled, within the limits of its scenes.

    A further cancellation does not stop it; ending the process does, and the next command goes on.
    """
    records = _records_of(means.ledger.records(), run.run)
    if not records or records[-1].kind == "verdict":
        return
    setup = setup_of(records)
    limit_s = RESTORE_ATTEMPTS_MAX * restore_scene(setup, setup.original_sha256, 1).time_limit_s
    means.progress("interrupted: putting the original state back", None)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    restoring = asyncio.ensure_future(_wind_up(records, means))
    while not restoring.done() and loop.time() < deadline:
        try:
            await asyncio.wait({restoring}, timeout=deadline - loop.time())
        except asyncio.CancelledError:
            continue
    if restoring.done() and not restoring.cancelled() and restoring.exception() is None:
        means.progress(restored_words(restoring.result()), None)
    else:
        means.progress("the original state is NOT back: the next command goes on with it", None)


def restored_words(answer: JsonObject) -> str:
    """Whether the original state is back, in one sentence."""
    service = answer["service"]
    if answer["restored"]:
        return f"the original state of {service} is back"
    return f"the original state of {service} is NOT back: see the gate `restore`"


async def _wind_up(records: Sequence[Record], means: Means) -> JsonObject:
    return await wind_up(
        decide,
        records,
        ledger=means.ledger,
        player=means.player,
        redactor=means.redactor,
        progress=means.progress,
    )


def _unfinished(records: Sequence[Record]) -> list[list[Record]]:
    """The records of each experiment that began and has no verdict."""
    runs: dict[str, list[Record]] = {}
    for record in records:
        if record.run is not None:
            runs.setdefault(record.run, []).append(record)
    return [
        of_run
        for of_run in runs.values()
        if of_run[0].kind == "run_started"
        and of_run[0].body["job"] in JOBS
        and of_run[0].body["rules"] == RULES
        and all(record.kind != "verdict" for record in of_run)
    ]


def _records_of(records: Sequence[Record], run: str) -> list[Record]:
    return [record for record in records if record.run == run]


def _setup(
    job: str,
    deployment: Deployment,
    service: Service,
    request: ExperimentRequest,
    *,
    arms: tuple[str, str],
) -> Setup:
    _check_cells(request)
    hop = _hop(deployment, service)
    victim = deployment.victim
    return Setup(
        job=job,
        rules=RULES,
        seed=request.seed,
        deployment=deployment,
        service=service.name,
        hop=hop.name,
        url=hop.url,
        arms=arms,
        blocks=request.blocks,
        cells=request.cells,
        requests=request.requests,
        prompt_tokens=request.prompt_tokens or victim.prompt_tokens,
        max_tokens=request.max_tokens or victim.max_tokens,
        deadline_s=max(DEADLINE_S_MIN, victim.deadline_s),
        margin=request.margin,
        primary=request.primary,
        guards=request.guards,
        looks=request.looks,
    )


def _check_cells(request: ExperimentRequest) -> None:
    for option, cells in (("--primary", request.primary or ()), ("--guard", request.guards)):
        for cell in cells:
            if cell not in request.cells:
                raise ExonerateError(
                    f"`{option}` names C{cell}, which is not measured",
                    f"add it to `-C {','.join(map(str, request.cells))}`",
                )


def _two_values(knob: Knob, values: tuple[str, ...]) -> tuple[str, str]:
    chosen = values or knob.values
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        named = ", ".join(chosen) or "none"
        raise ExonerateError(
            f"an A/B of `{knob.name}` needs two different values; given: {named}",
            "name them, baseline first: `--values 256,512`",
        )
    return chosen[0], chosen[1]


def _knob_path(deployment: Deployment, knob: Knob) -> Path:
    return Path(deployment.folder) / knob.file


def _service(deployment: Deployment, name: str) -> Service:
    for service in deployment.services:
        if service.name == name:
            return service
    known = ", ".join(f"`{service.name}`" for service in deployment.services) or "none"
    raise ExonerateError(
        f"the deployment has no service `{name}`", f"its services: {known}; add a `[[service]]`"
    )


def _hop(deployment: Deployment, service: Service) -> Hop:
    """Where the load enters: the hop of the service, or the nearest one before it that takes it."""
    if service.hop is None:
        raise ExonerateError(
            f"the service `{service.name}` names no hop, so there is nowhere to send load",
            f'add `hop = "NAME"` to the `[[service]]` section of `{service.name}`',
        )
    hop = hop_named(deployment, service.hop)
    entries = [other for other in before(deployment, hop.name) if probeable(other)]
    if not entries:
        raise ExonerateError(
            f"no hop before `{hop.name}` takes a plain request",
            "add the router that stands before it as a `[[hop]]`",
        )
    entry = hop if probeable(hop) else entries[-1]
    if entry.http == "2":
        raise ExonerateError(
            f'load is sent over HTTP/1.1, and `{entry.name}` has `http = "2"`',
            "describe the service by a hop that speaks HTTP/1.1 as well",
        )
    return entry


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
