"""Makes the requests of a load run quickly: one template, a fresh salt in each.

The salt is a handful of seeded words at the beginning of the prompt, so that no two requests share
a prefix and no prefix cache is hit by accident, while the length stays the same. Before it stands
one word that all of them share: a vocabulary may have a word as one token behind a space and as two
without it, and then the length would hang on which word comes first. Everything behind the salt is
made once.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exonerate.adapters.address import Address
from exonerate.adapters.request import build_request
from exonerate.core.scene import RequestRecipe
from exonerate.core.workload.plan import Work
from exonerate.core.workload.prompts import FIRST_WORD, chat_body
from exonerate.core.workload.words import WORDS

SALT_WORDS = 6
_PICKS = struct.Struct(f"<{SALT_WORDS - 1}H")
_FIRST_WORD = FIRST_WORD.encode() + b" "
_SALT_WORDS = tuple(word.encode() + b" " for word in WORDS)
_SALT_MARK = "qqsaltqq"
_ID_MARK, _SPAN_MARK = "qqrequestidqq", "qqspanqq"
_ID, _SPAN = _ID_MARK.encode(), _SPAN_MARK.encode()
_MARKS = re.compile(b"(%s|%s)" % (_ID, _SPAN))


@dataclass(frozen=True, slots=True)
class _Template:
    """A request cut at the places that differ: head, body before and after the salt.

    The head is cut at the marks for the request's name and its span, which stand between.
    """

    head: tuple[bytes, ...]
    opening: bytes
    rest: bytes


class RequestMaker:
    """The bytes of each request of one cell."""

    def __init__(
        self, address: Address, recipe: RequestRecipe, *, cell: str, bodies: Sequence[bytes] = ()
    ) -> None:
        self._address = address
        self._cell = cell
        self._bodies = bodies
        self._run = secrets.token_hex(6)
        self._salted = recipe.prompt.salt == "" and not bodies
        self._shared_by_rounds = recipe.prompt.growth_tokens > 0
        self._seed = recipe.prompt.seed
        salt_key = f"{self._seed}/{cell}/".encode()
        self._salt_hash = hashlib.blake2b(salt_key, digest_size=_PICKS.size)
        tokens = max(1, recipe.prompt.prompt_tokens - (SALT_WORDS if self._salted else 0))
        self._recipe = replace(recipe, prompt=replace(recipe.prompt, prompt_tokens=tokens))
        self._templates: dict[tuple[int, int], _Template] = {}

    def policy(self) -> dict[str, str | int]:
        """How the prompts were made, for the record."""
        if self._bodies:
            kind = f"{len(self._bodies)} given bodies, in turn"
        elif self._salted:
            kind = f"each request has {SALT_WORDS - 1} words of its own, from the second on"
        else:
            kind = "every request has the same salt: shared prefix"
        return {"prompts": kind, "seed": self._seed, "cell": self._cell}

    def make(self, work: Work) -> bytes:
        """One whole request."""
        place = (work.round_number, work.index % len(self._bodies) if self._bodies else 0)
        template = self._templates.get(place)
        if template is None:
            template = self._template(*place)
            if place[1] == 0:
                # Of many bodies each is mostly sent once, so only the first is worth keeping.
                self._templates[place] = template
        salt = self._salt(work) if self._salted else b""
        length = len(template.opening) + len(salt) + len(template.rest)
        marked = {
            _ID: f"{self._run}-{work.index}".encode(),
            _SPAN: f"{work.index + 1:016x}".encode(),
        }
        return b"".join(
            [
                *[marked.get(piece, piece) for piece in template.head],
                f"content-length: {length}\r\n\r\n".encode(),
                template.opening,
                salt,
                template.rest,
            ]
        )

    def _salt(self, work: Work) -> bytes:
        # All rounds of a session share their beginning, as an agent's do.
        unit = work.lane if self._shared_by_rounds else work.index
        # A hash, not a generator: seeding one costs more than all the rest of a request.
        digest = self._salt_hash.copy()
        digest.update(str(unit).encode())
        picks = _PICKS.unpack(digest.digest())
        return _FIRST_WORD + b"".join([_SALT_WORDS[pick % len(_SALT_WORDS)] for pick in picks])

    def _template(self, round_number: int, body_number: int) -> _Template:
        mark = _SALT_MARK if self._salted else ""
        given = self._bodies[body_number] if self._bodies else None
        body = chat_body(self._recipe, round_number, template=given, opening=mark)
        request = build_request(self._address, self._recipe, b"", request_id=_ID_MARK)
        head = request.content.rpartition(b"content-length: ")[0]
        span = request.span_id.encode()
        opening, _, rest = body.partition(mark.encode()) if mark else (body, b"", b"")
        pieces = _MARKS.split(head.replace(span, _SPAN))
        return _Template(tuple(pieces), opening, rest)
