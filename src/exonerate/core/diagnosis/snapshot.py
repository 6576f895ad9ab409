"""What a snapshot suggests: never a verdict, for one look shows a state and not its cause.

Each suggestion names what was seen, which classes of suspects it fits, and what would decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exonerate.core.diagnosis.gpu_readings import REASONS, XIDS, gpu_from_json
from exonerate.core.json_access import at, count_at, number_at, object_of, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.wire.packets.seen import capture_from_json

FILES_SHARE = 0.95
BUSY_SHARE = 0.9
XID_AGE_S_MAX = 24 * 3600.0
KILLED_AGE_S_MAX = 3600.0
_USUAL = frozenset({"sw_power_cap"})
LOCKS = frozenset({"futex_wait_queue", "futex_wait_queue_me", "futex_do_wait", "futex_wait"})

LOG_SIGNALS: Mapping[str, re.Pattern[str]] = {
    "too many open files": re.compile(r"too many open files|EMFILE", re.IGNORECASE),
    "timed out towards the next hop": re.compile(
        r"timed out while reading|upstream timed out|read timeout|sH--|sD--", re.IGNORECASE
    ),
    "the client closed first": re.compile(r"\s499\s|client (?:prematurely )?closed", re.IGNORECASE),
    "the next hop refused or reset": re.compile(
        r"connection refused|reset by peer|SC--|upstream prematurely closed", re.IGNORECASE
    ),
    # Not that one was set up, which engines write as well.
    "a watchdog spoke": re.compile(
        r"watchdog timeout|watchdog caught|shared memory broadcast block found", re.IGNORECASE
    ),
    "out of memory": re.compile(r"out of memory|OOM", re.IGNORECASE),
    "a GPU error": re.compile(r"\bXid\b|CUDA error|NCCL error", re.IGNORECASE),
}
"""Phrases of nginx, HAProxy (its termination states), engines and kernels, by what they mean."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing that is worth a closer look."""

    about: str
    saw: str
    fits: tuple[str, ...]
    decide: str

    def to_json(self) -> JsonObject:
        """For the answer."""
        return {
            "about": self.about,
            "saw": self.saw,
            "fits": list(self.fits),
            "decide": self.decide,
        }


def suggestions(snapshot: JsonObject) -> list[Suggestion]:
    """Everything remarkable in a snapshot, hops first."""
    found: list[Suggestion] = []
    for hop in _objects(snapshot, "hops"):
        found.extend(_of_hop(hop))
    for process in _objects(snapshot, "processes"):
        found.extend(_of_process(process))
    found.extend(_of_packets(object_of(snapshot.get("packets"))))
    found.extend(_of_gpus(object_of(snapshot.get("gpus"))))
    return found


def log_signals(lines: Json) -> dict[str, int]:
    """How often each known phrase stands in the tail of a log; the lines themselves stay out."""
    texts = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    counts = {
        name: sum(bool(pattern.search(line)) for line in texts)
        for name, pattern in LOG_SIGNALS.items()
    }
    return {name: count for name, count in counts.items() if count}


def recorded(snapshot: JsonObject) -> JsonObject:
    """What a case may keep: log lines can quote prompts, so that only their signals stay."""
    hops = []
    for hop in _objects(snapshot, "hops"):
        kept = {name: value for name, value in hop.items() if name != "log_tail"}
        hops.append({**kept, "log_signals": log_signals(hop.get("log_tail"))})
    processes = [
        {name: value for name, value in process.items() if name != "stack"}
        for process in _objects(snapshot, "processes")
    ]
    return {**snapshot, "hops": hops, "processes": processes}


def _of_hop(hop: JsonObject) -> Iterator[Suggestion]:
    name = text_at(hop, "hop") or "?"
    queue, limit = count_at(hop, "accept_queue") or 0, count_at(hop, "accept_queue_limit") or 0
    if queue:
        yield Suggestion(
            name,
            f"{queue} connections wait to be accepted (limit {limit})",
            ("fd-exhausted", "scheduler-stuck", "host-starved"),
            "is it out of file descriptors, or does its loop stand still? look at its stack",
        )
    for signal, count in log_signals(hop.get("log_tail")).items():
        yield Suggestion(
            name,
            f"its log says {count} times: {signal}",
            (),
            "a log can frame the one who writes it: ask both sides (`exonerate locate`)",
        )


def _of_packets(packets: JsonObject) -> Iterator[Suggestion]:
    """What the connections to the hops did between the two looks, as far as packets showed it."""
    if not packets:
        return
    for connection in capture_from_json(packets).connections:
        about = f"packets to {connection.server}:{connection.server_port}"
        again = sum(turn.unanswered + turn.answer_unanswered for turn in connection.turns)
        tried = connection.answered_ns is None and connection.opened_ns is not None
        if again or (tried and connection.syn_again):
            yield Suggestion(
                about,
                f"port {connection.client_port} sends {'a SYN' if tried else 'the same'} again and "
                "nobody answers",
                ("silent-drop", "mtu-black-hole"),
                "a program that is stuck has a kernel that answers: look at the way between them",
            )
        if connection.server_zero_windows:
            yield Suggestion(
                about,
                f"its kernel takes no more bytes from port {connection.client_port}",
                ("scheduler-stuck", "frontend-lost"),
                "the program does not read what has come; look at its stack",
            )
        for end in connection.ends[:1]:
            if end.how == "reset":
                yield Suggestion(
                    about,
                    f"the {end.who} (port {connection.client_port}) reset the connection first",
                    ("stale-reuse",) if end.who == "server" else ("client-timer",),
                    "what did it want to end? its log at that moment may say so",
                )


