"""What logs say of a hop's faces where the sockets are not seen."""

from collections.abc import Sequence
from dataclasses import replace

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.beside import Beside, LogState
from exonerate.core.diagnosis.carried import Passage
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.logged import (
    by_source,
    ended_by_next,
    logged_passage,
    unread_logs,
)
from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.matching import LogLine
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

NS = 1_000_000_000
DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")
EDGE, INNER, ENGINE = DEPLOYMENT.hops
OURS = "exonerate-00000000000000aa"
ROUND = Round(
    Exchange(
        session="victim@edge", hop="edge", round=1, request_bytes=900, request_id=OURS,
        connection=ConnectionFacts(
            ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=5001
        ),
        begun_ns=NS, ended_ns=3 * NS, given_up="deadline",
    ),
    "hang",
)  # fmt: skip
PLAN = ProbeSession(
    name="victim@edge", hop="edge", url=EDGE.url, rounds=1, connection="reuse", think_s=0.0,
    deadline_s=2.0,
    request=RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
    ),
)  # fmt: skip
SESSION = Session("s", PLAN, (ROUND,), None)
SENT = LogEntry(program="nginx", request_id=OURS, dialled=True, attempts=1)


def facts(entries: Sequence[tuple[str, LogEntry]]) -> Facts:
    """Facts with the session and these lines of hops' logs."""
    lines = tuple(LogLine(hop, entry, float(NS)) for hop, entry in entries)
    return Facts(
        scenes=(), sessions=(SESSION,), counters=(), sockets={}, own_ports=frozenset({5001}),
        began_ns=0, ended_ns=3 * NS, beside=Beside(lines),
    )  # fmt: skip


def passed(*entries: tuple[str, LogEntry]) -> Passage | None:
    """What became of the request at the edge."""
    return logged_passage(facts(entries), SESSION, ROUND, EDGE, DEPLOYMENT)


def test_the_hops_own_log_tells_whether_it_sent_the_request_on() -> None:
    """No, yes, and answered."""
    assert passed(("edge", replace(SENT, dialled=False, attempts=0))) == Passage("no", source="log")
    assert passed(("edge", SENT)) == Passage("yes", 1, elsewhere=None, source="log")
    answered = replace(SENT, upstream_bytes=400)
    assert passed(("edge", answered)) == Passage("answered", 1, elsewhere=None, source="log")


def test_retries_are_copies_and_a_strange_address_is_elsewhere() -> None:
    """What the socket look would have shown as well."""
    told = passed(("edge", replace(SENT, attempts=3, upstream="127.0.0.1:9999")))
    assert told == Passage("yes", 3, elsewhere=True, source="log")
    next_hop = passed(("edge", replace(SENT, upstream="127.0.0.1:8081")))
    assert next_hop == Passage("yes", 1, source="log")


def test_the_next_hops_log_shows_that_it_arrived() -> None:
    """Where the hop itself has no log."""
    told = passed(("inner", LogEntry(program="haproxy", request_id=OURS)))
    assert told == Passage("yes", 1, source="log")


def test_silence_of_a_log_proves_nothing() -> None:
    """A line is written when a request ends; one that hangs has none yet."""
    other = replace(SENT, request_id="exonerate-00000000000000bb")
    assert passed(("edge", other)) is None
    assert passed() is None


def test_a_log_blames_the_next_hop_only_for_what_that_did() -> None:
    """A reset or a close of the next hop; not its silence, which the hop itself ended."""
    reset, silent = replace(SENT, end="sRD"), replace(SENT, end="sZD")
    assert ended_by_next(facts([("edge", reset)]), SESSION, ROUND, EDGE)
    assert not ended_by_next(facts([("edge", silent)]), SESSION, ROUND, EDGE)


def test_an_engine_has_no_upstream_side() -> None:
    """Whatever its log holds."""
    told = facts([("engine", SENT)])
    assert logged_passage(told, SESSION, ROUND, ENGINE, DEPLOYMENT) is None


def test_an_observation_names_its_source() -> None:
    """A reader can weigh a log against a socket."""
    seen = Observation("edge", "request-left", "no", 1, 1)
    named = by_source(seen, [Passage("no", source="log")])
    assert named is not None
    assert named.text == "by its log"
    assert by_source(seen, [Passage("no")]) == seen


def test_what_could_not_be_read_is_listed() -> None:
    """A log that may not be opened, one of an unknown form, one that was too fast."""
    states = (
        ("edge", LogState(error="Permission denied")),
        ("inner", LogState(lines=9, unknown_lines=9)),
        ("engine", LogState(lines=9, skipped_bytes=77)),
        ("engine", LogState(lines=9)),
    )
    told = replace(facts([]), beside=Beside((), states))
    assert unread_logs(told) == [
        "the log of `edge`: Permission denied",
        "the log of `inner`: none of its lines is of a known format",
        "the log of `engine`: 77 bytes came too fast",
    ]
