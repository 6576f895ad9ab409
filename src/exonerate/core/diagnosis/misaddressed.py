"""Hops whose address takes no completion at all: a health page, a dashboard, a redirect, a 404.

Nothing of the path can be learnt from what stands there, and nobody is accused or cleared by it:
such a hop may be well at another address, with another model, or may lack the route that the
victim asks. Only what holds for every answer counts; a hop that answers so now and then is judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from exonerate.core.diagnosis.facts import ERROR_EVENT, UNREAD, Round, Session
from exonerate.core.wire.exchange import Exchange

ABSENT = (404, 405)
"""No such path or model here; no such method here (a page that can only be read)."""
FORBIDDEN, MISTAKEN = frozenset({401, 403}), frozenset({400, 422})
"""What a hop also says to a key, or to a model or a field, that it does not know."""
COMPLETION_PATHS = ("/completions", "/responses", "/messages")


def misaddressed(sessions: Iterable[Session], hop: str) -> str | None:
    """What the hop says instead of completions, if it never said anything else."""
    said = {
        _instead(round_, session.plan.request.path)
        for session in sessions
        if session.hop == hop
        for round_ in session.rounds
        if round_.outcome != "unfinished"
    }
    if not said or None in said:
        return None
    return " and ".join(sorted(str(text) for text in said))


def refuses_all(sessions: Iterable[Session], hop: str) -> int | None:
    """The status with which the hop refused all that it was asked, where the asking may be why."""
    met = [
        round_
        for session in sessions
        if session.hop == hop
        for round_ in session.rounds
        if round_.outcome != "unfinished"
    ]
    said = {round_.exchange.status for round_ in met}
    return said.pop() if len(said) == 1 and all(map(asked_wrongly, met)) else None


def asked_wrongly(round_: Round) -> bool:
    """Whether the answer may be meant for a wrong key, model or field of the request.

    A web server that does not like the head of a request says so with 400 and a page of its own;
    whoever has read the JSON of a completion answers in JSON, or in plain words.
    """
    status = round_.exchange.status
    return status in FORBIDDEN or (status in MISTAKEN and not _in_html(round_.exchange))


def _in_html(exchange: Exchange) -> bool:
    return _content_type(exchange).endswith("html")


def _content_type(exchange: Exchange) -> str:
    return exchange.headers.get("content-type", "").split(";")[0].strip().lower()


def _instead(round_: Round, path: str) -> str | None:
    exchange = round_.exchange
    status = exchange.status
    if status is None or exchange.given_up != "no":
        return None
    if 300 <= status < 400:
        return f"redirects ({status}{_to(exchange)})"
    if status in ABSENT:
        return f"answers {status}"
    return _page(exchange, path) if 200 <= status < 300 and exchange.body_complete else None


def _to(exchange: Exchange) -> str:
    """Where a redirect leads, without what may be secret in it."""
    parts = urlsplit(exchange.headers.get("location", ""))
    return (
        f" to {parts.scheme}://{parts.netloc}" if parts.netloc and "@" not in parts.netloc else ""
    )


def _page(exchange: Exchange, path: str) -> str | None:
    """What a good answer is where it is none to a completion; None where it is one, or may be."""
    content = exchange.content
    counted = content.finish_reason is not None or content.completion_tokens is not None
    if content.meaningful_events or counted or {ERROR_EVENT, *UNREAD} & set(content.defects):
        return None
    kind = _content_type(exchange)
    if kind == "text/event-stream" or (not kind and content.done_seen):
        return None
    if not kind.endswith("json"):
        return f"answers {exchange.status} " + (f"with {kind}" if kind else "of no content type")
    # Other APIs have words of their own for what a completion says.
    known = path.partition("?")[0].rstrip("/").endswith(COMPLETION_PATHS)
    if not known or content.defects:
        return None
    return f"answers {exchange.status} with JSON that is no completion"
