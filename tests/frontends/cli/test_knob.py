"""`exonerate knob` as an operator runs it, on a service that really runs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.patience import PATIENCE_S, until

import exonerate
from exonerate.adapters.process_table import is_listening
from exonerate.compose import load_deployment, service_control, system_clock
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.case import case
from exonerate.frontends.cli.knob import knob

FOUNDING = Path(__file__).parents[2] / "data" / "founding-case"
BACKUP = "serve_dsv4_decode.sh.pretgt_revert_2025.bak"
SERVER = """
import http.server, pathlib, sys, time
ANSWER = [
    '{"choices":[{"index":0,"delta":{"content":" one"},"finish_reason":null}]}',
    '{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}',
    "[DONE]",
]
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        broken = pathlib.Path("broken").exists()
        self.send_response(500 if broken else 200)
        body = b"".join(f"data: {event}\\n\\n".encode() for event in ANSWER)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
slow = pathlib.Path("slow")
if slow.exists():
    seconds = float(slow.read_text())
    pathlib.Path("loading").touch()
    time.sleep(seconds)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
DEPLOYMENT = """
[deployment]
name = "site"
model = "m"

[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:{port}"

[victim]
deadline_s = 60

[[service]]
name = "engine"
hop = "engine"
start = ["./serve.sh"]
ready = "http://127.0.0.1:{port}/health"
ready_timeout_s = 100

[[knob]]
name = "SITE_KNOB"
service = "engine"
file = "serve.sh"
form = "export"
values = [256, 512]
default = 256

[[knob]]
name = "OTHER"
service = "engine"
file = "serve.sh"
form = "export"
values = [0, 1]
default = 0
"""
ORIGINAL = "#!/bin/bash\nexport A=1\nexport SITE_KNOB=512\nexport OTHER=1\nexec {command}\n"
REVERT = ("revert", "KNOB", "--tests", "512 hangs it", "--predict", "no hang", "--reason", "r")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A deployment folder; whatever runs at the end is stopped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXONERATE_LEDGER", raising=False)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "exonerate.toml").write_text(DEPLOYMENT.format(port=port))
    script = tmp_path / "serve.sh"
    script.write_text(ORIGINAL.format(command=f"{sys.executable} server.py {port}"))
    script.chmod(0o755)
    yield tmp_path
    deployment = load_deployment(tmp_path / "exonerate.toml")
    asyncio.run(service_control(deployment, system_clock()).stop("engine"))
    assert not is_listening(port)


def run(*arguments: str) -> Result:
    """`exonerate knob` with those arguments; an operator's error is raised."""
    result = CliRunner().invoke(knob, arguments, standalone_mode=False)
    if isinstance(result.exception, ExonerateError):
        raise result.exception
    assert result.exception is None, result.output
    return result


def answer(*arguments: str) -> dict[str, Any]:
    """What a command prints with --json."""
    printed = json.loads(run(*arguments, "--json").stdout)
    assert isinstance(printed, dict)
    return printed


def listed(name: str) -> dict[str, Any]:
    """One knob of `knob list`."""
    return next(row for row in answer("list")["knobs"] if row["name"] == name)


def test_a_revert_and_its_restore_give_the_same_bytes_back(site: Path) -> None:
    """The value arrives both ways, the script ends as it began, and the ledger can be verified."""
    original = (site / "serve.sh").read_bytes()
    reverted = answer(*REVERT, "--yes")
    assert (reverted["outcome"], reverted["from"], reverted["to"]) == ("committed", "512", "256")
    assert reverted["arrived"]["state"] == "yes"
    row = listed("SITE_KNOB")
    assert (row["written"], row["live"], row["agrees"]) == (None, "256", True)
    assert (row["standing"]["was"], row["standing"]["type"]) == ("512", "revert")
    assert run("diff", "KNOB").return_value == 1
    restored = run("restore", "KNOB", "--yes")
    assert restored.return_value == 0
    assert "= 512 in every process" in restored.stdout
    assert (site / "serve.sh").read_bytes() == original
    assert listed("SITE_KNOB")["standing"] is None
    assert run("diff", "KNOB").return_value == 0
    verified = CliRunner().invoke(case, ["verify", "--json"], standalone_mode=False)
    verification = json.loads(verified.stdout)
    assert verification["chain"] == "ok"
    assert [one["same"] for one in verification["verdicts"]] == [True, True]


