"""A real llama.cpp server in the foreground of one process: the engine of demo, tests and lab.

    python -m exonerate.lab.embedded_engine --model FILE.gguf --port 18080

Rules
-----
1. The process that was started is the process that serves: no child, no fork, so that
   `/proc/PID/environ` and `/proc/PID/cmdline` show the settings it really runs with.
2. SIGTERM and SIGINT keep the kernel's default action: the process ends at once, whatever the
   compute threads do, and the port is free. There is nothing to flush.
3. It says on stderr what it runs with; the environment is read here because the in-process
   server does not read it (see `engine_settings`).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exonerate.errors import ExonerateError
from exonerate.lab.engine_settings import EngineSettings, add_flags, resolve

HOST = "127.0.0.1"
# llama.cpp may keep 8 GiB of old prompts in memory by default; a lab machine is small.
PROMPT_CACHE_MIB = 256


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal ends the process; returns a status only when it could not start."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    options = _parser().parse_args(arguments)
    flags = {f"--{name.replace('_', '-')}": text for name, text in vars(options).items()}
    try:
        settings = resolve(flags, os.environ)
        server = start_server(
            Path(options.model), port=options.port, alias=options.alias, settings=settings
        )
    except ExonerateError as error:
        sys.stderr.write(f"error: {error.problem}\n\nhint: {error.hint}\n")
        return 2
    sys.stderr.write(f"serving {options.alias} on {server.listening_address}: {settings}\n")
    while True:
        signal.pause()


def start_server(model: Path, *, port: int, alias: str, settings: EngineSettings) -> Any:
    """A running in-process server; it stops when the object goes away."""
    if not model.is_file():
        raise ExonerateError(
            f"there is no model file `{model}`",
            "fetch it with `exonerate demo`, or give the path of a GGUF file with `--model`",
        )
    xllamacpp = _xllamacpp()
    params = _parameters(xllamacpp, settings)
    params.model.path = str(model)
    params.model_alias = {alias}
    params.port = port
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ExonerateError(
            f"llama.cpp did not start on {HOST}:{port} with `{model}`: {error}",
            "its own message stands above; most often the port is in use or memory is short",
        ) from error


def _xllamacpp() -> Any:
    try:
        import xllamacpp  # an optional extra: only the lab needs an engine
    except ImportError as error:
        raise ExonerateError(
            f"the embedded engine is not installed: {error}",
            "install it with `pip install 'exonerate[lab]'`",
        ) from error
    return xllamacpp


def _parameters(xllamacpp: Any, settings: EngineSettings) -> Any:
    params = xllamacpp.CommonParams()
    params.hostnames = [HOST]
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.verbosity = 1  # errors only; a request log would cost throughput
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.n_ubatch = settings.ubatch
    params.n_batch = max(settings.batch, settings.ubatch)
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    params.n_parallel = settings.parallel
    params.n_ctx = settings.ctx
    params.cont_batching = settings.cont_batching
    params.cache_prompt = settings.cache_prompt
    params.flash_attn_type = _flash_attention(xllamacpp, settings.flash_attn)
    params.cache_type_k = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.cache_type_k.upper()}")
    params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{settings.cache_type_v.upper()}")
    return params


def _flash_attention(xllamacpp: Any, word: str) -> Any:
    name = {"auto": "AUTO", "on": "ENABLED", "off": "DISABLED"}[word]
    return getattr(xllamacpp.llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.embedded_engine",
        description="A real llama.cpp server in the foreground, set by flags or LLAMA_ARG_*.",
    )
    parser.add_argument("--model", required=True, metavar="FILE", help="a GGUF file")
    parser.add_argument("--port", required=True, type=int, help=f"listen on {HOST}:PORT")
    parser.add_argument("--alias", default="smollm2", metavar="NAME", help="what requests name")
    add_flags(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
