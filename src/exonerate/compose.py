"""Wiring: the only file that knows concrete classes on both sides of the ports."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from exonerate.adapters.actuators.file_backup import BackupStore
from exonerate.adapters.actuators.file_lock import LockHeld, sidecar_lock
from exonerate.adapters.actuators.file_swap import FileSwapper
from exonerate.adapters.actuators.process_service import ProcessServices
from exonerate.adapters.actuators.services import ServiceControl
from exonerate.adapters.actuators.systemd_service import SystemdServices
from exonerate.adapters.address import parse_address
from exonerate.adapters.clock import SystemClock
from exonerate.adapters.engines.names import counter_reader, engine_states
from exonerate.adapters.http_get import get_page
from exonerate.adapters.knob_files import KnobReading, read_knob
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.adapters.link import check_link, link_of, links_of
from exonerate.adapters.performers.changing import change_performers
from exonerate.adapters.performers.control import play_control
from exonerate.adapters.performers.gpu_watching import GpuPerformer
from exonerate.adapters.performers.loading import LoadPerformer
from exonerate.adapters.performers.log_reading import LogPerformer
from exonerate.adapters.performers.observing import (
    ProgramPerformer,
    TapPerformer,
    VictimProgram,
)
from exonerate.adapters.performers.probing import ProbePerformer
from exonerate.adapters.performers.watching import MetricsPerformer, SocketPerformer
from exonerate.adapters.player import Performer, ScenePlayer
from exonerate.adapters.plugins import plugged_suspects
from exonerate.adapters.request import api_key, victim_body
from exonerate.adapters.standing_tap import StandingTaps, open_taps
from exonerate.adapters.tap import tap_listener
from exonerate.adapters.tls import tls_context
from exonerate.core.case.redaction import Redactor
from exonerate.core.change import restorer
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.deployment.redirect import Redirection, environment_proxies, redirect
from exonerate.core.diagnosis import localiser
from exonerate.core.diagnosis.client import decide as observing
from exonerate.core.diagnosis.surroundings import health_pages, log_paths, taps
from exonerate.core.experiment import decide as experiment
from exonerate.core.ports import Clock, CounterReader, PageReader
from exonerate.core.scene import (
    Activity,
    Control,
    LoadCell,
    ProbeSession,
    ReadLog,
    RunProgram,
    SampleMetrics,
    Tap,
    WatchGpus,
    WatchPackets,
    WatchSockets,
)
from exonerate.errors import ExonerateError
from exonerate.jobs.ledger_run import Deciders

DEPLOYMENT_FILE = "exonerate.toml"
DEPLOYMENT_LETTERS_MAX = 1 << 20
STATE_FOLDER = ".exonerate"
LEDGER_PLACE = ".exonerate/ledger.db"
LEDGER_VARIABLE = "EXONERATE_LEDGER"

DECIDERS: Deciders = {
    ("locate", localiser.RULES): localiser.decide,
    (restorer.JOB, restorer.RULES): restorer.decide,
    ("ab", experiment.RULES): experiment.decide,
    ("aa", experiment.RULES): experiment.decide,
    (observing.JOB, observing.RULES): observing.decide,
}
"""Every decider that `case verify` can ask again, by job and version of its rules."""


def deciders() -> Deciders:
    """Every decider, those with the classes of other distributions included.

    Raises:
        ExonerateError: a plug-in cannot be used.
    """
    plugged = plugged_suspects()
    key = ("locate", plugged.rules(localiser.RULES))
    return {**DECIDERS, key: partial(localiser.decide, plugged=plugged)}


@dataclass(frozen=True, slots=True)
class Workbench:
    """Everything a job needs, put together for one deployment and one ledger."""

    deployment: Deployment
    clock: SystemClock
    ledger: SqlLedger
    redactor: Redactor
    player: ScenePlayer
    services: ServiceControl


def find_deployment_file(start: Path) -> Path | None:
    """`exonerate.toml` in this folder or the nearest parent that has one."""
    for folder in (start, *start.parents):
        candidate = folder / DEPLOYMENT_FILE
        # A folder that may not be looked into has none for us; pathlib raises there.
        with suppress(PermissionError):
            if candidate.is_file():
                return candidate
    return None


def load_deployment(path: Path) -> Deployment:
    """Read and check a deployment file.

    Raises:
        ExonerateError: it is missing, unreadable or wrong.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:  # some editors begin a file with a mark
            text = file.read(DEPLOYMENT_LETTERS_MAX + 1)
    except FileNotFoundError as error:
        raise ExonerateError(
            f"`{path}` does not exist", "write one with `exonerate init URL URL --model M`"
        ) from error
    except UnicodeDecodeError as error:
        raise ExonerateError(f"`{path}` is not UTF-8 text", "save it as UTF-8") from error
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be read: {error.strerror or error}", "check the file"
        ) from error
    if len(text) > DEPLOYMENT_LETTERS_MAX:
        raise ExonerateError(f"`{path}` is far too long for a deployment file", "check the file")
    return parse_deployment(text, path=str(path), folder=str(path.resolve().parent))