def test_two_reverts_of_one_file_are_taken_back_in_any_order(site: Path) -> None:
    """Restoring the first leaves the second, and both together give the recorded bytes back."""
    original = (site / "serve.sh").read_bytes()
    run(*REVERT, "--yes", "--no-restart")
    run("revert", "OTHER", *REVERT[2:], "--yes", "--no-restart")
    assert answer("restore", "KNOB", "--yes", "--no-restart")["outcome"] == "committed"
    assert (listed("SITE_KNOB")["live"], listed("OTHER")["live"]) == ("512", "0")
    assert answer("restore", "OTHER", "--yes", "--no-restart")["outcome"] == "committed"
    assert (site / "serve.sh").read_bytes() == original


def test_a_service_that_does_not_answer_is_rolled_back(site: Path) -> None:
    """The smoke request fails, so the old bytes come back; and as it fails then too, that is said.

    Nothing is called restored that was not seen to work.
    """
    run(*REVERT, "--yes")
    reverted = (site / "serve.sh").read_bytes()
    (site / "broken").touch()
    result = run("restore", "KNOB", "--yes")
    assert result.return_value == 2
    assert "rollback-failed" in result.stdout
    assert "NOT KNOWN" in result.stdout
    assert (site / "serve.sh").read_bytes() == reverted


def test_a_value_that_does_not_arrive_is_rolled_back(site: Path) -> None:
    """A helper that was started before the export does not have it: the change is taken back."""
    script = site / "serve.sh"
    script.write_text(script.read_text().replace("export A=1\n", "sleep 600 &\n"))
    original = script.read_bytes()
    result = answer(*REVERT, "--to", "256", "--yes")
    assert result["outcome"] == "committed"
    failed = run("restore", "KNOB", "--yes")
    assert failed.return_value == 2
    assert "rolled-back" in failed.stdout
    assert "1 of 2 processes did not get 512" in failed.stdout
    assert listed("SITE_KNOB")["live"] == "256"
    assert script.read_bytes() != original


def test_a_hand_edit_stops_the_restore_and_is_shown(site: Path) -> None:
    """Both differences are on stderr, the file is untouched, and nothing is merged."""
    run(*REVERT, "--yes", "--no-restart")
    script = site / "serve.sh"
    script.write_text(script.read_text().replace("A=1", "A=2"))
    edited = script.read_bytes()
    result = CliRunner().invoke(knob, ["restore", "KNOB", "--yes"], standalone_mode=False)
    assert isinstance(result.exception, ExonerateError)
    assert "was edited since" in result.exception.problem
    assert "-export SITE_KNOB=512" in result.stderr
    assert "+export A=2" in result.stderr
    assert script.read_bytes() == edited


def test_nothing_is_changed_without_a_yes(site: Path) -> None:
    """Where nobody can be asked the commands refuse; a dry run shows the change and makes none."""
    original = (site / "serve.sh").read_bytes()
    with pytest.raises(ExonerateError, match="the input is no terminal"):
        run(*REVERT)
    shown = run(*REVERT, "--dry-run")
    assert "-export SITE_KNOB=512" in shown.stdout
    assert answer(*REVERT, "--dry-run")["to"] == "256"
    assert (site / "serve.sh").read_bytes() == original
    with pytest.raises(ExonerateError, match="no revert of SITE_KNOB stands"):
        run("restore", "KNOB", "--dry-run")


def test_a_document_on_another_knob_prices_nothing(site: Path) -> None:
    """The brief then says that the price is unknown, and recommends the restore as a test."""
    run(*REVERT, "--yes", "--no-restart")
    CliRunner().invoke(
        case,
        ["evidence", "--file", str(FOUNDING / "DSV4_DECODE_PERF_PLAN.md")],
        standalone_mode=False,
    )
    brief = answer("restore", "KNOB", "--dry-run")
    assert brief["schema"] == "exonerate.restore-brief/1"
    assert (brief["live"], brief["restored"], brief["cleared_by"]) == ("256", "512", None)
    assert (brief["class"], brief["price"]) == ("unpriced", [])
    assert brief["recommendation"] == "restore-as-test"
    assert {claim["status"] for claim in brief["claims"]} == {"unknown"}
    assert "+export SITE_KNOB=512" in run("restore", "KNOB", "--dry-run").stdout


def founding(folder: Path) -> None:
    """The founding case, as the team had it."""
    for path in FOUNDING.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "exonerate.toml").write_text(
        DEPLOYMENT.format(port=1)
        .replace("./serve.sh", "./serve_dsv4_decode.sh")
        .replace('"serve.sh"', '"serve_dsv4_decode.sh"')
        .replace("SITE_KNOB", "SGLANG_SM120_MMA_TARGET_CTAS")
    )


