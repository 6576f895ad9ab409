"""What of a record may be kept in clear, and what only as a keyed hash.

Rules
-----
1. Allow-lists, not deny-lists, where the shape is known: headers by name, environment variables
   by name, prompts and outputs never. Everything else in those places becomes `hmac:` and twelve
   hex digits under the key of the ledger: equal values stay recognisable as equal, and nobody
   without the key can test a guess.
2. Free text, addresses and keys that sound like a secret are searched as well: user and password
   and the values of the query in a URL, bearer tokens, well-known key prefixes, `password=...`.
3. `body` is called by the jobs before a record is appended; `last_line` is called by the ledger
   itself and says in `redacted` what the job let through.
4. Redacting twice changes nothing, so both may be applied. The ledger does not know the knobs, so
   it leaves environment variables alone unless their name or value looks like a secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache

from exonerate.core.case.records import canonical_json
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.wire.exchange import ContentFacts

CLEAR_HEADERS: frozenset[str] = frozenset(
    """accept accept-encoding age cache-control connection content-encoding content-length
    content-type date host keep-alive location max-forwards proxy-connection proxy-status
    retry-after server te traceparent trailer transfer-encoding upgrade user-agent vary via
    x-accel-buffering x-cache x-request-id x-served-by""".split()  # noqa: SIM905  # one name a line would fill the page
)

CLEAR_ENVIRONMENT: frozenset[str] = frozenset(
    """CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES LANG LC_ALL
    MKL_NUM_THREADS NCCL_DEBUG NCCL_P2P_DISABLE NUMEXPR_NUM_THREADS OMP_NUM_THREADS
    OPENBLAS_NUM_THREADS PYTHONHASHSEED TZ""".split()  # noqa: SIM905  # as above
)

HEADER_KEYS: frozenset[str] = frozenset({"headers", "request_headers", "response_headers"})
ENVIRONMENT_KEYS: frozenset[str] = frozenset({"env", "environ", "environment"})
PROMPT_KEYS: frozenset[str] = frozenset(
    """prompt prompt_text messages content completion completion_text output output_text
    generated_text request_body response_body body_text delta_text
    """.split()  # noqa: SIM905  # as above
)
"""Keys whose values are what users wrote or what the model answered: never kept in clear."""

TEXT_HASH_KEYS: frozenset[str] = frozenset(
    {"text_sha256", "text_prefixes", "prompt_sha256", "output_sha256"}
)
"""Plain hashes of such texts: anybody could try guesses on them, so the key hashes them again."""

REMEMBERED_MAX, REMEMBERED_CHARS_MAX = 20_000, 200
"""How many short texts are remembered to hold no secret: a scene says the same ones over and over.
Those that do hold one are not kept."""

_CONTENT_FACTS = frozenset(field.name for field in fields(ContentFacts))

_HASHED = re.compile(r"hmac:[0-9a-f]{12}")
_SECRET_NAME = (
    r"(?:[\w-]*(?:api[_-]?key|secret|passw(?:or)?d|passphrase|credentials?|private[_-]?key)"
    r"|\w+_token|(?:access|api|auth|bearer|id|refresh|session)[_-]?token)"
)
_TOKEN_NAME = r"(?:\w+-)*token"
_SECRET_KEY = re.compile(
    rf"{_SECRET_NAME}|{_TOKEN_NAME}|(?:proxy-)?authorization|(?:set-)?cookie", re.IGNORECASE
)
_URL = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<rest>[^\s'\"<>`]+)", re.IGNORECASE)
_ODD_USERINFO = re.compile(r"[^/?#@]*:(?!\d*(?:[/?#]|$))[^@]*.*@")
"""A password with `/`, `?` or `#` in it: what looks like a port is not a number."""

_SECRET_TEXTS: tuple[re.Pattern[str], ...] = (
    # A header line in a log: its value ends with the line or the quotation.
    re.compile(
        r"(?<![\w-])(?:(?:proxy-)?authorization|(?:set-)?cookie)['\"]?\s*[:=]\s*['\"]?"
        r"(?P<secret>[^\s'\"][^'\"\r\n]*)",
        re.IGNORECASE,
    ),
    # NAME=value and NAME: value, quoted or not, also after `--` on a command line.
    re.compile(
        rf"(?<![\w-])(?:--?)?{_SECRET_NAME}['\"]?\s*[:=]\s*['\"]?(?P<secret>[^\s'\",;]+)",
        re.IGNORECASE,
    ),
    # `first token: 0.3 s` is prose, so that `token` needs an equals sign or quotes.
    re.compile(
        rf"(?<![\w-])(?:--?)?{_TOKEN_NAME}['\"]?(?:=|['\"]:\s*)['\"]?(?P<secret>[^\s'\",;]+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w-])--(?:{_SECRET_NAME}|{_TOKEN_NAME})\s+['\"]?(?P<secret>[^\s'\",;-][^\s'\",;]*)",
        re.IGNORECASE,
    ),
    # A word of small letters after `bearer` or `basic` is prose, not a token.
    re.compile(r"\b(?i:bearer|basic)\s+(?![a-z]+\b(?![\w.~+/=-]))(?P<secret>[\w.~+/=-]{8,})"),
    # Prefixes that vendors publish so that scanners can find their keys.
    re.compile(
        r"(?<![\w-])(?P<secret>(?:sk|pk|rk)-[\w-]{8,}|hf_\w{8,}|gh[opusr]_\w{8,}"
        r"|github_pat_\w{8,}|glpat-[\w-]{8,}|nvapi-[\w-]{8,}|xox[abprs]-[\w-]{8,}"
        r"|AKIA[0-9A-Z]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
    ),
)


class Redactor:
    """Replaces what may not be kept by keyed hashes.

    Args:
        key: the secret key of the ledger; never leaves its folder.
        allowed_environment: further variables kept in clear, the knobs of the deployment;
            None keeps every variable whose name and value do not look like a secret.
    """

    def __init__(self, key: bytes, allowed_environment: Collection[str] | None = ()) -> None:
        self._key = key
        self._any_variable = allowed_environment is None
        self._variables = CLEAR_ENVIRONMENT | frozenset(allowed_environment or ())
        self._clean: set[str] = set()

    def secret(self, value: str | bytes) -> str:
        """The keyed hash that stands for the value; a hash stands for itself."""
        if isinstance(value, str):
            if _HASHED.fullmatch(value):
                return value
            value = value.encode("utf-8", "replace")
        return f"hmac:{hmac.new(self._key, value, hashlib.sha256).hexdigest()[:12]}"

    def headers(self, headers: Iterable[Sequence[str]]) -> list[list[str]]:
        """Names as they are, values only of the headers on the allow-list."""
        return [[name, self._header(name, value)] for name, value in headers]

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Names as they are, values only of knobs and of the variables on the allow-list."""
        return {
            name: self.text(value) if self._is_clear(name) else self.secret(value)
            for name, value in variables.items()
        }

    def url(self, url: str) -> str:
        """The address with user, password and every value of its query replaced."""
        return _URL.sub(self._url_match, url)

    def text(self, text: str) -> str:
        """The text with everything in it that looks like a secret replaced."""
        if text in self._clean:
            return text
        safe = self.url(text)
        for pattern in _SECRET_TEXTS:
            safe = pattern.sub(self._secret_match, safe)
        short = len(text) <= REMEMBERED_CHARS_MAX and len(self._clean) < REMEMBERED_MAX
        if safe == text and short:
            self._clean.add(text)
        return safe

    def body(self, body: JsonObject) -> JsonObject:
        """A record's body with every rule applied, however deep."""
        return {key: self._member(key, value) for key, value in body.items()}

    def last_line(self, body: JsonObject) -> JsonObject:
        """The body, redacted again; `redacted` names the keys where something was found."""
        safe = self.body(body)
        changed = sorted(key for key in body if not _same(body[key], safe[key]))
        return {**safe, "redacted": changed} if changed else safe

    def _member(self, key: str, value: Json) -> Json:
        name = key.lower()
        if value is None or isinstance(value, bool | int | float):
            return value
        if name in HEADER_KEYS:
            return self._header_values(value)
        if name in ENVIRONMENT_KEYS and isinstance(value, Mapping):
            return self.environment({k: _as_text(v) for k, v in value.items()})
        if name in PROMPT_KEYS and not _is_about_text(name, value):
            return self.secret(_as_text(value))
        sounds_secret = name in TEXT_HASH_KEYS or _sounds_secret(name)
        if sounds_secret and isinstance(value, str):
            return self.secret(_as_text(value))
        if name in TEXT_HASH_KEYS and isinstance(value, Sequence):
            return [self.secret(_as_text(item)) for item in value]
        return self._value(value)

    def _is_clear(self, variable: str) -> bool:
        if variable in self._variables:
            return True
        return self._any_variable and not _SECRET_KEY.fullmatch(variable)

    def _value(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._member(key, inner) for key, inner in value.items()}
        if isinstance(value, Sequence):
            return self._list(value)
        return value

    def _list(self, values: Sequence[Json]) -> list[Json]:
        """A list of any values; an argument vector hides what follows `--api-key`."""
        safe: list[Json] = []
        previous: Json = None
        for value in values:
            flagged = isinstance(previous, str) and previous.startswith("--")
            if flagged and isinstance(value, str) and _SECRET_KEY.fullmatch(str(previous)[2:]):
                safe.append(self.secret(value))
            else:
                safe.append(self._value(value))
            previous = value
        return safe

    def _header_values(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            return {name: self._header(name, _as_text(inner)) for name, inner in value.items()}
        if isinstance(value, str):
            return self.secret(value)
        assert isinstance(value, Sequence)
        return [self._header_pair(pair) for pair in value]

    def _header_pair(self, pair: Json) -> Json:
        if isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2:
            name, value = _as_text(pair[0]), _as_text(pair[1])
            return [name, self._header(name, value)]
        return self.secret(_as_text(pair))

    def _header(self, name: str, value: str) -> str:
        return self.text(value) if name.lower() in CLEAR_HEADERS else self.secret(value)

    def _url_match(self, match: re.Match[str]) -> str:
        rest = match["rest"]
        odd = _ODD_USERINFO.match(rest)
        if odd:
            rest = f"{self.secret(odd.group()[:-1])}@{rest[odd.end() :]}"
        before, question, query = rest.partition("?")
        authority, slash, path = before.partition("/")
        user, at, host = authority.rpartition("@")
        if at:
            authority = f"{self.secret(user)}@{host}"
        if question:
            query = "&".join(self._query_part(part) for part in query.split("&"))
        return f"{match['scheme']}{authority}{slash}{path}{question}{query}"

    def _query_part(self, part: str) -> str:
        name, equals, value = part.partition("=")
        return f"{name}={self.secret(value)}" if equals and value else self._bare_part(part)

    def _bare_part(self, part: str) -> str:
        """A query part without a value: a name, unless it is a token by itself."""
        return part if len(part) < 20 else self.secret(part)

    def _secret_match(self, match: re.Match[str]) -> str:
        secret = match["secret"]
        start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
        whole = match.group()
        return f"{whole[:start]}{self.secret(secret)}{whole[end:]}"


@lru_cache(maxsize=1024)
def _sounds_secret(name: str) -> bool:
    return _SECRET_KEY.fullmatch(name) is not None


def _is_about_text(name: str, value: Json) -> bool:
    """A prompt's recipe, or the facts about an answer's content: numbers, no text of a user."""
    if not isinstance(value, Mapping):
        return False
    return name == "prompt" or (name == "content" and set(value) <= _CONTENT_FACTS)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _same(before: Json, after: Json) -> bool:
    # Tuples become lists, which is no change.
    return before == after or canonical_json(before) == canonical_json(after)
