"""Puts a scenario up as real processes and writes the deployment file for `locate`.

Parts are started from the engine outwards, each when the one behind it answers; on leaving, or when
this process is killed, all of them end. Ports are fresh for every run.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from exonerate.core.ports import Progress
from exonerate.errors import ExonerateError
from exonerate.lab.model import fetch_model
from exonerate.lab.parts import find_program, how_to_get
from exonerate.lab.processes import Ready, RunningProgram, free_ports, start_program
from exonerate.lab.scenario import (
    HOST,
    Background,
    Part,
    Scenario,
    Template,
    decoys_of,
    draw,
)

MODEL = {"llamacpp": "smollm2", "scripted": "scripted", "program": "smollm2"}
READY_TIMEOUT_S = 60.0
NETWORK_LOCK = Path(tempfile.gettempdir()) / "exonerate-lab-network.lock"
"""Held by whoever has a scenario's network up; gone with its process, however that ends."""
# The harness's words under SmolLM2's tokenizer, measured.
TOKENS_PER_WORD = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A scenario that stands."""

    scenario: Scenario
    folder: Path
    deployment: Path
    urls: Mapping[str, str]
    programs: Mapping[str, RunningProgram]
    client_argv: tuple[str, ...]
    client_environ: Mapping[str, str]
    client_prefix: tuple[str, ...] = ()
    """What a command begins with that is to stand where the client stands."""

    @property
    def entry_url(self) -> str:
        """Where the client's requests enter the path."""
        return self.urls[self.scenario.part[0].name]


def missing(scenario: Scenario) -> list[str]:
    """What this host lacks for a scenario: programs, the real engine, or root."""
    lacking = [name for name in scenario.needs if find_program(name) is None]
    if any(part.kind == "llamacpp" for part in scenario.part) and not find_spec("xllamacpp"):
        lacking.append("xllamacpp")
    if scenario.needs_root and os.geteuid() != 0:
        lacking.append("root")
    return lacking


@contextmanager
def staged(template: Template, *, seed: int, folder: Path, progress: Progress) -> Iterator[Stage]:
    """The scenario of this seed, standing, with its files in the folder.

    Raises:
        ExonerateError: the scenario is wrong, or a part does not start.
    """
    scenario, ports = _drawn_with_ports(template, seed, folder)
    lacking = missing(scenario)
    if lacking:
        raise ExonerateError(
            f"scenario {scenario.id} needs {', '.join(lacking)}",
            "; ".join(how_to_get(name) for name in lacking),
        )
    addresses = template.addresses
    urls = {name: f"http://{addresses.get(name, HOST)}:{port}" for name, port in ports.items()}
    for name, text in scenario.files.items():
        (folder / name).write_text(text)
    with ExitStack() as stack:
        stack.enter_context(network(scenario, progress))
        programs = {}
        for part in reversed(scenario.part):
            progress(f"starting {part.name}", None)
            starting = _Starting(scenario, folder, ports, progress)
            programs[part.name] = stack.enter_context(starting.started(part))
        _warm_up(scenario, urls, progress)
        for number, background in enumerate(scenario.background):
            for copy in range(background.count):
                log = folder / f"background-{number}-{copy}.log"
                argv = _background_argv(scenario, background, urls, seed=seed * 100 + copy)
                stack.enter_context(start_program(argv, log=log))
            time.sleep(background.lead_s)
        deployment = folder / "exonerate.toml"
        deployment.write_text(deployment_text(scenario, urls, folder))
        yield Stage(
            scenario=scenario,
            folder=folder,
            deployment=deployment,
            urls=urls,
            programs=programs,
            client_argv=_client_argv(scenario),
            client_environ=_client_environ(scenario, urls),
            client_prefix=_client_prefix(scenario, folder),
        )


def _drawn_with_ports(
    template: Template, seed: int, folder: Path
) -> tuple[Scenario, dict[str, int]]:
    decoys = decoys_of(template, seed)
    names = [*template.port_names, *decoys.values()]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    scenario = draw(template, seed=seed, ports=ports, folder=str(folder))
    parts = list(scenario.part)
    for index in sorted(decoys, reverse=True):
        parts.insert(index, Part(name=decoys[index], kind="faulty-proxy"))
    return replace(scenario, part=tuple(parts)), ports