def test_the_founding_revert_is_adopted_as_exactly_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown to be one setting, recorded with its backup, and priced by the document."""
    monkeypatch.chdir(tmp_path)
    founding(tmp_path)
    adopted = answer("adopt", "TARGET_CTAS", "--was", BACKUP, "--reason", "a precaution")
    assert adopted["lines_removed"] == ["export SGLANG_SM120_MMA_TARGET_CTAS=512\n"]
    assert adopted["lines_added"] == []
    assert (adopted["from"], adopted["to"]) == ("512", "256")
    with pytest.raises(ExonerateError, match="on record already"):
        run("adopt", "TARGET_CTAS", "--was", BACKUP, "--reason", "a precaution")
    document = ["evidence", "--file", "DSV4_DECODE_PERF_PLAN.md"]
    CliRunner().invoke(case, document, standalone_mode=False)
    brief = answer("restore", "TARGET_CTAS", "--dry-run")
    gains = {price["cell"]: round(price["gain"], 3) for price in brief["price"]}
    assert gains == {48: -0.006, 64: 0.128, 80: 0.012, 96: 0.057}
    assert {price["grade"] for price in brief["price"]} == {"D"}
    claims = [claim["text"] for claim in brief["claims"] if claim["status"] == "claimed"]
    assert any("0% leak" in claim for claim in claims)
    restored = answer("restore", "TARGET_CTAS", "--yes", "--no-restart")
    assert restored["outcome"] == "committed"
    assert (tmp_path / "serve_dsv4_decode.sh").read_bytes() == (FOUNDING / BACKUP).read_bytes()


def test_more_than_one_setting_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other difference is named, and nothing is recorded."""
    monkeypatch.chdir(tmp_path)
    founding(tmp_path)
    backup = (FOUNDING / BACKUP).read_text().replace("THREADS=8", "THREADS=16")
    (tmp_path / "other.bak").write_text(backup)
    with pytest.raises(ExonerateError, match="other settings differ too: OMP_NUM_THREADS"):
        run("adopt", "TARGET_CTAS", "--was", "other.bak", "--reason", "r")
    assert listed("SGLANG_SM120_MMA_TARGET_CTAS")["standing"] is None


def interrupted(site: Path, number: signal.Signals, *, slow_s: str) -> int:
    """`knob restore` in a process of its own, ended by a signal while the service loads."""
    (site / "slow").write_text(slow_s)
    command = [sys.executable, "-m", "exonerate", "knob", "restore", "KNOB", "--yes"]
    environment = {**os.environ, "PYTHONPATH": str(Path(exonerate.__file__).parents[1])}
    with subprocess.Popen(
        command,
        cwd=site,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("restarting"):
                break
        # Those that are started on the way back are not to be slow as well.
        until((site / "loading").exists, "a service that loads")
        (site / "slow").unlink()
        os.kill(process.pid, number)
        rest = process.stderr.read()
        assert "Traceback" not in rest, rest
        return process.wait(PATIENCE_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_puts_the_old_bytes_back_before_it_ends(
    site: Path, number: signal.Signals
) -> None:
    """File, process and ledger are as before the command, and it leaves with status 130."""
    run(*REVERT, "--yes")
    reverted = (site / "serve.sh").read_bytes()
    assert interrupted(site, number, slow_s="60") == 130
    assert (site / "serve.sh").read_bytes() == reverted
    row = listed("SITE_KNOB")
    assert (row["live"], row["agrees"], row["standing"]["was"]) == ("256", True, "512")
    assert answer("restore", "KNOB", "--yes")["outcome"] == "committed"


def test_a_killed_restore_is_finished_by_the_next_command(site: Path) -> None:
    """What was cut off is said by commands that look, and ended by the next that changes."""
    original = (site / "serve.sh").read_bytes()
    run(*REVERT, "--yes")
    assert interrupted(site, signal.SIGKILL, slow_s="1") == -signal.SIGKILL
    assert "was cut off" in run("list").stderr
    result = run("restore", "KNOB", "--yes")
    assert "it is ended now" in result.stderr
    assert "committed" in result.stdout
    assert (site / "serve.sh").read_bytes() == original
    assert listed("SITE_KNOB")["agrees"] is True


def test_an_unknown_knob_is_answered_with_the_known_ones(site: Path) -> None:
    """The hint lists every knob of the deployment."""
    with pytest.raises(ExonerateError, match="has no knob `NOPE`") as error:
        run("diff", "NOPE")
    assert "SITE_KNOB, OTHER" in error.value.hint
