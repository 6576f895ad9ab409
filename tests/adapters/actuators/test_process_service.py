"""Services as local processes: started, found again, adopted and stopped without a rest."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.actuators.process_service import ProcessServices, ServiceFailed
from exonerate.adapters.clock import SystemClock
from exonerate.adapters.process_table import environment, identity_of, is_listening
from exonerate.errors import ExonerateError


def services(site: Any) -> ProcessServices:
    """A fresh view on the services of the site, as another command would have it."""
    return ProcessServices(
        folder=site.folder, state=site.folder / ".exonerate", clock=SystemClock()
    )


@contextmanager
def started(site: Any) -> Iterator[int]:
    """The service, running."""
    ours = services(site)
    pid = asyncio.run(ours.start(site.service)).pid
    try:
        yield pid
    finally:
        asyncio.run(ours.stop(site.service))
    assert not ours.members(site.service)
    assert not is_listening(site.port)


def test_a_later_command_stops_what_an_earlier_one_started(site: Any) -> None:
    """The pid file leads to the same process; nothing is left and the port is free."""
    with started(site) as pid:
        later = services(site)
        assert later.members(site.service) == {pid}
        with pytest.raises(ExonerateError, match="running already"):
            asyncio.run(later.start(site.service))
        assert asyncio.run(later.stop(site.service))
        assert not is_listening(site.port)
        assert not asyncio.run(later.stop(site.service))


def test_a_restart_gives_a_new_process_the_new_setting(site: Any) -> None:
    """The environment of the new process is what the script exports now."""
    with started(site) as old:
        site.write("export KNOB=6")
        new = asyncio.run(services(site).restart(site.service)).pid
        assert new != old
        assert identity_of(old) is None
        seen = environment(new)
        assert seen is not None
        assert seen["KNOB"] == "6"


def test_children_go_with_the_service(site: Any) -> None:
    """A helper that the script left in the background does not survive a stop."""
    site.write("sleep 600 &", "export KNOB=5")
    with started(site) as pid:
        members = services(site).members(site.service)
        assert len(members) == 2
        asyncio.run(services(site).stop(site.service))
        assert [identity_of(member) for member in members | {pid}] == [None] * 2


def test_a_process_that_ignores_the_request_to_end_is_killed(site: Any) -> None:
    """After the grace it ends all the same."""
    site.write("trap '' TERM", last="")
    with started(site):
        assert asyncio.run(services(site).stop(site.service, grace_s=0.2))


def test_the_shell_of_a_script_without_exec_is_the_launcher(site: Any) -> None:
    """Its own environment is from before the exports, so it must be told apart."""
    site.write("export KNOB=5", last="")
    with started(site) as pid:
        ours = services(site)
        launchers = {m for m in ours.members(site.service) if ours.is_launcher(site.service, m)}
        assert launchers == {pid}


@contextmanager
def started_by_hand(site: Any, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """The service as somebody else started it."""
    with subprocess.Popen(command, cwd=site.folder, start_new_session=True) as process:
        try:
            while not is_listening(site.port):
                assert process.poll() is None
                asyncio.run(asyncio.sleep(0.02))
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("last", ["exec", ""])
def test_a_service_that_ran_before_is_adopted(site: Any, last: str) -> None:
    """It is found by its port, recognised by its command line, and stopped whole."""
    site.write("export KNOB=5", last=last)
    with started_by_hand(site, "./serve.sh") as process:
        ours = services(site)
        assert process.pid in ours.members(site.service)
        asyncio.run(ours.stop(site.service))
        assert process.wait(60) is not None
        assert not is_listening(site.port)


def test_a_process_that_is_about_to_be_gone_is_not_a_stranger(site: Any) -> None:
    """Its memory, and with it its command line, goes before its port: a stop waits for both."""
    server = site.folder / "server.py"
    # While the kernel takes back this much, there is time to look.
    small_pages = "import ctypes; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)\n"
    ballast = "ballast = bytearray(b'x') * (256 << 20)\n"
    server.write_text(small_pages + ballast + server.read_text())
    with started_by_hand(site, "./serve.sh"):
        ours = services(site)
        ending = ours.members(site.service)
        for pid in ending:
            os.kill(pid, signal.SIGKILL)
        while is_listening(site.port):
            assert ours.members(site.service) <= ending
        assert not ours.members(site.service)


def test_an_adopted_service_is_recognised_although_a_flag_changed(site: Any) -> None:
    """The script was edited after the start: one flag differs."""
    with started_by_hand(site, "./serve.sh") as process:
        site.script.write_text(site.script.read_text().replace("--level 3", "--level 4"))
        assert services(site).members(site.service) == {process.pid}


def test_a_stranger_on_the_port_is_left_alone(site: Any) -> None:
    """It is named, and neither stopped nor taken for the service."""
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", site.port))
        stranger.listen()
        for command in (services(site).start, services(site).stop, services(site).restart):
            with pytest.raises(ExonerateError, match=f"port {site.port} is held by process"):
                asyncio.run(command(site.service))


def test_a_pid_file_of_another_process_is_not_believed(site: Any) -> None:
    """A number that was given out again does not get our signal."""
    path: Path = site.folder / ".exonerate" / "run" / "engine.json"
    path.parent.mkdir(parents=True)
    identity = identity_of(os.getppid())
    assert identity is not None
    wrong = {"pid": identity.pid, "start_ticks": 1, "boot_id": identity.boot_id}
    path.write_text(json.dumps(wrong))
    assert services(site).members(site.service) == set()
    path.write_text("{")
    assert services(site).members(site.service) == set()


def test_a_service_that_ends_at_once_is_reported_with_its_status(site: Any) -> None:
    """The message names the log, and nothing is left running."""
    site.script.write_text("#!/bin/sh\necho broken\nsleep 600 &\nexit 3\n")
    slow = replace(site.service, ready_timeout_s=4.0)
    with pytest.raises(ServiceFailed, match=r"not ready within|status 3"):
        asyncio.run(services(site).start(slow))
    assert services(site).members(site.service) == set()
    assert (site.folder / ".exonerate/logs/engine.log").read_text() == "broken\n"


def test_a_service_that_never_becomes_ready_is_given_up(site: Any) -> None:
    """It does not stay half started."""
    site.script.write_text("#!/bin/sh\nexec sleep 600\n")
    with pytest.raises(ServiceFailed, match="not ready within"):
        asyncio.run(services(site).start(replace(site.service, ready_timeout_s=0.3)))
    assert services(site).members(site.service) == set()


def test_an_interrupted_start_leaves_nothing(site: Any) -> None:
    """Ctrl-C while the service loads ends it."""
    site.script.write_text("#!/bin/sh\nexec sleep 600\n")

    async def interrupted() -> None:
        async with asyncio.timeout(0.2):
            await services(site).start(site.service)

    with pytest.raises(TimeoutError):
        asyncio.run(interrupted())
    assert services(site).members(site.service) == set()


@pytest.mark.parametrize("content", [None, "no shebang\n"])
def test_a_start_command_that_cannot_be_run_is_named(site: Any, content: str | None) -> None:
    """A missing or odd script is a failure of the start, said in one line."""
    site.script.unlink()
    if content is not None:
        site.script.write_text(content)
        site.script.chmod(0o755)
    with pytest.raises(ServiceFailed, match=r"`./serve.sh` could not be started"):
        asyncio.run(services(site).start(site.service))


def test_without_a_ready_address_living_for_a_moment_is_enough(site: Any) -> None:
    """Such a service is started and stopped by its pid file alone."""
    site.script.write_text("#!/bin/sh\nexec sleep 600\n")
    quiet = replace(site.service, ready=None)
    ours = services(site)
    pid = asyncio.run(ours.start(quiet)).pid
    assert ours.members(quiet) == {pid}
    assert asyncio.run(ours.stop(quiet))
    assert ours.members(quiet) == set()
