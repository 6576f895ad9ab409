"""`exonerate snapshot`: it hangs now, and nobody may touch it."""

from __future__ import annotations

import asyncio
from functools import partial

import click

from exonerate.adapters.snapshots import take_snapshot
from exonerate.compose import page_reader, series_reader, system_clock
from exonerate.core.case.answers import objects_in
from exonerate.core.diagnosis.gpu_readings import REASONS
from exonerate.core.json_access import at, count_at, number_at, object_of
from exonerate.core.json_types import Json, JsonObject
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.capturing import capture_of
from exonerate.frontends.cli.case_options import CaseOptions, case_options, case_to_write
from exonerate.frontends.cli.output import print_json
from exonerate.jobs.snapshot import read_metrics, record_snapshot, snapshot


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate snapshot --pid 4711\n"
    "  exonerate snapshot -c exonerate.toml --metrics --json"
)
@click.option("--pid", "pids", type=int, multiple=True, help="A process to look at; repeatable.")
@click.option(
    "--packets", is_flag=True, help="Watch packets between the looks as well; needs root."
)
@click.option("--metrics", is_flag=True, help="Read the metrics pages too: one request each.")
@case_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    pids: tuple[int, ...], packets: bool, metrics: bool, where: CaseOptions, as_json: bool
) -> int:
    """Look at processes and at the hops of the deployment, and send nothing to anybody.

    Sockets and their queues, threads and what they wait in, file descriptors and the ends of logs,
    twice and a second apart. It says what is worth a closer look; it convicts nobody.
    """
    deployment = where.deployment()
    hops = deployment.hops if deployment is not None else ()
    if not hops and not pids:
        raise ExonerateError(
            "there is nothing to look at", "name a process with `--pid`, or a file with `-c FILE`"
        )
    if packets and deployment is None:
        raise ExonerateError(
            "`--packets` watches the ports of hops, and there are none",
            "name a file with `-c FILE`",
        )
    with capture_of(deployment, wanted=packets) as capture:
        taken = partial(take_snapshot, capture=capture)
        answer: dict[str, Json] = {**snapshot(hops, pids, take=taken)}
    if metrics:
        pages = read_metrics(hops, get=page_reader(deployment), read_counters=series_reader())
        answer["metrics"] = dict(asyncio.run(pages))
    ledger, book = where.open_book()
    case = case_to_write(where, ledger, book, title="a hang, looked at", symptom="hang")
    answer["case"] = case.id
    answer["evidence"] = record_snapshot(answer, case=case, book=book, clock=system_clock())
    if as_json:
        print_json(answer)
    else:
        _print(answer)
    return exit_status.FINDING if answer["suggestions"] else exit_status.DONE


def _print(answer: JsonObject) -> None:
    for hop in objects_in(answer, "hops"):
        states = at(hop, "connections")
        shown = ", ".join(f"{n} {s}" for s, n in states.items()) if isinstance(states, dict) else ""
        here = "" if at(hop, "listens_here") else ", not listening on this host"
        click.echo(f"hop {hop['hop']}: port {hop['port']}{here}; connections: {shown or 'none'}")
    for process in objects_in(answer, "processes"):
        _print_process(process)
    for connection in objects_in(object_of(answer.get("packets")), "connections"):
        _print_connection(connection)
    for gpu in objects_in(object_of(answer.get("gpus")), "gpus"):
        click.echo(_gpu_line(gpu))
    for missing in _list(answer, "not_seen"):
        click.echo(f"not seen: {missing}")
    found = objects_in(answer, "suggestions")
    click.echo("\nWorth a closer look:" if found else "\nNothing remarkable in this one look.")
    for suggestion in found:
        fits = ", ".join(str(name) for name in _list(suggestion, "fits"))
        click.echo(f"  {suggestion['about']}: {suggestion['saw']}")
        click.echo(f"    {f'fits {fits}; ' if fits else ''}{suggestion['decide']}")
    click.echo(
        f"\nOne look convicts nobody. Recorded in case {answer['case']}; "
        "`exonerate locate` decides by experiment."
    )


def _gpu_line(gpu: JsonObject) -> str:
    """What one GPU says of itself, without what it does not say."""
    heat, busy = number_at(gpu, "temperature_c"), number_at(gpu, "busy")
    used, total = number_at(gpu, "memory_used_mib"), number_at(gpu, "memory_total_mib")
    known = [
        None if heat is None else f"{heat:.0f} degrees",
        None if busy is None else f"{busy:.0%} busy",
        None if used is None or total is None else f"{used:.0f} of {total:.0f} MiB",
        *(REASONS.get(str(reason)) for reason in _list(gpu, "slowed")),
    ]
    shown = ", ".join(part for part in known if part is not None)
    return f"GPU {at(gpu, 'index')} ({at(gpu, 'bus') or '?'}): {shown or 'says nothing'}"


def _print_process(process: JsonObject) -> None:
    sockets = objects_in(process, "sockets")
    queues = [
        f"{row['peer']}:{row['peer_port']} {row['state']} "
        f"(unread {row['unread_bytes']}, unsent {row['unsent_bytes']})"
        for row in sockets
        if row["unread_bytes"] or row["unsent_bytes"] or row["state"] != "ESTABLISHED"
    ]
    roles = ", ".join(str(name) for name in _list(process, "is"))
    share = process["cpu_share"]
    click.echo(
        f"process {process['pid']} {process['program']} ({roles}): cpu {share:.0%}, "
        f"{process['open_files']} files, {len(sockets)} connections"
    )
    for line in queues[:10]:
        click.echo(f"  {line}")
    waits = {str(at(thread, "waits_in")) for thread in objects_in(process, "threads")}
    click.echo(f"  threads wait in: {', '.join(sorted(waits)) or 'unknown'}")


def _print_connection(connection: JsonObject) -> None:
    turns = objects_in(connection, "turns")
    sent = sum(count_at(turn, "request_bytes") or 0 for turn in turns)
    came = sum(count_at(turn, "answer_bytes") or 0 for turn in turns)
    ends = ", ".join(f"{end['who']} {end['how']}" for end in objects_in(connection, "ends"))
    click.echo(
        f"packets: port {connection['client_port']} to {connection['server']}:"
        f"{connection['server_port']}: {sent} bytes sent, {came} came back"
        f"{f'; {ends}' if ends else ''}"
    )


def _list(answer: JsonObject, name: str) -> list[Json]:
    items = answer.get(name)
    return list(items) if isinstance(items, list | tuple) else []
