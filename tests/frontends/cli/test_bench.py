"""`exonerate bench` from the outside: arguments in, text, files and status out."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner
from tests.support.patience import PATIENCE_S, until

from exonerate.frontends.cli.case import case
from exonerate.frontends.cli.main import main

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}\n\n'
METRICS = (
    b"# TYPE vllm:num_requests_running gauge\n"
    b"vllm:num_requests_running 2\nvllm:generation_tokens_total %d\n"
)


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


class Engine:
    """A small engine: answers after a moment, counts its tokens, serves them as metrics."""

    def __init__(self, tokens: int, pause_s: float) -> None:
        self.tokens = tokens
        self.pause_s = pause_s
        self.generated = 0
        self.bodies: list[Any] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client goes."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"POST /tokenize"):
                    await self.count(reader, writer, head)
                    continue
                if head.startswith(b"GET"):
                    page = METRICS % self.generated
                    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page)
                    writer.write(answer + page)
                    continue
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                self.bodies.append(json.loads(await reader.readexactly(length)))
                await self.answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def count(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        """A tokenizer that makes two tokens of each word."""
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        text = json.loads(await reader.readexactly(length))["prompt"]
        body = json.dumps({"count": 2 * len(text.split())}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        """One stream."""
        writer.write(HEAD)
        for _ in range(self.tokens):
            await asyncio.sleep(self.pause_s)
            writer.write(chunk(WORD))
            self.generated += 1
        tail = chunk(FINISH) + chunk(USAGE % self.tokens) + chunk(b"data: [DONE]\n\n")
        writer.write(tail + b"0\r\n\r\n")


@contextmanager
def running(tokens: int = 5, pause_s: float = 0.002) -> Iterator[tuple[str, Engine]]:
    """An engine in a thread of its own, so that the command can have this one."""
    engine = Engine(tokens, pause_s)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(engine.serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", engine
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
            loop.run_until_complete(asyncio.wait([task]))
        # Connections that were closed just now are let go by the loop's next turns.
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


def invoke(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line; returns status, stdout, stderr."""
    with pytest.raises(SystemExit) as left:
        main(["bench", *arguments])
    assert isinstance(left.value.code, int)
    out, err = capsys.readouterr()
    return left.value.code, out, err


def measured(
    capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str, pause_s: float = 0.002
) -> tuple[Any, Engine, Path]:
    """A run against a small engine: its JSON, the engine, the result file."""
    for _ in range(20):
        answer, engine, out = run_once(capsys, folder, *arguments, pause_s=pause_s)
        if answer["valid"]:
            return answer, engine, out
        # The host stood still while the client had something to send; the file says so.
        out.unlink()
    raise AssertionError("the host stood still twenty times")


def run_once(
    capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str, pause_s: float
) -> tuple[Any, Engine, Path]:
    """The same, also where the client could not keep up with what it was to send."""
    out = folder / "run.exbench"
    with running(pause_s=pause_s) as (url, engine):
        status, text, _ = invoke(
            capsys, url, "-m", "m", "--out", str(out), "--json", "-q", *arguments
        )
    answer = json.loads(text)
    assert (status, answer["invalid"]) in ((0, None), (2, "client-bound"))
    return answer, engine, out