def required_deployment(given: Path | None) -> Deployment:
    """The deployment of `-c FILE`, or of the nearest `exonerate.toml`.

    Raises:
        ExonerateError: there is none.
    """
    path = given or find_deployment_file(Path.cwd())
    if path is None:
        raise ExonerateError(
            f"there is no `{DEPLOYMENT_FILE}` here or in a parent folder",
            "write one with `exonerate init URL URL --model M`, or name one with `-c FILE`",
        )
    return load_deployment(path)


def ledger_place(given: str | None, config: Path | None) -> str | Path:
    """Where the ledger is: as given, by the environment, or beside the deployment file."""
    if given or os.environ.get(LEDGER_VARIABLE):
        return given or os.environ[LEDGER_VARIABLE]
    path = config or find_deployment_file(Path.cwd())
    return (path.resolve().parent if path else Path.cwd()) / LEDGER_PLACE


def deployment_if_any(given: Path | None) -> Deployment | None:
    """As `required_deployment`, but None where no file is named and none is found."""
    path = given or find_deployment_file(Path.cwd())
    return None if path is None else load_deployment(path)


def ledger_at(given: str | None, config: Path | None) -> SqlLedger:
    """The ledger of `--ledger`, of the environment or beside the deployment file."""
    return open_ledger(ledger_place(given, config), clock=SystemClock())


def redactor_of(ledger: SqlLedger, deployment: Deployment | None) -> Redactor:
    """What keeps secrets out of that ledger; the knobs of the deployment are kept in clear."""
    knobs = deployment.knobs if deployment is not None else ()
    return Redactor(ledger.key(), frozenset(knob.name for knob in knobs))


def system_clock() -> SystemClock:
    """The clock of this machine."""
    return SystemClock()


def live_values(deployment: Deployment | None) -> Callable[[str], str | None]:
    """Asks for the value of a knob as its file has it now; None where that cannot be read."""
    readings = {} if deployment is None else {r.knob.name: r for r in knob_readings(deployment)}
    live = {name: reading.live for name, reading in readings.items()}
    return live.get


def build_workbench(
    deployment: Deployment,
    place: str | Path,
    *,
    more: Mapping[type[Activity], Performer] | None = None,
) -> Workbench:
    """Put together what a job needs; nothing is opened or made before it is used."""
    clock = SystemClock()
    ledger = open_ledger(place, clock=clock)
    redactor = redactor_of(ledger, deployment)
    services = service_control(deployment, clock)
    performers = _performers(deployment) | change_performers(
        read_blob=ledger.get_blob,
        swapper=FileSwapper(
            store=BackupStore(_state_folder(deployment) / "backups"),
            allowed=(Path(deployment.folder),),
        ),
        services=services,
    )
    return Workbench(
        deployment=deployment,
        clock=clock,
        ledger=ledger,
        redactor=redactor,
        player=ScenePlayer(clock=clock, performers={**performers, **(more or {})}),
        services=services,
    )


@dataclass(frozen=True, slots=True)
class Observatory:
    """A workbench with a tap that listens before the first hop, and the program to run."""

    workbench: Workbench
    tap_port: int
    redirection: Redirection
    taps: StandingTaps
    """Those further in, which must stand while the program runs: hops send there."""


@contextmanager
def observatory(
    deployment: Deployment,
    place: str | Path,
    argv: Sequence[str],
    *,
    stdout_to_stderr: bool,
    capture: Performer | None = None,
) -> Iterator[Observatory]:
    """Opens the tap's port and leads the program there; the port is closed on leaving.

    Raises:
        ExonerateError: the first hop speaks TLS, or the address of a tap cannot be had.
    """
    entry = deployment.hops[0]
    if parse_address(entry.url).secure:
        raise ExonerateError(
            f"a tap cannot stand before `{entry.url}`: what crosses it is encrypted",
            "name the first hop by its plain address, behind what ends TLS",
        )
    listener = tap_listener()
    port: int = listener.getsockname()[1]
    redirection = redirect(
        argv,
        dict(os.environ),
        hop_url=entry.url,
        tap_url=f"http://127.0.0.1:{port}",
        endpoint=deployment.victim.endpoint,
    )
    program = VictimProgram(
        argv=redirection.argv,
        environment=redirection.environment,
        facts={
            "variables": list(redirection.variables),
            "arguments_rewritten": redirection.arguments,
            "proxies": dict(environment_proxies(redirection.environment)),
        },
        stdout_to_stderr=stdout_to_stderr,
        foreground=sys.stdin.isatty(),
    )
    with closing(listener), standing_taps(deployment) as inner:
        observing_performers: dict[type[Activity], Performer] = {
            Tap: TapPerformer({port: listener}, {entry.name: entry.url}, further_in=inner),
            RunProgram: ProgramPerformer(program),
            **({} if capture is None else {WatchPackets: capture}),
        }
        workbench = build_workbench(deployment, place, more=observing_performers)
        yield Observatory(workbench, port, redirection, inner)


