"""`exonerate snapshot`: it hangs now, and nobody may touch it."""

from __future__ import annotations

import asyncio

import click

from exonerate.compose import page_reader, series_reader, snapshot_taker, system_clock
from exonerate.core.case.answers import objects_in
from exonerate.core.diagnosis.gpu_readings import REASONS
from exonerate.core.json_access import at, number_at, object_of
from exonerate.core.json_types import Json, JsonObject
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_options, case_to_write
from exonerate.frontends.cli.output import print_json
from exonerate.jobs.snapshot import read_metrics, record_snapshot, snapshot


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate snapshot --pid 4711\n"
    "  exonerate snapshot -c exonerate.toml --metrics --json"
)
@click.option("--pid", "pids", type=int, multiple=True, help="A process to look at; repeatable.")
@click.option("--metrics", is_flag=True, help="Read the metrics pages too: one request each.")
@case_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(pids: tuple[int, ...], metrics: bool, where: CaseOptions, as_json: bool) -> int:
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
    answer: dict[str, Json] = {**snapshot(hops, pids, take=snapshot_taker())}
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


def _list(answer: JsonObject, name: str) -> list[Json]:
    items = answer.get(name)
    return list(items) if isinstance(items, list | tuple) else []
