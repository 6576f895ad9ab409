"""The error answers that a proxy gives in its own name."""

from __future__ import annotations

from http import HTTPStatus

from exonerate.lab.faulty_proxy.rules import Refuse


def refusal(refuse: Refuse) -> bytes:
    """An error answer as proxies write it: HTML unless the rule gives a body."""
    phrase = _phrase(refuse.status)
    page = f"<html><head><title>{refuse.status} {phrase}</title></head></html>\n"
    kind = "application/json" if refuse.reply.startswith("{") else "text/html"
    body = (refuse.reply or page).encode()
    lines = [
        f"HTTP/1.1 {refuse.status} {phrase}",
        "Server: lab-proxy",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        f"Connection: {'close' if refuse.close else 'keep-alive'}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
