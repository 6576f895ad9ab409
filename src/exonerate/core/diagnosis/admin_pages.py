"""Pages of counters of proxies and routers: text in, a few canonical numbers out.

HAProxy's statistics (CSV, or its Prometheus exporter), Envoy's `/stats` (plain or Prometheus) and
`/clusters`, nginx's `stub_status`, Caddy's metrics and list of upstreams, sglang-router's metrics
and list of workers. A page is known by its form. Names of columns and series as the programs that
recorded the samples of the tests write them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from exonerate.core.json_access import at, number_at, object_of, parse_json
from exonerate.core.wire.exposition import Sample, parse_exposition

AdminName: TypeAlias = Literal[
    "requests_in",  # requests taken so far (counter)
    "requests_up",  # requests sent on so far, tries included (counter)
    "retries",  # tries after the first so far (counter)
    "connections_up",  # connections towards next hops (gauge)
    "in_flight",  # requests under way towards next hops (gauge)
    "queued",  # requests that wait in the hop (gauge)
    "workers",  # next hops it knows (gauge)
    "workers_up",  # of these, those that it would ask (gauge)
    "breaker_open",  # next hops ejected, marked down, or behind an open breaker (gauge)
    "watchdog_s",  # an engine's: without a step for so long, its watchdog speaks and may end it
    "soft_watchdog_s",  # the same of one that only speaks
]
Values: TypeAlias = Mapping[str, float]

_STATUS_COLUMNS = ("pxname", "svname", "status", "stot")
_ENVOY_STAT = re.compile(r"(?P<name>(?:cluster|http)\.[^:\s]+): (?P<value>\d+)$")
_ENVOY_HOST = re.compile(r"(?P<cluster>[^:]+)::(?P<host>\S+:\d+)::(?P<name>\w+)::(?P<value>.*)")
_STUB = re.compile(
    r"Active connections: (\d+)\s+server accepts handled requests\s+\d+ \d+ (\d+)\s+"
    r"Reading: (\d+) Writing: (\d+) Waiting: (\d+)"
)
_BREAKERS = ("cx_open", "rq_open", "rq_pending_open", "cx_pool_open")
CSV_ROWS_MAX = 10_000


def read_admin_page(text: str) -> tuple[str | None, Values]:
    """The program that a page belongs to, and its canonical values; None for an unknown page."""
    for kind, reader in _READERS:
        values = reader(text)
        if values:
            return kind, values
    return None, {}


def _haproxy_csv(text: str) -> Values:
    if not text.startswith("# pxname,"):
        return {}
    lines = text[2:].splitlines()[:CSV_ROWS_MAX]
    try:
        rows = list(csv.DictReader(lines))
    except csv.Error:
        return {}
    if not rows or any(name not in rows[0] for name in _STATUS_COLUMNS):
        return {}
    fronts = [row for row in rows if row["svname"] == "FRONTEND"]
    servers = [row for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")]
    down = [row for row in servers if (row["status"] or "").startswith(("DOWN", "NOLB"))]
    return {
        "requests_in": _total(fronts, "req_tot") - _total(fronts, "intercepted"),
        "requests_up": _total(servers, "stot"),
        "retries": _total(servers, "wretr"),
        "in_flight": _total(servers, "scur"),
        "connections_up": _total(servers, "scur") + _total(servers, "idle_conn_cur"),
        "queued": _total([row for row in rows if row["svname"] == "BACKEND"], "qcur"),
        "workers": float(len(servers)),
        "workers_up": float(len(servers) - len(down)),
        "breaker_open": float(len(down)),
    }


def _total(rows: Sequence[Mapping[str, str | None]], column: str) -> float:
    return float(sum(int(value) for row in rows if (value := row.get(column) or "").isdecimal()))


def _envoy_stats(text: str) -> Values:
    found = [matched for line in text.splitlines() if (matched := _ENVOY_STAT.fullmatch(line))]
    if not found:
        return {}
    pairs = [(m["name"], float(m["value"][:15])) for m in found]
    return _envoy([(name.partition(".")[0], name, value) for name, value in pairs])


def _envoy_prometheus(samples: Sequence[Sample]) -> Values:
    rows = []
    for sample in samples:
        labels = sample.labels
        owner = labels.get("envoy_cluster_name") or labels.get("envoy_http_conn_manager_prefix")
        for section in ("cluster", "http"):
            prefix = f"envoy_{section}_"
            if sample.name.startswith(prefix):
                name = sample.name.removeprefix(prefix).replace("default_", "default.")
                rows.append((section, f"{section}.{owner}.{name}", sample.value))
    return _envoy(rows)


def _envoy(rows: Sequence[tuple[str, str, float]]) -> Values:
    """From (section, full name, value); Envoy's own admin listener is no traffic."""

    def total(section: str, *ends: str) -> float:
        return sum(
            value
            for own, name, value in rows
            if own == section and name.endswith(ends) and not name.startswith("http.admin.")
        )

    if not any(section == "cluster" for section, _, _ in rows):
        return {}
    ejected = total("cluster", "ejections_active")
    limits = total("cluster", *(f"circuit_breakers.default.{name}" for name in _BREAKERS))
    limits += total("cluster", *(f"circuit_breakers_default.{name}" for name in _BREAKERS))
    members = total("cluster", "membership_total")
    healthy = total("cluster", "membership_healthy")
    return {
        "requests_in": total("http", ".downstream_rq_total"),
        # Tries that met no connection are not counted as requests by Envoy.
        "requests_up": total("cluster", ".upstream_rq_total"),
        "retries": total("cluster", ".upstream_rq_retry"),
        "connections_up": total("cluster", ".upstream_cx_active"),
        "in_flight": total("cluster", ".upstream_rq_active"),
        "queued": total("cluster", ".upstream_rq_pending_active"),
        "workers": members,
        "workers_up": max(0.0, healthy - ejected),
        "breaker_open": ejected + limits + max(0.0, members - healthy),
    }


