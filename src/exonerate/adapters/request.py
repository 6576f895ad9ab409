"""The bytes of one request."""

from __future__ import annotations

import errno
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from exonerate.adapters.address import Address
from exonerate.core.scene import RequestRecipe
from exonerate.core.version import USER_AGENT
from exonerate.core.wire.coding import accepted_codings
from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True)
class Request:
    """Head and body as they go out over HTTP/1.1, the parts of both, and the ids put on them."""

    content: bytes
    request_id: str
    span_id: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    """The body before it was framed."""


CHUNK_BYTES = 4096
"""The size of a chunk where the body goes in chunks."""


def build_request(
    address: Address,
    recipe: RequestRecipe,
    body: bytes,
    *,
    request_id: str | None = None,
    accept_encoding: str | None = None,
) -> Request:
    """A POST of the body; the recipe's own headers replace ours of the same name."""
    request_id = request_id or f"exonerate-{secrets.token_hex(8)}"
    span_id = secrets.token_hex(8)
    headers = {
        "host": address.authority,
        "user-agent": USER_AGENT,
        "accept": "text/event-stream" if recipe.stream else "application/json",
        "accept-encoding": accepted_codings() if accept_encoding is None else accept_encoding,
        "content-type": "application/json",
        "x-request-id": request_id,
        "traceparent": f"00-{secrets.token_hex(16)}-{span_id}-01",
    }
    headers.update(authorization(recipe))
    headers.update((name.lower(), value) for name, value in recipe.headers)
    framed = body
    if recipe.chunked:
        headers.pop("content-length", None)
        headers["transfer-encoding"] = "chunked"
        framed = _in_chunks(body)
    else:
        headers["content-length"] = str(len(body))
    target = address.target(recipe.path)
    lines = [f"POST {target} HTTP/1.1"]
    lines.extend(f"{name}: {value}" for name, value in headers.items())
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    return Request(head + framed, request_id, span_id, target, tuple(headers.items()), body)


def _in_chunks(body: bytes) -> bytes:
    """The body in the chunked coding (RFC 9112, 7.1), in chunks of `CHUNK_BYTES`."""
    pieces = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def authorization(recipe: RequestRecipe) -> dict[str, str]:
    """The header with the key; raises ExonerateError when its variable is not set."""
    if recipe.api_key_env is None:
        return {}
    return {"authorization": f"Bearer {api_key(recipe.api_key_env)}"}


def api_key(variable: str) -> str:
    """The key in that variable; raises ExonerateError when there is none that can be sent."""
    key = os.environ.get(variable, "")
    if not key or not key.isprintable():
        raise ExonerateError(
            f"the environment variable `{variable}` holds no API key",
            f"export {variable}=…, or take `api_key_env` out of the deployment file",
        )
    return key


def victim_body(folder: Path, reference: str | None) -> bytes | None:
    """The victim's own request body; None where the deployment names none.

    Raises:
        ExonerateError: its file cannot be read.
    """
    if reference is None:
        return None
    path = folder / reference
    try:
        if not path.is_file():
            why = "it is no file" if path.exists() else "there is no such file"
            raise FileNotFoundError(errno.ENOENT, why)
        return path.read_bytes()
    except OSError as error:
        raise ExonerateError(
            f"the victim's request `{path}` cannot be read: {error.strerror}",
            "correct `request` in the section `[victim]`, or take it out",
        ) from error
