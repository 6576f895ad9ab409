"""The stage of the demo: a folder with a real launch script, a proxy that fails, a harness."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from exonerate.adapters.actuators.process_service import ServiceFailed
from exonerate.adapters.actuators.services import ServiceControl
from exonerate.compose import load_deployment, service_control, system_clock
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.interrupts import run_async
from exonerate.lab.launch_script import LaunchScript, write_launch_script
from exonerate.lab.processes import Ready, start_program

KNOB = "LLAMA_ARG_UBATCH"
KNOB_TUNED, KNOB_BASELINE = "512", "8"
SECOND_KNOB = "LLAMA_ARG_CONT_BATCHING"
SECOND_TUNED, SECOND_REVERTED = "1", "0"
SWALLOWED_REQUEST = 4
SCRIPT = "serve_engine.sh"
ALIAS = "smollm2"

FAULTY_RULES = f"""\
# The fault of the founding story: the {SWALLOWED_REQUEST}th request of a connection goes in and
# never comes out, and the connection stays open.
[[rule]]
name = "swallows a request"
when = {{ request_on_connection = {SWALLOWED_REQUEST} }}
do = "swallow"
"""
DEPLOYMENT = """\
# The deployment of the demo: an agent harness, a proxy, a real llama.cpp server.
[deployment]
name = "demo"
model = "{alias}"

[[hop]]
name = "edge"
role = "proxy"
url = "http://127.0.0.1:{proxy_port}"

[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:{engine_port}"
metrics = "http://127.0.0.1:{engine_port}/metrics"

[victim]                 # how the harness behaves; every probe copies it
rounds = 6
think_s = 0.3
prompt_tokens = 40
growth_tokens = 20
max_tokens = 8
deadline_s = 5

[[service]]
name = "engine"
hop = "engine"
start = ["./{script}"]
ready = "http://127.0.0.1:{engine_port}/health"
ready_timeout_s = 60

[[knob]]                 # how many prompt tokens the engine reads in one pass
name = "{knob}"
service = "engine"
file = "{script}"
form = "export"
values = [{baseline}, {tuned}]
default = {baseline}

[[knob]]                 # a second setting that was changed in the same belief
name = "{second}"
service = "engine"
file = "{script}"
form = "export"
values = [0, 1]
default = 1
"""


@dataclass(frozen=True, slots=True)
class HarnessRun:
    """How the agent harness fared."""

    done: int
    wanted: int
    wedged_at: int | None
    seconds: float

    @property
    def completed(self) -> bool:
        """Whether every round was answered."""
        return self.done == self.wanted


@dataclass(frozen=True, slots=True)
class Stage:
    """Folder, ports and model of one demo."""

    folder: Path
    model: Path
    engine_port: int
    proxy_port: int
    slots: int
    seed: int

    @property
    def config(self) -> Path:
        """The deployment file."""
        return self.folder / "exonerate.toml"

    @property
    def script(self) -> Path:
        """The engine's launch script."""
        return self.folder / SCRIPT

    def write(self) -> None:
        """Write the launch script with the tuned knob, the deployment file and the fault."""
        write_launch_script(
            self.script,
            LaunchScript(
                python=sys.executable,
                model=self.model,
                port=self.engine_port,
                alias=ALIAS,
                exports={KNOB: KNOB_TUNED, SECOND_KNOB: SECOND_TUNED},
                flags={"--parallel": str(self.slots)},
            ),
        )
        text = DEPLOYMENT.format(
            alias=ALIAS, proxy_port=self.proxy_port, engine_port=self.engine_port, script=SCRIPT,
            knob=KNOB, baseline=KNOB_BASELINE, tuned=KNOB_TUNED, second=SECOND_KNOB,
        )  # fmt: skip
        self.config.write_text(text)

    def start_engine(self) -> int:
        """Start the engine as any service; its pid.

        Raises:
            ExonerateError: it does not start.
        """
        try:
            return run_async(self._control().start("engine")).pid
        except ServiceFailed as failure:
            raise ExonerateError(
                f"the engine of the demo did not start: {failure}",
                "run the demo again; if it fails again, run it with `--keep DIR` and read the log",
            ) from failure

    @contextmanager
    def engine_stopped_at_the_end(self) -> Iterator[None]:
        """Stop the engine on leaving; the guard of the demo ends one that does not stop."""
        try:
            yield
        finally:
            with suppress(ServiceFailed, ExonerateError):
                run_async(self._control().stop("engine"))

    def _control(self) -> ServiceControl:
        return service_control(load_deployment(self.config), system_clock())

    @contextmanager
    def proxy(self, *, faulty: bool) -> Iterator[None]:
        """The proxy in front of the engine, with or without its fault."""
        rules = self.folder / "proxy_rules.toml"
        rules.write_text(FAULTY_RULES if faulty else "# no fault\n")
        command = [
            sys.executable, "-m", "exonerate.lab.faulty_proxy",
            "--listen", f"127.0.0.1:{self.proxy_port}",
            "--upstream", f"http://127.0.0.1:{self.engine_port}",
            "--rules", str(rules),
        ]  # fmt: skip
        ready = Ready(url=f"tcp://127.0.0.1:{self.proxy_port}")
        with start_program(command, log=self.folder / "proxy.log", ready=ready):
            yield

    def harness(self) -> HarnessRun:
        """Run the agent harness through the proxy; its lines go to stderr as they come."""
        command = [
            sys.executable, "-m", "exonerate.lab.harness",
            "--base-url", f"http://127.0.0.1:{self.proxy_port}",
            "--model", ALIAS, "--rounds", "6", "--think", "0.3", "--deadline", "5",
            "--prompt-words", "40", "--growth-words", "20", "--max-tokens", "8",
            "--seed", str(self.seed),
        ]  # fmt: skip
        try:
            finished = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=120)
            seen = json.loads(finished.stdout)
        except (subprocess.TimeoutExpired, ValueError) as error:
            raise ExonerateError(
                f"the agent harness broke off: {error}", "what it said stands above; run it again"
            ) from error
        return HarnessRun(
            done=int(seen["rounds_done"]),
            wanted=int(seen["rounds"]),
            wedged_at=seen["wedged_at"],
            seconds=float(seen["seconds"]),
        )

    @contextmanager
    def other_clients(self, count: int) -> Iterator[None]:
        """Other people's long requests, sent straight to the engine."""
        clients = [self._other_client(number) for number in range(count)]
        try:
            yield
        finally:
            for client in clients:
                client.terminate()
            for client in clients:
                client.wait()

    def _other_client(self, number: int) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "exonerate.lab.harness",
            "--base-url", f"http://127.0.0.1:{self.engine_port}",
            "--model", ALIAS, "--rounds", "1000", "--think", "0", "--deadline", "300",
            "--max-tokens", "200", "--seed", str(self.seed + 1 + number),
        ]  # fmt: skip
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
