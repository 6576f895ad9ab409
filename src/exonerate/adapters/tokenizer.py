"""Counts the tokens of a text by the engine's own tokenizer, where it offers one.

vLLM, SGLang and llama.cpp all serve `POST /tokenize`; the first two take `prompt` and answer with
`count`, llama.cpp takes `content` and answers with `tokens`. An engine that has none, or whose
answer is not understood, counts nothing, and prompts are then as long as their words say.
"""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Mapping
from typing import Any

import orjson

from exonerate.adapters.address import parse_address
from exonerate.adapters.http_get import connection_to
from exonerate.core.version import USER_AGENT

TIMEOUT_S = 5.0
ANSWER_BYTES_MAX = 8 * 1024 * 1024


class EngineTokenizer:
    """Asks one engine."""

    def __init__(self, url: str, model: str, *, ca: str | None = None) -> None:
        self._address = parse_address(url)
        self._model = model
        self._cas = {self._address.authority: ca} if ca else {}

    async def count(self, text: str) -> int | None:
        """How many tokens the text has, or None where the engine does not say."""
        body = {
            "model": self._model,
            "prompt": text,
            "content": text,
            "add_special_tokens": False,
            "add_special": False,
        }
        try:
            answer = await asyncio.to_thread(self._post, orjson.dumps(body))
        except (OSError, http.client.HTTPException, ValueError):
            return None
        return _counted(answer)

    def _post(self, body: bytes) -> Any:
        connection = connection_to(self._address, timeout_s=TIMEOUT_S, cas=self._cas)
        try:
            headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
            connection.request("POST", self._address.target("/tokenize"), body, headers)
            answer = connection.getresponse()
            content = answer.read(ANSWER_BYTES_MAX)
            return orjson.loads(content) if answer.status == 200 else None
        finally:
            connection.close()


def _counted(answer: Any) -> int | None:
    if not isinstance(answer, Mapping):
        return None
    count, tokens = answer.get("count"), answer.get("tokens")
    if isinstance(count, int) and not isinstance(count, bool):
        return count
    return len(tokens) if isinstance(tokens, list) else None