def test_a_run_measures_each_load(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each concurrency is a cell whose tokens are the engine's own count."""
    answer, engine, out = measured(capsys, tmp_path, "-C", "1,4", "-n", "12")
    assert [cell["load"] for cell in answer["cells"]] == ["C1", "C4"]
    assert [cell["complete"] for cell in answer["cells"]] == [12, 12]
    assert sum(cell["usage_tokens"] for cell in answer["cells"]) == engine.generated == 120
    assert all(cell["output_tokens_per_s"] > 0 for cell in answer["cells"])
    assert out.exists()


def test_the_engines_counters_are_read_beside_the_load(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The engine's token counter agrees with ours, and its process's CPU time is known."""
    answer, _, _ = measured(capsys, tmp_path, "-C", "2", "-n", "200")
    engine = answer["cells"][0]["engine"]
    assert engine["generated_to_client"] == pytest.approx(1.0)
    assert 0 < engine["running_mean"] <= 2
    assert engine["tokens_per_cpu_s"] > 0


def test_an_open_loop_keeps_its_rate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Requests go out at the asked rate, whether or not those before them are answered."""
    answer, _, _ = run_once(capsys, tmp_path, "--rate", "50", "--constant", "-n", "25", pause_s=0.2)
    (cell,) = answer["cells"]
    assert (cell["load"], cell["complete"]) == ("R50", 25)
    # An answer takes as long as fifty requests; one that comes late finds others due with it.
    assert cell["instrument"]["in_flight_peak"] >= 5


def test_a_trace_is_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Requests go out at the times of a trace, counted from its first."""
    trace = tmp_path / "trace.csv"
    trace.write_text("timestamp,model\n100.0,a\n100.05,a\n100.2,a\n")
    answer, engine, _ = measured(capsys, tmp_path, "--trace", str(trace))
    assert answer["cells"][0]["complete"] == len(engine.bodies) == 3


def test_a_capture_is_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The captured bodies are sent, each once, at their times."""
    capture = tmp_path / "capture.jsonl"
    rows = [{"timestamp": 5 + at / 20, "body": {"messages": [], "n": at}} for at in range(4)]
    capture.write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer, engine, _ = measured(capsys, tmp_path, "--replay", str(capture), "--workers", "2")
    assert answer["cells"][0]["load"] == "replay"
    assert sorted(body["n"] for body in engine.bodies) == [0, 1, 2, 3]


def test_sessions_grow_their_history(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Agents send rounds whose history grows, each session with its own beginning."""
    _, engine, _ = measured(
        capsys, tmp_path, "-C", "2", "-n", "6", "--session", "3", "--think", "0"
    )
    lengths = sorted(len(body["messages"]) for body in engine.bodies)
    assert lengths == [1, 1, 3, 3, 5, 5]


def test_several_workers_share_one_load(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two processes send what one would, and no prompt twice."""
    answer, engine, _ = measured(capsys, tmp_path, "-C", "4", "-n", "20", "--workers", "2")
    assert answer["cells"][0]["complete"] == 20
    assert answer["cells"][0]["instrument"]["workers"] == 2
    assert len({json.dumps(body) for body in engine.bodies}) == 20


def test_a_duration_ends_a_closed_loop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """After its time no request is begun, and those in flight end well."""
    answer, _, _ = measured(capsys, tmp_path, "-C", "2", "--duration", "2s")
    (cell,) = answer["cells"]
    assert cell["complete"] == cell["requests"] > 4


def test_the_raw_records_come_out_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Export gives a row for each request and for each event; show folds the same numbers."""
    answer, _, out = measured(capsys, tmp_path, "-C", "2", "-n", "8")
    _, text, _ = invoke(capsys, "export", str(out))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["end"] for row in rows] == ["ok"] * 8
    _, text, _ = invoke(capsys, "export", str(out), "--events", "--format", "jsonl")
    events = [json.loads(line) for line in text.splitlines()]
    assert len(events) == 40
    parquet, lines = tmp_path / "run.parquet", tmp_path / "run.csv"
    status, text, _ = invoke(
        capsys, "export", str(out), "--events", "--format", "parquet", "--out", str(parquet)
    )
    assert (status, text) == (0, "")
    assert pyarrow.parquet.read_table(parquet).to_pylist() == events
    invoke(capsys, "export", str(out), "--out", str(lines))
    assert list(csv.DictReader(io.StringIO(lines.read_text()))) == rows
    _, text, _ = invoke(capsys, "show", str(out), "--json")
    assert json.loads(text)["cells"] == answer["cells"]


def test_reports_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Markdown and HTML hold the loads; the page needs nothing from elsewhere."""
    _, _, out = measured(capsys, tmp_path, "-C", "1,2", "-n", "8")
    page, text = tmp_path / "run.html", tmp_path / "run.md"
    status, shown, _ = invoke(
        capsys, "show", str(out), "--html", str(page), "--markdown", str(text)
    )
    assert status == 0
    assert "C2" in shown
    assert "| C2 |" in text.read_text().replace("|  C2", "| C2")
    assert "<svg" in page.read_text()
    assert "http://www.w3.org" in page.read_text()
    assert "src=" not in page.read_text()


def test_prompts_have_the_asked_tokens_by_the_engines_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An engine whose words are two tokens each gets half as many of them."""
    answer, engine, _ = measured(capsys, tmp_path, "-C", "1", "-n", "4", "--prompt-tokens", "80")
    assert answer["header"]["prompt_tokens_counted"] == 80
    assert {len(body["messages"][0]["content"].split()) for body in engine.bodies} == {40}


def test_compare_puts_like_runs_side_by_side(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The same request at the same load is compared, without a verdict."""
    _, _, out = measured(capsys, tmp_path, "-C", "2", "-n", "8")
    status, text, _ = invoke(capsys, "compare", str(out), str(out), "--json")
    assert status == 0
    metrics = json.loads(text)["cells"][0]["metrics"]
    assert {metric["ci"] for metric in metrics} == {None}


def test_compare_refuses_unlike_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Other prompts or another model are not the same experiment, and it is said which."""
    (tmp_path / "a").mkdir()
    _, _, one = measured(capsys, tmp_path / "a", "-C", "2", "-n", "8")
    _, _, other = measured(capsys, tmp_path, "-C", "2", "-n", "8", "--prompt-tokens", "50")
    status, _, complaint = invoke(capsys, "compare", str(one), str(other))
    assert status == 2
    assert "prompt.prompt_tokens" in complaint


def test_failures_are_a_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nobody listening gives status 1 and the end code, not a throughput."""
    status, text, _ = invoke(
        capsys, "http://127.0.0.1:9", "-m", "m", "-n", "4", "--out", str(tmp_path / "x"), "-q"
    )
    assert status == 1
    assert "× hXK" in text


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["http://127.0.0.1:9"], "--model"),
        (["http://127.0.0.1:9", "-m", "m", "-C", "0"], "1,8,64"),
        (["http://127.0.0.1:9", "-m", "m", "--slo", "speed=1s"], "ttft"),
        (["http://127.0.0.1:9", "-m", "m", "--ca", __file__], "PEM"),
        (["export", __file__], "bench"),
        (["export", __file__, "--format", "parquet"], "--out"),
        (["export", __file__, "--format", "parquet", "--out", "/no/such/folder/x"], "bench"),
    ],
)
def test_a_mistake_is_explained(
    capsys: pytest.CaptureFixture[str], arguments: list[str], hint: str
) -> None:
    """The operator is told what to write instead."""
    status, _, complaint = invoke(capsys, *arguments)
    assert status == 2
    assert hint in complaint


