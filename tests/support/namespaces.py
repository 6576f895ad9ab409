"""A host as containers make it: a proxy and an engine in network namespaces, a bridge before them.

The commands of a test run in the namespace `hub`, which stands for the host: the sockets of both
programs are hidden there, and their packets pass. Names carry the number of this process, so that
nothing of others is touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.proxied import QUICK

from exonerate.lab.processes import start_program

HUB, EDGE, ENGINE = "10.77.90.1", "10.77.90.2", "10.77.90.3"
PORTS = {"edge": 8080, "engine": 8000}
ADDRESSES = {"edge": EDGE, "engine": ENGINE}
VICTIM = """
[victim]
rounds = 6
think_s = 0.1
prompt_tokens = 40
growth_tokens = 10
max_tokens = 12
deadline_s = 6
"""


@dataclass(frozen=True, slots=True)
class Hub:
    """Where commands are run."""

    names: Mapping[str, str]
    """Of the namespaces: `hub`, `edge` and `engine`."""
    folder: Path

    @property
    def name(self) -> str:
        """The namespace that stands for the host."""
        return self.names["hub"]

    def drop_large_packets(self, space: str, chain: str) -> None:
        """Whatever goes from the proxy to the engine in packets of 900 bytes and more."""
        rule = ["-p", "tcp", "-s", EDGE, "--dport", str(PORTS["engine"]), "-m", "length"]
        command = ["iptables", "-A", chain, *rule, "--length", "900:", "-j", "DROP"]
        argv = ["ip", "netns", "exec", self.names[space], *command]
        subprocess.run(argv, check=True, capture_output=True, timeout=20)

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """A command in the host's namespace, to its end."""
        return subprocess.run(
            ["ip", "netns", "exec", self.name, *argv],
            cwd=self.folder, capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip

    def locate(self, *options: str) -> dict[str, Any]:
        """The answer of `exonerate locate --json` there."""
        command = [sys.executable, "-m", "exonerate", "locate", "--json", "--seed", "7", *options]
        done = self.run(*command)
        assert done.returncode in (0, 1, 3), done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@contextmanager
def containers(
    folder: Path, edge: Sequence[str], script: Mapping[str, object], *, hop: str = ""
) -> Iterator[Hub]:
    """Both programs standing, each in its namespace, and a deployment file for `locate`."""
    (folder / "engine.json").write_text(json.dumps({**QUICK, **script}))
    (folder / "exonerate.toml").write_text(
        '[deployment]\nmodel = "scripted"\n'
        f'[[hop]]\nname = "edge"\nrole = "proxy"\nurl = "http://{EDGE}:{PORTS["edge"]}"\n{hop}\n'
        f'[[hop]]\nname = "engine"\nrole = "engine"\nurl = "http://{ENGINE}:{PORTS["engine"]}"\n'
        f'metrics = "http://{ENGINE}:{PORTS["engine"]}/metrics"\n{VICTIM}'
    )
    engine = [
        *(sys.executable, "-m", "exonerate.lab.scripted_engine", "--host", ENGINE),
        *("--port", str(PORTS["engine"]), "--config", str(folder / "engine.json")),
    ]
    with network() as names, ExitStack() as stack:
        for name, argv in (("engine", engine), ("edge", edge)):
            stack.enter_context(
                start_program(
                    ["ip", "netns", "exec", names[name], *argv],
                    log=folder / f"{name}.log",
                    cwd=folder,
                )
            )
        hub = Hub(names, folder)
        for name in ("engine", "edge"):
            _wait(hub, ADDRESSES[name], PORTS[name])
        yield hub


@contextmanager
def network() -> Iterator[dict[str, str]]:
    """The three namespaces, joined by a bridge in the first."""
    names = {name: f"exonerate-{os.getpid()}-{name}" for name in ("hub", *PORTS)}
    try:
        for name in names.values():
            _ip("netns", "add", name)
        _ip("-n", names["hub"], "link", "set", "lo", "up")
        _ip("-n", names["hub"], "link", "add", "bridge0", "type", "bridge")
        _ip("-n", names["hub"], "addr", "add", f"{HUB}/24", "dev", "bridge0")
        _ip("-n", names["hub"], "link", "set", "bridge0", "up")
        for name in PORTS:
            _cable(names["hub"], names[name], name)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _cable(hub: str, space: str, name: str) -> None:
    end = ("peer", "name", "eth0", "netns", space)
    _ip("-n", hub, "link", "add", f"to-{name}", "type", "veth", *end)
    _ip("-n", hub, "link", "set", f"to-{name}", "master", "bridge0", "up")
    _ip("-n", space, "link", "set", "lo", "up")
    _ip("-n", space, "addr", "add", f"{ADDRESSES[name]}/24", "dev", "eth0")
    _ip("-n", space, "link", "set", "eth0", "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)


def _wait(hub: Hub, address: str, port: int) -> None:
    """Until something listens there."""
    script = (
        "import socket, sys, time\n"
        "for _ in range(1500):\n"
        "    try:\n"
        "        socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()\n"
        "        break\n"
        "    except OSError:\n"
        "        time.sleep(0.02)\n"
        "else:\n"
        "    sys.exit('nothing listens')\n"
    )
    done = hub.run(sys.executable, "-c", script, address, str(port))
    assert done.returncode == 0, done.stderr
