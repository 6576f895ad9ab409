"""Axes of the request's body and of the answer that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.axes.axis import Axis
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.scene import ProbeSession

SMALL_SHARE = 0.5
"""Where no size is known to go well, this share of the smallest that failed is tried."""
SHORT_ANSWER_TOKENS = 4


def _size(session: ProbeSession, facts: Facts, _: Deployment) -> ProbeSession | None:
    small = small_body_bytes(facts, session.hop)
    if small is None:
        return None
    return replace(session, request=replace(session.request, body_bytes=(small,)))


def _tokens(session: ProbeSession, facts: Facts, _: Deployment) -> ProbeSession | None:
    """Bodies of the victim's size, most of it spaces: the same bytes, far fewer prompt tokens."""
    failing = [_body_bytes(r) for s in _own(facts, session.hop) if (r := s.failed) is not None]
    if not failing or session.request.body_ref is not None:
        return None
    prompt = replace(
        session.request.prompt,
        prompt_tokens=max(1, session.request.prompt.prompt_tokens // 8),
        growth_tokens=session.request.prompt.growth_tokens // 8,
    )
    sizes = tuple(_sizes_by_round(facts, session.hop))
    request = replace(session.request, prompt=prompt, body_bytes=sizes)
    return replace(session, request=request)


def _content(session: ProbeSession, facts: Facts, _: Deployment) -> ProbeSession | None:
    """Plain words instead of the victim's own text, in a body of the same size."""
    if session.request.body_ref is None:
        return None
    sizes = tuple(_sizes_by_round(facts, session.hop))
    if not sizes:
        return None
    return replace(session, request=replace(session.request, body_ref=None, body_bytes=sizes))


def _framing(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    """With a length instead of chunks; every hop knows a length, so that is not taken away."""
    if not session.request.chunked:
        return None
    return replace(session, request=replace(session.request, chunked=False))


def _stream(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    if session.request.body_ref is not None:
        return None
    return replace(session, request=replace(session.request, stream=not session.request.stream))


def _encoding(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    return replace(session, accept_encoding="identity")


def _length(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    tokens = session.request.max_tokens
    if tokens <= SHORT_ANSWER_TOKENS or session.request.body_ref is not None:
        return None
    return replace(session, request=replace(session.request, max_tokens=SHORT_ANSWER_TOKENS))


AXES = (
    Axis(slug="size", changed="with small bodies", vary=_size),
    Axis(slug="tokens", changed="with as many bytes and an eighth of the prompt", vary=_tokens),
    Axis(slug="content", changed="with plain words of the same size", vary=_content),
    Axis(
        slug="framing",
        changed="with bodies that say their length instead of coming in chunks",
        vary=_framing,
    ),
    Axis(slug="stream", changed="with `stream` the other way", vary=_stream),
    Axis(slug="encoding", changed="without compression of the answer", vary=_encoding),
    Axis(slug="length", changed="with answers of a few tokens", vary=_length),
)


def small_body_bytes(facts: Facts, hop: str) -> int | None:
    """A size that is known, or likely, to go well at the hop: below every one that failed."""
    rounds = [r for s in _own(facts, hop) for r in s.rounds if r.outcome != "unfinished"]
    failed = {id(r) for s in _own(facts, hop) if (r := s.failed) is not None}
    bad = [_body_bytes(r) for r in rounds if id(r) in failed]
    if not bad:
        return None
    good = [_body_bytes(r) for r in rounds if id(r) not in failed]
    smaller = [size for size in good if size < min(bad)]
    return min(smaller) if smaller else int(SMALL_SHARE * min(bad))


def _sizes_by_round(facts: Facts, hop: str) -> Iterator[int]:
    """How large each round's body was, over the victim's sessions at the hop."""
    sizes: dict[int, int] = {}
    for session in _own(facts, hop):
        for round_ in session.rounds:
            sizes.setdefault(round_.exchange.round, _body_bytes(round_))
    for number in range(1, max(sizes, default=0) + 1):
        yield sizes[number]


def _own(facts: Facts, hop: str) -> list[Session]:
    return [s for s in facts.sessions if s.hop == hop and s.victim_shaped]


def _body_bytes(round_: Round) -> int:
    return round_.exchange.body_sent_bytes or round_.exchange.request_bytes
