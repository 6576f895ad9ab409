"""What every ledger promises, whichever database is under it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exonerate.adapters.ledger import SqlLedger
from exonerate.core.case.records import first_broken
from exonerate.errors import ExonerateError

APPEND_LOOP = Path(__file__).parent / "append_loop.py"


def appending(address: str, keys: Path, case: str, count: int) -> subprocess.Popen[str]:
    """A process that appends to the ledger and prints each number that was acknowledged."""
    return subprocess.Popen(
        [sys.executable, str(APPEND_LOOP), address, str(keys), case, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


def note(ledger: SqlLedger, text: str = "seen", case: str = "c1", run: str | None = None) -> int:
    """Append a comment; returns its number."""
    body = {"text": text, "by": "ann"}
    return ledger.append(case=case, kind="comment", body=body, run=run).seq


def test_ledger_that_was_never_written_is_empty(ledger: SqlLedger) -> None:
    """Reading before anything was recorded gives nothing, and a whole chain."""
    assert ledger.records() == []
    assert (ledger.check_chain().first_bad, ledger.check_chain().records) == (None, 0)


def test_records_come_back_as_they_were_appended(
    opened: Callable[[], SqlLedger], ledger: SqlLedger
) -> None:
    """Another process reads exactly the records that were acknowledged, in order."""
    written = [
        ledger.append(case="c1", kind="case_opened", body={"title": "Hang", "n": 1, "x": [1.5]}),
        ledger.append(
            case="c1", kind="comment", body={"text": "tea ☕ \x00", "by": "ann"}, run="r"
        ),
        ledger.append(case="c2", kind="case_opened", body={}),
    ]
    assert list(opened().records()) == written
    assert first_broken(written) is None


def test_records_are_found_by_case_and_run(ledger: SqlLedger) -> None:
    """A case, or one run of it, can be read alone."""
    for case, run in [("c1", None), ("c1", "r1"), ("c2", "r2"), ("c1", "r2")]:
        note(ledger, case=case, run=run)
    assert [record.seq for record in ledger.records(case="c1")] == [1, 2, 4]
    assert [record.seq for record in ledger.records(case="c1", run="r2")] == [4]
    assert [record.seq for record in ledger.records(run="r2")] == [3, 4]


def test_blob_comes_back_and_is_named_by_its_hash(ledger: SqlLedger) -> None:
    """The same bytes are stored once and come back whole."""
    content = bytes(range(256)) * 40
    name = ledger.put_blob(content)
    assert ledger.put_blob(content) == name
    assert ledger.get_blob(name) == content


@pytest.mark.parametrize("name", ["0" * 64, "../../etc/passwd", ""])
def test_unknown_blob_is_refused(ledger: SqlLedger, name: str) -> None:
    """Raw data that is not there is an error that names it, whatever the name looks like."""
    with pytest.raises(ExonerateError, match="no raw data"):
        ledger.get_blob(name)


def test_planted_token_is_hashed_and_noted(ledger: SqlLedger) -> None:
    """A secret that a job let through is replaced before it is stored, and the record says so."""
    record = ledger.append(
        case="c1", kind="comment", body={"text": "curl -H 'Authorization: Bearer abc123XYZ'"}
    )
    assert "abc123XYZ" not in str(record.body)
    assert record.body["redacted"] == ["text"]
    assert list(ledger.records()) == [record]


def test_two_processes_share_one_whole_chain(
    address: str, tmp_path: Path, ledger: SqlLedger
) -> None:
    """Two processes that append at the same time from the first record on break nothing."""
    processes = [appending(address, tmp_path / "key", case, 40) for case in ("a", "b")]
    acknowledged = [process.communicate(timeout=110)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    chain = ledger.check_chain()
    assert (chain.first_bad, chain.records) == (None, 80)
    assert sorted(int(seq) for part in acknowledged for seq in part) == list(range(1, 81))
    assert {record.case for record in chain.sound} == {"a", "b"}


@pytest.mark.parametrize("seed", range(6))
def test_killed_process_leaves_every_acknowledged_record(
    address: str, tmp_path: Path, ledger: SqlLedger, seed: int
) -> None:
    """After a kill at any moment every acknowledged record is there and appending goes on."""
    chance = random.Random(seed)
    process = appending(address, tmp_path / "key", "killed", 10_000)
    assert process.stdout is not None
    for _ in range(chance.randint(0, 12)):
        process.stdout.readline()
    time.sleep(chance.uniform(0, 0.03))
    process.send_signal(signal.SIGKILL)
    acknowledged = [int(line) for line in process.stdout.read().split()]
    process.wait(timeout=60)
    process.stdout.close()
    chain = ledger.check_chain()
    assert chain.first_bad is None
    assert chain.records >= max(acknowledged, default=0)
    assert note(ledger) == chain.records + 1
    assert ledger.check_chain().first_bad is None


secrets = st.text("abcdefghkmnpqrstuvwxyzABCDEFGH23456789", min_size=12, max_size=24)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(secret=secrets)
def test_secret_never_reaches_the_disk(ledger: SqlLedger, tmp_path: Path, secret: str) -> None:
    """Wherever a secret hides in a record, neither the ledger nor any file of it holds it."""
    record = ledger.append(
        case="c1",
        kind="run_started",
        body={
            "headers": [["X-Tenant-Key", secret], ["Cookie", f"a={secret}"]],
            "url": f"http://user:{secret}@edge:8080/v1?api_key={secret}&v=1",
            "argv": ["serve", "--api-key", secret, f"--hf-token={secret}"],
            "nested": [{"api_key": secret, "why": f"password: {secret}"}],
            "log": f"authorization: Bearer {secret}",
            "messages": [{"role": "user", "content": f"my name is {secret}"}],
        },
    )
    assert secret not in str(record)
    assert secret not in str(ledger.records())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in files)