def _of_process(process: JsonObject) -> Iterator[Suggestion]:
    names = process.get("is")
    roles = ", ".join(str(n) for n in names) if isinstance(names, list | tuple) else ""
    about = f"{text_at(process, 'program') or 'process'} {text_at(process, 'pid')} ({roles})"
    held, limit = count_at(process, "open_files"), count_at(process, "open_files_limit")
    if held is not None and limit and held >= FILES_SHARE * limit:
        yield Suggestion(
            about,
            f"it holds {held} of {limit} file descriptors",
            ("fd-exhausted",),
            "raise its limit (`ulimit -n`, `LimitNOFILE=`), or find what it does not close",
        )
    yield from _of_threads(about, process)
    given = isinstance(names, list | tuple) and "given" in names
    yield from _of_sockets(about, process, is_client=given)


def _of_threads(about: str, process: JsonObject) -> Iterator[Suggestion]:
    threads = _objects(process, "threads")
    if threads and all(text_at(thread, "waits_in") in LOCKS for thread in threads):
        yield Suggestion(
            about,
            f"all of its {len(threads)} threads wait for a lock",
            ("client-deadlock", "scheduler-stuck"),
            "look again: if they still do, its stacks show who holds what (`py-spy dump`)",
        )
    share = number_at(process, "cpu_share") or 0.0
    if share >= BUSY_SHARE:
        yield Suggestion(
            about,
            f"it used {share:.0%} of a processor between the two looks",
            ("host-starved",),
            "computing is no hang: see whether it gets on",
        )


def _of_sockets(about: str, process: JsonObject, *, is_client: bool) -> Iterator[Suggestion]:
    sockets = _objects(process, "sockets")
    still = [row for row in sockets if at(row, "stood_still") is True]
    unread = [row for row in still if count_at(row, "unread_bytes")]
    if unread:
        size = sum(count_at(row, "unread_bytes") or 0 for row in unread)
        yield Suggestion(
            about,
            f"{size} bytes lie unread on {len(unread)} of its connections, in both looks",
            ("client-deadlock",) if is_client else ("scheduler-stuck", "frontend-lost"),
            "who has the bytes and does not read them is the one that waits; look at its stack",
        )
    closing = [row for row in still if text_at(row, "state") == "CLOSE_WAIT"]
    if closing:
        yield Suggestion(
            about,
            f"{len(closing)} connections were closed by the other side and not by it",
            ("pool-exhausted", "stale-reuse") if is_client else ("stale-upstream-pool",),
            "a pool that keeps them will ask on one of them",
        )
    unsent = [row for row in still if count_at(row, "unsent_bytes")]
    if unsent:
        again = sum(count_at(row, "retransmits") or 0 for row in unsent)
        fits = ("silent-drop", "mtu-black-hole") if again else ("scheduler-stuck",)
        yield Suggestion(
            about,
            f"{len(unsent)} connections hold bytes that the other side has not taken "
            f"({again} retransmissions)",
            fits,
            "without retransmissions the reader stands still; with them the network does",
        )
    dialling = [row for row in still if text_at(row, "state") == "SYN_SENT"]
    if dialling:
        peers = sorted({f"{row.get('peer')}:{row.get('peer_port')}" for row in dialling})
        yield Suggestion(
            about,
            f"it has been connecting to {', '.join(peers)} in both looks",
            ("silent-drop", "fd-exhausted", "env-proxy"),
            "is anybody listening there, and is that where it should go?",
        )


def _of_gpus(looked: JsonObject) -> Iterator[Suggestion]:
    """GPUs that failed, or that hardware slows down; a power limit is reached in healthy work."""
    if text_at(looked, "error") in ("lost", "no-answer"):
        yield Suggestion(
            "the GPUs of this host",
            "`nvidia-smi` cannot reach one, or did not answer",
            ("scheduler-stuck", "engine-restart"),
            "does the kernel's log name an Xid? then move the load, and reset the device",
        )
    for gpu in map(gpu_from_json, _objects(looked, "gpus")):
        if gpu.broken:
            yield Suggestion(
                f"GPU {gpu.index}",
                "it cannot be used",
                ("scheduler-stuck", "engine-restart"),
                "move the load to other devices, and reset it",
            )
        slowed = [REASONS[reason] for reason in gpu.slowed if reason in REASONS.keys() - _USUAL]
        if slowed:
            heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c:.0f} degrees"
            yield Suggestion(
                f"GPU {gpu.index}",
                f"its clocks are held down{heat}: {', '.join(slowed)}",
                ("saturated", "long-prefill"),
                "cooling and power supply; slow is no hang: see whether it gets on",
            )
    for said in _objects(looked, "kernel"):
        code, age_s = count_at(said, "code") or 0, number_at(said, "age_s") or 0.0
        if code in XIDS and age_s <= XID_AGE_S_MAX:
            yield Suggestion(
                f"the GPU on {text_at(said, 'bus') or '?'}",
                f"Xid {code}, {age_s / 60:.0f} min ago: {XIDS[code]}",
                ("scheduler-stuck", "engine-restart"),
                "did the hang begin then? move the load, and reset the device",
            )
        elif text_at(said, "word") == "killed-for-memory" and age_s <= KILLED_AGE_S_MAX:
            yield Suggestion(
                "this host",
                f"{age_s / 60:.0f} min ago its kernel killed a process for want of memory",
                ("engine-restart",),
                "is it one of the engine's? its log and `dmesg` say which",
            )


def _objects(value: Json, name: str) -> list[JsonObject]:
    items = object_of(value).get(name)
    return [object_of(item) for item in items] if isinstance(items, list | tuple) else []
