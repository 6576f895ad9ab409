"""Real gateways before the scripted engine, each with its log and its page of counters.

Each loses patience after a second and tries nothing again, so that what the log says of a request
is about one exchange with the engine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.proxied import QUICK, VICTIM

from exonerate.lab.parts import find_program, how_to_get
from exonerate.lab.processes import Ready, free_ports, start_program

ENVOY = """\
admin: {address: {socket_address: {address: 127.0.0.1, port_value: %(admin)s}}}
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: %(port)s}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": %(types)s.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: edge
          preserve_external_request_id: true
          stream_idle_timeout: 1s
          access_log:
          - name: envoy.access_loggers.file
            typed_config:
              "@type": %(types)s.access_loggers.file.v3.FileAccessLog
              path: edge.access
              log_format: {json_format: {exonerate: envoy, id: "%%REQ(X-REQUEST-ID)%%",
                client: "%%DOWNSTREAM_REMOTE_ADDRESS%%", path: "%%REQ(:PATH)%%",
                at: "%%START_TIME(%%s.%%3f)%%", took_ms: "%%DURATION%%",
                status: "%%RESPONSE_CODE%%", flags: "%%RESPONSE_FLAGS%%",
                details: "%%RESPONSE_CODE_DETAILS%%", sent: "%%BYTES_SENT%%",
                received: "%%UPSTREAM_WIRE_BYTES_RECEIVED%%", upstream: "%%UPSTREAM_HOST%%",
                attempts: "%%UPSTREAM_REQUEST_ATTEMPT_COUNT%%", head_ms: "%%RESPONSE_DURATION%%"}}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: "/"}
                route: {cluster: engine, timeout: 0s}
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": %(types)s.filters.http.router.v3.Router
  clusters:
  - name: engine
    connect_timeout: 1s
    load_assignment:
      cluster_name: engine
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %(engine)s}}}
"""
ENVOY_TYPES = "type.googleapis.com/envoy.extensions"
CADDY = """\
{
  admin 127.0.0.1:%(admin)s
  auto_https off
  persist_config off
  metrics
  log {
    output file edge.access
    level DEBUG
  }
}
http://127.0.0.1:%(port)s {
  log
  reverse_proxy 127.0.0.1:%(engine)s {
    flush_interval -1
    transport http {
      response_header_timeout 1s
      read_timeout 1s
    }
  }
}
"""
LITELLM = """\
model_list:
  - model_name: scripted
    litellm_params:
      model: hosted_vllm/scripted
      api_base: http://127.0.0.1:%(engine)s/v1
      api_key: none
      timeout: 1
      stream_timeout: 1
      max_retries: 0
router_settings: {num_retries: 0, disable_cooldowns: true}
litellm_settings: {num_retries: 0, request_timeout: 1}
"""


@dataclass(frozen=True, slots=True)
class Box:
    """A program, what it is started with, and what the deployment file says of it."""

    program: str
    argv: tuple[str, ...]
    files: Mapping[str, str]
    log: str
    role: str = "proxy"
    page: str | None = None
    ready: str = "tcp://127.0.0.1:%(port)s"
    environ: Mapping[str, str] = field(default_factory=dict)


BOXES: Mapping[str, Box] = {
    "envoy": Box(
        "envoy",
        ("-c", "envoy.yaml", "--file-flush-interval-msec", "100", "--concurrency", "1",
         "--use-dynamic-base-id"),
        {"envoy.yaml": ENVOY},
        log="edge.access",
        page="http://127.0.0.1:%(admin)s/stats",
    ),
    "caddy": Box(
        "caddy",
        ("run", "--config", "Caddyfile", "--adapter", "caddyfile"),
        {"Caddyfile": CADDY},
        log="edge.access",
        page="http://127.0.0.1:%(admin)s/metrics",
    ),
    "litellm": Box(
        "litellm",
        ("--config", "config.yaml", "--host", "127.0.0.1", "--port", "%(port)s"),
        {"config.yaml": LITELLM},
        log="edge.log",
        ready="http://127.0.0.1:%(port)s/health/liveliness",
        environ={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": ""},
    ),
    "sglang-router": Box(
        "smg",
        ("launch", "--host", "127.0.0.1", "--port", "%(port)s",
         "--worker-urls", "http://127.0.0.1:%(engine)s", "--policy", "round_robin",
         "--prometheus-host", "127.0.0.1", "--prometheus-port", "%(admin)s",
         "--request-timeout-secs", "1", "--disable-retries", "--disable-circuit-breaker",
         "--log-level", "debug"),
        {},
        log="edge.log",
        role="router",
        page="http://127.0.0.1:%(admin)s/metrics",
        ready="http://127.0.0.1:%(port)s/readiness",
    ),
}  # fmt: skip
"""By the `kind` that the deployment file gives them."""


@contextmanager
def boxed_path(folder: Path, kind: str, script: Mapping[str, object]) -> Iterator[None]:
    """One of the boxes before the scripted engine, with a deployment file that names its faces."""
    box = BOXES[kind]
    ports = dict(zip(("port", "engine", "admin"), free_ports(3), strict=True))
    (folder / "engine.json").write_text(json.dumps({**QUICK, **script}))
    for name, text in box.files.items():
        (folder / name).write_text(text % {**ports, "types": ENVOY_TYPES})
    metrics = f'metrics = "{box.page % ports}"\n' if box.page else ""
    (folder / "exonerate.toml").write_text(
        '[deployment]\nmodel = "scripted"\n'
        f'[[hop]]\nname = "edge"\nrole = "{box.role}"\nurl = "http://127.0.0.1:{ports["port"]}"\n'
        f'kind = "{kind}"\nlog = "{box.log}"\n{metrics}'
        f'[[hop]]\nname = "engine"\nrole = "engine"\nurl = "http://127.0.0.1:{ports["engine"]}"\n'
        f'metrics = "http://127.0.0.1:{ports["engine"]}/metrics"\n{VICTIM}'
    )
    program = find_program(box.program)
    assert program is not None, f"{box.program}: {how_to_get(box.program)}"
    engine = [
        sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", str(ports["engine"]),
        "--config", str(folder / "engine.json"),
    ]  # fmt: skip
    argv = [program, *(word % ports for word in box.argv)]
    up = Ready(url=f"tcp://127.0.0.1:{ports['engine']}")
    ready = Ready(url=box.ready % ports, timeout_s=90)
    with ExitStack() as stack:
        stack.enter_context(start_program(engine, log=folder / "engine.log", ready=up, cwd=folder))
        stack.enter_context(
            start_program(
                argv,
                log=folder / "edge.log",
                ready=ready,
                cwd=folder,
                environ={**os.environ, **box.environ},
            )
        )
        yield