def _envoy_clusters(text: str) -> Values:
    hosts: dict[tuple[str, str], dict[str, str]] = {}
    for line in text.splitlines():
        matched = _ENVOY_HOST.fullmatch(line)
        if matched is not None:
            host = hosts.setdefault((matched["cluster"], matched["host"]), {})
            host[matched["name"]] = matched["value"]
    if not hosts:
        return {}
    flags = [host.get("health_flags", "healthy") for host in hosts.values()]
    up = sum(flag == "healthy" for flag in flags)
    # Limits of a cluster that are reached do not show here.
    ejected = {"breaker_open": float(len(flags) - up)} if up < len(flags) else {}
    return ejected | {
        "requests_up": _hosts_total(hosts.values(), "rq_total"),
        "connections_up": _hosts_total(hosts.values(), "cx_active"),
        "in_flight": _hosts_total(hosts.values(), "rq_active"),
        "workers": float(len(flags)),
        "workers_up": float(up),
    }


def _hosts_total(hosts: Iterable[Mapping[str, str]], name: str) -> float:
    values = [host.get(name, "") for host in hosts]
    return float(sum(int(value) for value in values if value.isascii() and value.isdecimal()))


def _nginx_stub(text: str) -> Values:
    matched = _STUB.match(text.strip()[:1000])
    if matched is None:
        return {}
    # The page's own request is one of those that are written; it counts itself.
    return {"in_flight": max(0.0, float(matched[4][:15]) - 1)}


def _smg(samples: Sequence[Sample]) -> Values:
    totals: dict[str, float] = {}
    for sample in samples:
        totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
    if not any(name.startswith("smg_") for name in totals):
        return {}
    names: Mapping[AdminName, str] = {
        "requests_in": "smg_router_requests_total",
        "requests_up": "smg_worker_selection_total",
        "retries": "smg_worker_retries_total",
        "in_flight": "smg_worker_requests_active",
        "workers": "smg_worker_pool_size",
    }
    values = {name: totals[series] for name, series in names.items() if series in totals}
    # 0 closed, 1 open, 2 half open: one trial request passes.
    states = [s.value for s in samples if s.name == "smg_worker_cb_state"]
    health = [s.value for s in samples if s.name == "smg_worker_health"]
    broken = sum(state == 1 for state in states) + sum(value == 0 for value in health)
    if states or health:
        values["breaker_open"] = float(broken)
        values["workers_up"] = float(max(0, len(health or states) - broken))
    return {str(name): value for name, value in values.items()}


