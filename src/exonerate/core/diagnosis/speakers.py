"""Who speaks in an error answer: the hop itself, or the engine behind it.

A refusal in the middle of a path says little by its status; its `Server` header and the kind of
its body say more. Good answers that came through the same entry show how the engine's own answers
look there, and answers to direct requests how they look at home.

- ``hop``: another `Server` than the good answers through the same entry have, or an HTML page where
  the engine's own errors are JSON: engines of completion APIs speak JSON.
- ``engine``: JSON, and the same `Server` as the engine's direct answers have, or that of a box
  which puts its name on everything and writes pages itself.

Where the headers say neither, nothing is observed: a gateway can use the engine's own framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import is_engine
from exonerate.core.diagnosis.facts import Facts, Round, Session

PAGE_WRITERS = frozenset({"nginx", "apache", "varnish", "squid", "haproxy"})
"""Boxes whose own error answers are HTML pages unless somebody configured others."""
SAME_FRAMEWORK = frozenset({"uvicorn", "hypercorn", "gunicorn", "granian"})
"""Server names of Python frameworks that engines and gateways share; they tell nobody apart."""


def spoken_by(facts: Facts, deployment: Deployment, sessions: Sequence[Session]) -> list[str]:
    """`hop` or `engine` for each failing answer of these sessions that shows who speaks."""
    engines = {hop.name for hop in deployment.hops if is_engine(hop)}
    at_home = _servers(s for s in facts.sessions if s.hop in engines)
    found = []
    for session in sessions:
        bad = session.failed
        if bad is None or bad.exchange.status is None or bad.exchange.status < 400:
            continue
        passed_on = _servers(s for s in facts.sessions if s.hop == session.hop)
        speaker = _speaker(bad, passed_on, at_home)
        if speaker is not None:
            found.append(speaker)
    return found


def _speaker(bad: Round, passed_on: set[str], at_home: set[str]) -> str | None:
    server, kind = _server(bad), _kind(bad)
    if passed_on and server not in passed_on:
        # The good answers through here name somebody else, or nobody.
        return "hop" if server not in at_home else None
    if kind == "html":
        return "hop"
    same = bool(server) and server in at_home and server not in SAME_FRAMEWORK
    return "engine" if kind == "json" and (same or server in PAGE_WRITERS) else None


def _servers(sessions: Iterable[Session]) -> set[str]:
    """The `Server` headers of good answers; an empty text where there was none."""
    return {
        _server(round_)
        for session in sessions
        for round_ in session.rounds
        if round_.outcome in ("ok", "slow")
    }


def _server(round_: Round) -> str:
    """The product without its version: `nginx/1.22.1` is `nginx`."""
    named = round_.exchange.headers.get("server", "")
    return named.split("/")[0].split(" ")[0].lower()


def _kind(round_: Round) -> str:
    named = round_.exchange.headers.get("content-type", "").split(";")[0].strip().lower()
    if named.endswith("html"):
        return "html"
    return "json" if named.endswith("json") else "other"
