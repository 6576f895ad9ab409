"""The real engine and the programs around it, shared by the lab's tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exonerate.lab.model import fetch_model
from exonerate.lab.processes import Ready, free_ports, start_program


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The lab's model, fetched once into the cache."""
    return fetch_model(None, lambda _text, _share: None)


@pytest.fixture(scope="module")
def engine_url(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real llama.cpp server with two slots."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    argv = [sys.executable, "-m", "exonerate.lab.embedded_engine", "--model", str(model_file)]
    argv += ["--port", str(port), "--parallel", "2", "--ubatch", "512", "--ctx", "4096"]
    log = tmp_path_factory.mktemp("engine") / "engine.log"
    with start_program(argv, log=log, ready=Ready(url=f"{url}/health")):
        yield url