def _caddy(samples: Sequence[Sample]) -> Values:
    """Caddy's gauge of healthy upstreams lags: only its "down" is believed."""
    healthy = [s.value for s in samples if s.name == "caddy_reverse_proxy_upstreams_healthy"]
    in_flight = [
        s.value
        for s in samples
        if s.name == "caddy_http_requests_in_flight" and s.labels.get("handler") == "reverse_proxy"
    ]
    values: dict[str, float] = {}
    if in_flight:
        values["in_flight"] = sum(in_flight)
    if healthy:
        values |= {"workers": float(len(healthy)), "workers_up": sum(healthy)}
    if any(value == 0 for value in healthy):
        values["breaker_open"] = float(healthy.count(0.0))
    return values


def _haproxy_prometheus(samples: Sequence[Sample]) -> Values:
    def total(name: str) -> float:
        return sum(sample.value for sample in samples if sample.name == name)

    states = [s for s in samples if s.name == "haproxy_server_status" and s.value == 1]
    if not states:
        return {}
    down = sum(sample.labels.get("state") in ("DOWN", "NOLB") for sample in states)
    return {
        "requests_in": total("haproxy_frontend_http_requests_total")
        - total("haproxy_frontend_intercepted_requests_total"),
        "requests_up": total("haproxy_server_sessions_total"),
        "retries": total("haproxy_server_retry_warnings_total"),
        "in_flight": total("haproxy_server_current_sessions"),
        "queued": total("haproxy_backend_current_queue"),
        "workers": float(len(states)),
        "workers_up": float(len(states) - down),
        "breaker_open": float(down),
    }


def _json_lists(text: str) -> Values:
    """sglang-router's `/workers`, or Caddy's `/reverse_proxy/upstreams`."""
    value = parse_json(text) if text[:1] in ("{", "[") else None
    workers = at(value, "workers")
    if isinstance(workers, list):
        up = sum(object_of(worker).get("is_healthy") is True for worker in workers)
        load = sum(number_at(worker, "load") or 0.0 for worker in workers)
        counts = {"workers": float(len(workers)), "workers_up": float(up), "in_flight": load}
        # A worker behind an open breaker is still called healthy here.
        return counts | ({"breaker_open": float(len(workers) - up)} if up < len(workers) else {})
    if isinstance(value, list) and value and number_at(value, 0, "num_requests") is not None:
        load = sum(number_at(one, "num_requests") or 0.0 for one in value)
        return {"workers": float(len(value)), "in_flight": load}
    return {}


def _exposition(read: Callable[[Sequence[Sample]], Values]) -> Callable[[str], Values]:
    return lambda text: read(parse_exposition(text))


def _engine_settings(text: str) -> Values:
    """SGLang's `/server_info`: its settings as they were resolved (0.5.23, `fields/device.py`)."""
    told = parse_json(text) if text.startswith("{") else None
    named = {"watchdog_s": "watchdog_timeout", "soft_watchdog_s": "soft_watchdog_timeout"}
    found = {ours: number_at(told, theirs) for ours, theirs in named.items()}
    return {name: seconds for name, seconds in found.items() if seconds is not None and seconds > 0}


_READERS: tuple[tuple[str, Callable[[str], Values]], ...] = (
    ("haproxy", _haproxy_csv),
    ("envoy", _envoy_stats),
    ("envoy", _envoy_clusters),
    ("nginx", _nginx_stub),
    ("proxy", _json_lists),
    ("engine-settings", _engine_settings),
    ("sglang-router", _exposition(_smg)),
    ("haproxy", _exposition(_haproxy_prometheus)),
    ("envoy", _exposition(_envoy_prometheus)),
    ("caddy", _exposition(_caddy)),
)
