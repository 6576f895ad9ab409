"""Wiring: the only file that knows concrete classes on both sides of the ports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.engines.names import counter_reader
from exonerate.adapters.http_get import get_page
from exonerate.adapters.knob_files import KnobReading, read_knob
from exonerate.adapters.ledger import SqlLedger, open_ledger
from exonerate.adapters.performers.loading import LoadPerformer
from exonerate.adapters.performers.probing import ProbePerformer
from exonerate.adapters.performers.watching import MetricsPerformer, SocketPerformer
from exonerate.adapters.player import Performer, ScenePlayer
from exonerate.core.case.redaction import Redactor
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis import localiser
from exonerate.core.ports import CounterReader, PageReader
from exonerate.core.scene import Activity, LoadCell, ProbeSession, SampleMetrics, WatchSockets
from exonerate.errors import ExonerateError
from exonerate.jobs.ledger_run import Deciders

DEPLOYMENT_FILE = "exonerate.toml"
LEDGER_PLACE = ".exonerate/ledger.db"
LEDGER_VARIABLE = "EXONERATE_LEDGER"

DECIDERS: Deciders = {("locate", localiser.RULES): localiser.decide}
"""Every decider that `case verify` can ask again, by job and version of its rules."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Everything a job needs, put together for one deployment and one ledger."""

    deployment: Deployment
    clock: SystemClock
    ledger: SqlLedger
    redactor: Redactor
    player: ScenePlayer


def find_deployment_file(start: Path) -> Path | None:
    """`exonerate.toml` in this folder or the nearest parent that has one."""
    for folder in (start, *start.parents):
        candidate = folder / DEPLOYMENT_FILE
        if candidate.is_file():
            return candidate
    return None


def load_deployment(path: Path) -> Deployment:
    """Read and check a deployment file.

    Raises:
        ExonerateError: it is missing, unreadable or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ExonerateError(
            f"`{path}` does not exist", "write one with `exonerate init URL URL --model M`"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ExonerateError(f"`{path}` cannot be read: {error}", "check the file") from error
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


def build_workplace(deployment: Deployment, place: str | Path) -> Workplace:
    """Put together what a job needs; nothing is opened or made before it is used."""
    clock = SystemClock()
    ledger = open_ledger(place, clock=clock)
    redactor = Redactor(ledger.key(), frozenset(knob.name for knob in deployment.knobs))
    return Workplace(
        deployment=deployment,
        clock=clock,
        ledger=ledger,
        redactor=redactor,
        player=ScenePlayer(clock=clock, performers=_performers(deployment)),
    )


def page_reader() -> PageReader:
    """GETs small pages."""
    return get_page


def series_reader() -> CounterReader:
    """Reads the metrics pages of every known engine."""
    return counter_reader()


def knob_readings(deployment: Deployment) -> list[KnobReading]:
    """What every knob is set to in its file."""
    return [read_knob(deployment, knob) for knob in deployment.knobs]


def _performers(deployment: Deployment) -> dict[type[Activity], Performer]:
    urls = {hop.name: hop.url for hop in deployment.hops}
    metrics = {hop.name: hop.metrics for hop in deployment.hops if hop.metrics}
    return {
        ProbeSession: ProbePerformer(Path(deployment.folder), urls, deployment.victim.headers),
        SampleMetrics: MetricsPerformer(counter_reader(), metrics),
        WatchSockets: SocketPerformer(),
        LoadCell: LoadPerformer(Path(deployment.folder), urls),
    }