def test_ctrl_c_writes_what_was_measured(tmp_path: Path) -> None:
    """An interrupted run leaves its file and its report, with status 130."""
    out = tmp_path / "run.exbench"
    with running(tokens=3, pause_s=0.01) as (url, engine):
        command = [sys.executable, "-m", "exonerate", "bench", url, "-m", "m", "-C", "2"]
        process = subprocess.Popen(
            [*command, "--duration", "60s", "--out", str(out), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ},
            start_new_session=True,
        )
        until(lambda: len(engine.bodies) >= 10, "ten requests")
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=PATIENCE_S)
    answer = json.loads(text)
    assert process.returncode == 130
    assert answer["notes"] == ["interrupted"]
    assert answer["cells"][0]["complete"] >= 5


def test_the_load_side_stays_small() -> None:
    """Neither the command nor a worker imports numpy or scipy."""
    code = (
        "import sys, exonerate.frontends.cli.bench, exonerate.adapters.load_worker;"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'scipy'}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_result_becomes_evidence_of_a_case(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a case named, what was measured is in its report; the case must exist beforehand."""
    ledger = ("--ledger", str(tmp_path / "ledger.db"))
    opened = CliRunner().invoke(case, ["open", "slow at C2", *ledger], standalone_mode=False)
    identity = opened.stdout.strip()
    measured(capsys, tmp_path, "-C", "2", "-n", "8", "--case", identity, *ledger)
    report = CliRunner().invoke(
        case, ["report", "--case", identity, *ledger], standalone_mode=False
    )
    assert "C2: 8 of 8" in report.stdout, report.output
    with running() as (url, engine):
        out = tmp_path / "second"
        status, _, said = invoke(
            capsys, url, "-m", "m", "--case", "nosuch", "--out", str(out), *ledger
        )
    assert status == 2
    assert "nosuch" in said
    assert not engine.bodies, "nothing is sent for a case that is not there"