@contextmanager
def standing_taps(deployment: Deployment) -> Iterator[StandingTaps]:
    """The taps that the deployment names, open for a run.

    Raises:
        ExonerateError: one of their addresses cannot be had.
    """
    places = {hop.name: hop.tap for hop in deployment.hops if hop.tap is not None}
    with open_taps(taps(deployment), places, SystemClock()) as standing:
        yield standing


def service_control(deployment: Deployment, clock: Clock) -> ServiceControl:
    """What starts, stops and looks at the services of a deployment."""
    folder = Path(deployment.folder)
    return ServiceControl(
        deployment.services,
        processes=ProcessServices(folder=folder, state=_state_folder(deployment), clock=clock),
        systemd=SystemdServices(clock=clock),
    )


@contextmanager
def changing(deployment: Deployment) -> Iterator[None]:
    """Only one command changes the deployment at a time.

    Raises:
        ExonerateError: another one does so now, or its lock cannot be made.
    """
    state = _state_folder(deployment)
    with ExitStack() as held:
        try:
            state.mkdir(mode=0o700, exist_ok=True)
            held.enter_context(sidecar_lock(state / "change"))
        except LockHeld as error:
            raise ExonerateError(
                "another command is changing this deployment now", "wait for it to end"
            ) from error
        except OSError as error:
            raise ExonerateError(
                f"`{state}` cannot be written: {error.strerror}", "check its permissions"
            ) from error
        yield


def _state_folder(deployment: Deployment) -> Path:
    return Path(deployment.folder) / STATE_FOLDER


def check_victim(deployment: Deployment) -> None:
    """Whether a probe can be sent at all: the victim's key and request, and what hops speak.

    Raises:
        ExonerateError: one of them is missing.
    """
    for hop in deployment.hops:
        link = link_of(hop, deployment.folder)
        check_link(link)
        if parse_address(hop.url).secure:
            tls_context(link)
    victim_body(Path(deployment.folder), deployment.victim.request)
    if deployment.victim.api_key_env is not None:
        api_key(deployment.victim.api_key_env)


def page_reader(deployment: Deployment | None = None) -> PageReader:
    """GETs small pages, of the hops of a deployment with the certificates that count there.

    Raises:
        ExonerateError: the file that a hop names for them cannot be used.
    """
    if deployment is None:
        return get_page
    found: dict[str, str] = {}
    for hop in deployment.hops:
        link = link_of(hop, deployment.folder)
        if (ca := link.ca) is not None:
            tls_context(link)
            urls = (hop.url, hop.metrics, hop.health)
            found |= {parse_address(url).authority: ca for url in urls if url}
    return partial(get_page, cas=found)


def series_reader() -> CounterReader:
    """Reads the metrics pages of every known engine."""
    return counter_reader()


def knob_readings(deployment: Deployment) -> list[KnobReading]:
    """What every knob is set to in its file."""
    return [read_knob(deployment, knob) for knob in deployment.knobs]


def _performers(deployment: Deployment) -> dict[type[Activity], Performer]:
    urls = {hop.name: hop.url for hop in deployment.hops}
    metrics = {hop.name: hop.metrics for hop in deployment.hops if hop.metrics}
    folder, headers = Path(deployment.folder), deployment.victim.headers
    links = links_of(deployment)
    return {
        ProbeSession: ProbePerformer(folder, urls, headers, links=links),
        SampleMetrics: MetricsPerformer(
            counter_reader(),
            metrics,
            health=health_pages(deployment),
            states=(urls, engine_states()),
            get=page_reader(deployment),
        ),
        WatchSockets: SocketPerformer(),
        ReadLog: LogPerformer(folder, log_paths(deployment)),
        WatchGpus: GpuPerformer(),
        LoadCell: LoadPerformer(folder, urls, links=links),
        Control: play_control,
    }