@contextmanager
def network(scenario: Scenario, progress: Progress) -> Iterator[None]:
    """What the scenario's `setup` builds, and its `teardown` takes away again.

    One at a time on a host: names of network namespaces and addresses are the same for everybody.
    """
    if not scenario.setup and not scenario.teardown:
        yield
        return
    with NETWORK_LOCK.open("w") as held:
        progress("waiting until no other scenario has its network up", None)
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            _build(scenario)
            yield
        finally:
            teardown = ["/bin/sh", "-c", scenario.teardown]
            subprocess.run(teardown, capture_output=True, check=False)


def _build(scenario: Scenario) -> None:
    built = subprocess.run(["/bin/sh", "-ec", scenario.setup], capture_output=True, check=False)
    if built.returncode != 0:
        raise ExonerateError(
            f"the setup of scenario {scenario.id} failed: {built.stderr.decode().strip()}",
            "it needs a host where root may make network namespaces and NAT",
        )


def _warm_up(scenario: Scenario, urls: Mapping[str, str], progress: Progress) -> None:
    """Let the real engine compute once, so that its first request is not the slow one."""
    engine = scenario.part[-1]
    if engine.kind == "llamacpp":
        progress("warming up the engine", None)
        argv = [*_harness(scenario, urls[engine.name]), "--rounds", "1", "--max-tokens", "1"]
        with start_program(argv, log=Path(os.devnull)) as program:
            program.wait(READY_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class _Starting:
    scenario: Scenario
    folder: Path
    ports: Mapping[str, int]
    progress: Progress

    @contextmanager
    def started(self, part: Part) -> Iterator[RunningProgram]:
        url = f"http://{part.address}:{self.ports[part.name]}"
        # Sockets of another network namespace do not show in ours: there it has to answer.
        asked = part.kind == "llamacpp" or part.namespace is not None
        ready = f"{url}/health" if asked else f"tcp://{HOST}:{self.ports[part.name]}"
        log = output_log(part, self.folder)
        environ = {**os.environ, **part.environ}
        argv = self._argv(part)
        if part.namespace is not None:
            argv = ["ip", "netns", "exec", part.namespace, *argv]
        if part.cpu is not None:
            argv = ["taskset", "-c", str(part.cpu), *argv]
        if part.open_files:
            argv = ["/bin/sh", "-c", f'ulimit -n {part.open_files} && exec "$@"', "sh", *argv]
        with start_program(
            argv,
            log=log,
            ready=Ready(url=part.ready or ready, timeout_s=READY_TIMEOUT_S),
            environ=environ,
            cwd=self.folder,
        ) as program:
            yield program

    def _argv(self, part: Part) -> list[str]:
        port = str(self.ports[part.name])
        match part.kind:
            case "llamacpp":
                return self._llamacpp(part, port)
            case "scripted":
                config = self._written(part, "json", json.dumps(dict(part.settings)))
                argv = [sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", port]
                return [*argv, "--host", part.address, "--config", str(config)]
            case "faulty-proxy":
                return self._faulty_proxy(part, port)
            case "program":
                for name, text in part.files.items():
                    (self.folder / name).write_text(text)
                program, *arguments = part.argv
                return [find_program(program) or program, *arguments]

    def _llamacpp(self, part: Part, port: str) -> list[str]:
        model = fetch_model(None, self.progress)
        argv = [sys.executable, "-m", "exonerate.lab.embedded_engine", "--model", str(model)]
        argv += ["--port", port, "--alias", MODEL["llamacpp"]]
        settings = {"ubatch": 512, **part.settings}
        for name, value in settings.items():
            argv += [f"--{name.replace('_', '-')}", str(value)]
        return argv

    def _faulty_proxy(self, part: Part, port: str) -> list[str]:
        rules = self._written(part, "json", json.dumps(dict(part.settings)))
        argv = [sys.executable, "-m", "exonerate.lab.faulty_proxy", "--listen", f"{HOST}:{port}"]
        argv += ["--upstream", f"http://{HOST}:{self.ports[self._upstream(part)]}"]
        argv += ["--rules", str(rules)]
        return [*argv, "--log", str(request_log(part, self.folder))] if part.log else argv

    def _upstream(self, part: Part) -> str:
        if part.upstream is not None:
            return part.upstream
        names = [one.name for one in self.scenario.part]
        return names[names.index(part.name) + 1]

    def _written(self, part: Part, suffix: str, text: str) -> Path:
        path = self.folder / f"{part.name}.{suffix}"
        path.write_text(text)
        return path


def request_log(part: Part, folder: Path) -> Path:
    """Where a proxy of ours logs its requests."""
    return folder / f"{part.name}.requests"


def output_log(part: Part, folder: Path) -> Path:
    """Where everything goes that a part writes to its output."""
    return folder / f"{part.name}.log"


def deployment_text(scenario: Scenario, urls: Mapping[str, str], folder: Path) -> str:
    """The `exonerate.toml` that an operator of this path would have written."""
    lines = ["[deployment]", f"name = {_toml(scenario.id)}", f"model = {_toml(_model(scenario))}"]
    for part in scenario.part:
        if part.hidden:
            continue
        url = urls[part.name]
        lines += ["", "[[hop]]", f"name = {_toml(part.name)}", f"role = {_toml(part.hop_role)}"]
        lines.append(f"url = {_toml(url)}")
        if part.is_engine and part.metrics:
            lines.append(f"metrics = {_toml(f'{url}/metrics')}")
        if part.log:
            log = output_log(part, folder) if part.is_engine else request_log(part, folder)
            lines.append(f"log = {_toml(str(log))}")
        if part.watchdog_s:
            lines.append(f"watchdog_s = {_toml(part.watchdog_s)}")
    lines += ["", "[victim]"]
    lines += [f"{name} = {_toml(value)}" for name, value in scenario.victim.items()]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"
        )
    # JSON's texts, numbers, booleans and lists of them are TOML as well.
    return json.dumps(value)


def _model(scenario: Scenario) -> str:
    engine = scenario.part[-1]
    return str(engine.settings.get("model", MODEL[engine.kind]))


def _harness(scenario: Scenario, url: str) -> list[str]:
    return [
        *(sys.executable, "-m", "exonerate.lab.harness"),
        *("--base-url", url, "--model", _model(scenario)),
    ]


def _background_argv(
    scenario: Scenario, background: Background, urls: Mapping[str, str], *, seed: int
) -> list[str]:
    url = urls[background.at]
    program = f"exonerate.lab.{background.program}"
    argv = [sys.executable, "-m", program, "--base-url", url, "--model", _model(scenario)]
    return [*argv, "--seed", str(seed), *background.options]


def _client_argv(scenario: Scenario) -> tuple[str, ...]:
    """The victim's own program, which finds its server in $OPENAI_BASE_URL."""
    client = scenario.client
    if client is not None and client.argv:
        return client.argv
    victim = scenario.victim
    program = client.program if client is not None else "harness"
    return (
        *(sys.executable, "-m", f"exonerate.lab.{program}", "--model", _model(scenario)),
        *("--rounds", str(victim.get("rounds", 8))),
        *("--think", str(victim.get("think_s", 0.5))),
        *("--deadline", str(victim.get("deadline_s", 20))),
        *("--max-tokens", str(victim.get("max_tokens", 32))),
        *("--prompt-words", _words(victim.get("prompt_tokens", 200))),
        *("--growth-words", _words(victim.get("growth_tokens", 150))),
        *(client.options if client is not None else ()),
    )


def _client_environ(scenario: Scenario, urls: Mapping[str, str]) -> dict[str, str]:
    exported = scenario.client.environ if scenario.client is not None else {}
    return {"OPENAI_BASE_URL": f"{urls[scenario.part[0].name]}/v1", **exported}


def _client_prefix(scenario: Scenario, folder: Path) -> tuple[str, ...]:
    """A view of the file system in which names are asked for at the scenario's own server."""
    if scenario.names_at is None:
        return ()
    resolver = folder / "resolv.conf"
    # More patience than any delay of ours, or the C library would ask a second time.
    resolver.write_text(f"nameserver {scenario.names_at}\noptions timeout:15 attempts:1\n")
    script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
    return ("unshare", "--mount", "/bin/sh", "-c", script, "sh", str(resolver))


def _words(tokens: object) -> str:
    assert isinstance(tokens, int)
    return str(max(1, round(tokens / TOKENS_PER_WORD)))
