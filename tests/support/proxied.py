"""Real proxies before the scripted engine, and `locate` with the kernel's socket look blinded."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exonerate.adapters.performers.watching import SocketPerformer
from exonerate.adapters.player import Performer, Stage
from exonerate.compose import build_workbench, load_deployment, standing_taps
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, Event, Tap, WatchSockets
from exonerate.jobs.locate import LocateRequest, locate
from exonerate.lab.processes import Ready, free_ports, start_program

QUICK = {"first_byte_s": 0.03, "token_s": 0.02, "answer_tokens": 12}
VICTIM = """
[victim]
rounds = 2
think_s = 0.1
prompt_tokens = 40
growth_tokens = 10
max_tokens = 12
deadline_s = 6
"""
NGINX = """\
daemon off;
worker_processes 1;
pid edge.pid;
user root;
error_log edge.error info;
events { worker_connections 256; }
http {
  log_format exonerate escape=json '{"exonerate":"nginx","id":"$http_x_request_id",'
    '"port":"$remote_port","connection":"$connection","path":"$uri","at":"$msec",'
    '"took":"$request_time","status":"$status","sent":"$bytes_sent","upstream":"$upstream_addr",'
    '"connect":"$upstream_connect_time","head":"$upstream_header_time",'
    '"answered":"$upstream_status","received":"$upstream_bytes_received",'
    '"completed":"$request_completion"}';
  access_log edge.access exonerate;
  client_body_temp_path edge.body;
  proxy_temp_path edge.proxy;
  fastcgi_temp_path edge.fastcgi;
  uwsgi_temp_path edge.uwsgi;
  scgi_temp_path edge.scgi;
  upstream behind { server 127.0.0.1:%(next)s; %(upstream)s }
  server {
    listen 127.0.0.1:%(port)s;
    location = /status { stub_status; }
    location / {
      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      %(location)s
    }
  }
}
"""
HAPROXY = """\
global
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  option http-no-delay
  timeout connect 1s
  timeout client 20s
  timeout server %(timer)s
frontend front
  bind 127.0.0.1:%(port)s
  capture request header x-request-id len 64
  default_backend back
backend back
  server engine 127.0.0.1:%(next)s %(server)s
frontend pages
  bind 127.0.0.1:%(admin)s
  stats enable
  stats uri /stats
"""


class Blind:
    """As on a host where the sockets of others are not shown."""

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One reading that was refused."""
        assert isinstance(activity, WatchSockets)
        data: JsonObject = {"hop": activity.hop, "rows": None, "error": "Permission denied"}
        stage.emit(activity.name, "sockets", data)


class Unowned:
    """As for a user who may not look into the processes of others: sockets, and nobody's."""

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """What the kernel shows of every socket, without what only a process shows."""
        own = replace(stage, events=[])
        try:
            await SocketPerformer()(activity, own)
        finally:
            stage.events.extend(map(_without_process, own.events))


def _without_process(event: Event) -> Event:
    rows = event.data.get("rows")
    if not isinstance(rows, list):
        return event
    shown = [row for row in rows if isinstance(row, dict) and not row.get("up")]
    return replace(
        event, data={**event.data, "rows": shown, "process_seen": False, "processes": []}
    )


@dataclass(frozen=True, slots=True)
class Path_:
    """A folder and the ports of what stands in it."""

    folder: Path
    ports: Mapping[str, int]


@contextmanager
def nginx_path(
    folder: Path,
    script: Mapping[str, object],
    *,
    location: str = "",
    upstream: str = "",
    hop: str = 'log = "edge.access"\nerror_log = "edge.error"',
    between: str = "",
) -> Iterator[Path_]:
    """nginx before the scripted engine, with a deployment file."""
    ports = dict(zip(("port", "next", "engine"), free_ports(3), strict=True))
    if not between:
        ports["next"] = ports["engine"]
    text = NGINX % {**ports, "location": location, "upstream": upstream}
    (folder / "edge.conf").write_text(text)
    argv = ["nginx", "-p", ".", "-c", "edge.conf", "-e", "edge.error"]
    with _standing(folder, script, ports, argv, hop, between % ports if between else ""):
        yield Path_(folder, ports)


@contextmanager
def haproxy_path(
    folder: Path, script: Mapping[str, object], *, timer: str = "1s", server: str = ""
) -> Iterator[Path_]:
    """HAProxy before the scripted engine, with its log and its statistics page."""
    ports = dict(zip(("port", "engine", "admin"), free_ports(3), strict=True))
    ports["next"] = ports["engine"]
    (folder / "edge.cfg").write_text(HAPROXY % {**ports, "timer": timer, "server": server})
    argv = ["haproxy", "-db", "-f", "edge.cfg"]
    hop = f'log = "edge.log"\nmetrics = "http://127.0.0.1:{ports["admin"]}/stats;csv"'
    with _standing(folder, script, ports, argv, hop, ""):
        yield Path_(folder, ports)


@contextmanager
def _standing(
    folder: Path,
    script: Mapping[str, object],
    ports: Mapping[str, int],
    argv: Sequence[str],
    hop: str,
    between: str,
) -> Iterator[None]:
    (folder / "engine.json").write_text(json.dumps({**QUICK, **script}))
    (folder / "exonerate.toml").write_text(
        '[deployment]\nmodel = "scripted"\n'
        f'[[hop]]\nname = "edge"\nrole = "proxy"\nurl = "http://127.0.0.1:{ports["port"]}"\n{hop}\n'
        f'[[hop]]\nname = "engine"\nrole = "engine"\nurl = "http://127.0.0.1:{ports["engine"]}"\n'
        f'metrics = "http://127.0.0.1:{ports["engine"]}/metrics"\n{between}\n{VICTIM}'
    )
    engine = [
        sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", str(ports["engine"]),
        "--config", str(folder / "engine.json"),
    ]  # fmt: skip
    with ExitStack() as stack:
        for program, port, log in ((engine, "engine", "engine.log"), (argv, "port", "edge.log")):
            ready = Ready(url=f"tcp://127.0.0.1:{ports[port]}")
            stack.enter_context(
                start_program(list(program), log=folder / log, ready=ready, cwd=folder)
            )
        yield


def located(
    folder: Path, *, blind: bool = True, owned: bool = True, symptom: str | None = None
) -> dict[str, Any]:
    """The answer of `locate` in that folder; `blind`: without the sockets of this host.

    `owned`: whether it shows whose sockets are whose, where any are shown.
    """
    deployment = load_deployment(folder / "exonerate.toml")
    request = LocateRequest(case="c", run="r", seed=3, budget_s=60, symptom=symptom)
    with standing_taps(deployment) as taps:
        more: dict[type[Activity], Performer] = {Tap: taps}
        if blind:
            more[WatchSockets] = Blind()
        elif not owned:
            more[WatchSockets] = Unowned()
        workbench = build_workbench(deployment, folder / f"{secrets.token_hex(4)}.db", more=more)
        run = locate(
            deployment,
            request,
            ledger=workbench.ledger,
            player=workbench.player,
            redactor=workbench.redactor,
            progress=lambda what, fraction: None,
        )
        return dict(asyncio.run(taps.during(run)))
