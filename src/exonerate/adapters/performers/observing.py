"""Performs what observing needs: the tap, and the victim's own program run through it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from exonerate.adapters.address import parse_address
from exonerate.adapters.player import ActivityFailed, Performer, Stage, seconds_since
from exonerate.adapters.process_table import (
    ProcessIdentity,
    descendants,
    identity_of,
    send_signal,
)
from exonerate.adapters.process_watch import SOCKETS_MAX, FamilyView, look_at_family
from exonerate.adapters.sockets import SocketRow, tcp_sockets
from exonerate.adapters.tap import TapEars, run_tap
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, RunProgram, Tap
from exonerate.core.wire.tapped import tapped_connection_to_json, tapped_exchange_to_json

SAMPLE_AT_LEAST_EVERY_S = 1.0
GRACE_S = 3.0
"""How long a program may take to end after it was asked to, before it is killed."""


class TapPerformer:
    """Runs taps on listeners that were opened before the scene, so that their ports are known.

    Args:
        listeners: port -> listening socket.
        urls: hop name -> URL as the operator wrote it.
        further_in: performs the taps that the deployment names, which stand for the whole run.
    """

    def __init__(
        self,
        listeners: Mapping[int, socket.socket],
        urls: Mapping[str, str],
        *,
        further_in: Performer,
    ) -> None:
        self._listeners = listeners
        self._urls = urls
        self._further_in = further_in

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One event for each exchange and each connection, as they end."""
        assert isinstance(activity, Tap)
        name = activity.name
        if activity.listen_port not in self._listeners:
            await self._further_in(activity, stage)
            return
        ears = TapEars(
            exchange=lambda seen: stage.emit(name, "tap_exchange", tapped_exchange_to_json(seen)),
            connection=lambda seen: stage.emit(
                name, "tap_connection", tapped_connection_to_json(seen)
            ),
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(activity.time_limit_s):
                await run_tap(
                    self._listeners[activity.listen_port],
                    parse_address(self._urls.get(activity.hop, activity.upstream_url)),
                    hop=activity.hop,
                    clock=stage.clock,
                    ears=ears,
                    connections=activity.connections,
                )


@dataclass(frozen=True, slots=True)
class VictimProgram:
    """The command as the operator gave it, with the environment that leads it to the tap."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    facts: JsonObject = field(default_factory=dict)
    """What the record may know of both: which variables were set, which proxies it would use."""
    stdout_to_stderr: bool = False
    """Where our own standard output holds an answer for a machine."""
    foreground: bool = True
    """A terminal sends Ctrl-C to the program as well; it is then not sent a second one at once."""


class ProgramPerformer:
    """Runs the victim's own program with its input and output untouched, and watches it.

    Ctrl-C ends the program, not the run: what crossed until then is judged.
    """

    def __init__(self, program: VictimProgram | None) -> None:
        self._program = program

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """Events of its start, its samples and its end."""
        assert isinstance(activity, RunProgram)
        ending = asyncio.Event()
        with _on_interrupt(ending):
            await self._run(activity, stage, ending)

    async def _run(self, activity: RunProgram, stage: Stage, ending: asyncio.Event) -> None:
        program = self._program
        assert program is not None
        try:
            process = await asyncio.create_subprocess_exec(
                *program.argv,
                env=dict(program.environment),
                stdout=sys.stderr if program.stdout_to_stderr else None,
            )
        except OSError as error:
            why = f"`{activity.shown}` cannot be started: {error.strerror}"
            raise ActivityFailed(why) from error
        leader = identity_of(process.pid)
        stage.emit(activity.name, "program_started", {"pid": process.pid, **program.facts})
        stage.progress(f"running {activity.shown}", None)
        by = "itself"
        try:
            by = await self._watch(activity, stage, process, ending)
        finally:
            if process.returncode is None and leader is not None:
                await _stop(process, leader, polite=by == "interrupt" and program.foreground)
            data: JsonObject = {"status": process.returncode, "by": by}
            stage.emit(activity.name, "program_ended", data)

    async def _watch(
        self,
        activity: RunProgram,
        stage: Stage,
        process: asyncio.subprocess.Process,
        ending: asyncio.Event,
    ) -> str:
        """Sample until it ends; who ended it: `itself`, `interrupt` or `limit`."""
        begun_ns = stage.clock.now()
        shown: JsonObject | None = None
        shown_ns = 0
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(process.wait()), group.create_task(_wait(ending))]
            while True:
                view = await asyncio.to_thread(_sample, process.pid)
                sample = _shown(view, activity.tap_port)
                quiet_s = seconds_since(stage.clock, shown_ns)
                if process.returncode is None and (
                    shown is None
                    or sample["sockets"] != shown["sockets"]
                    or quiet_s >= SAMPLE_AT_LEAST_EVERY_S
                ):
                    stage.emit(activity.name, "program_sampled", sample)
                    shown, shown_ns = sample, stage.clock.now()
                await asyncio.wait(
                    waits, timeout=activity.sample_every_s, return_when=asyncio.FIRST_COMPLETED
                )
                by = _ended_by(process, ending, seconds_since(stage.clock, begun_ns), activity)
                if by is not None:
                    for task in waits:
                        task.cancel()
                    return by


def _ended_by(
    process: asyncio.subprocess.Process,
    ending: asyncio.Event,
    lasted_s: float,
    activity: RunProgram,
) -> str | None:
    if ending.is_set():
        return "interrupt"
    if process.returncode is not None:
        return "itself"
    return "limit" if lasted_s >= activity.time_limit_s else None


@contextlib.contextmanager
def _on_interrupt(ending: asyncio.Event) -> Iterator[None]:
    """While the program runs, Ctrl-C sets the event instead of ending us."""
    loop = asyncio.get_running_loop()
    try:
        before = signal.signal(
            signal.SIGINT, lambda _number, _frame: loop.call_soon_threadsafe(ending.set)
        )
    except ValueError:
        # Only the main thread may change handlers; elsewhere nobody can press Ctrl-C for us.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _stop(
    process: asyncio.subprocess.Process, leader: ProcessIdentity, *, polite: bool
) -> None:
    """Ask the program to end, then what is left of its family; kill what does not obey."""
    family = [identity for pid in descendants(leader.pid) if (identity := identity_of(pid))]
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    if polite and await _ended_within(process, GRACE_S):
        signals = [signal.SIGTERM, signal.SIGKILL]
    for number in signals:
        living = [identity for identity in family if send_signal(identity, number)]
        if not living:
            break
        await _ended_within(process, GRACE_S)
    await process.wait()


async def _ended_within(process: asyncio.subprocess.Process, seconds: float) -> bool:
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _wait(ending: asyncio.Event) -> None:
    await ending.wait()


def _sample(pid: int) -> FamilyView:
    try:
        rows: Sequence[SocketRow] = tcp_sockets()
    except OSError:
        rows = ()
    return look_at_family(pid, rows)


def _shown(view: FamilyView, tap_port: int) -> JsonObject:
    """What the diagnosis reads: sockets to the tap first, then to anybody else."""
    rows = sorted(view.sockets, key=lambda row: (row.peer_port != tap_port, row.local_port))
    sockets: list[JsonObject] = [
        {
            "local_port": row.local_port,
            "peer": row.peer,
            "peer_port": row.peer_port,
            "state": row.state,
            "unread_bytes": row.unread_bytes,
            "unsent_bytes": row.unsent_bytes,
        }
        for row in rows[:SOCKETS_MAX]
    ]
    return {
        "sockets": sockets,
        "cpu_s": round(view.cpu_s, 2),
        "processes": len(view.pids),
        "threads": list(view.threads),
    }


def row_json(row: SocketRow) -> JsonObject:
    """Every fact of a socket, for a snapshot."""
    return asdict(row)
