"""Leads a client program to another address: its environment and its command line, rewritten.

Which variable a client reads is its own affair, so that all that are documented are set; a value
or an argument that already names the hop is rewritten in place, and its path is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

WITH_VERSION = (
    "OPENAI_BASE_URL",  # openai-python, openai-node, LiteLLM
    "OPENAI_API_BASE",  # openai-python before 1.0, LiteLLM, LangChain, aider
    "LITELLM_PROXY_API_BASE",  # LiteLLM, provider `litellm_proxy`
    "HOSTED_VLLM_API_BASE",  # LiteLLM, provider `hosted_vllm`
    "LM_STUDIO_API_BASE",  # LiteLLM, provider `lm_studio`
    "LLM_BASE_URL",  # OpenHands (its reference of environment variables, section LLM)
)
"""Variables whose URL ends with the version of the API."""
WITHOUT_VERSION = (
    "ANTHROPIC_BASE_URL",  # anthropic-sdk-python and -typescript (`_client.py`), Claude Code
    "ANTHROPIC_API_BASE",  # LiteLLM, provider `anthropic`
    "ANTHROPIC_API_URL",  # LangChain (`langchain_anthropic/chat_models.py`)
    "OPENAI_HOST",  # goose (`providers/openai.rs`), which adds `OPENAI_BASE_PATH`
    "ANTHROPIC_HOST",  # goose (`providers/anthropic.rs`)
)
"""Variables whose URL is what comes before the version."""
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
VERSION_PATH = "/v1"
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|messages)/?$")


@dataclass(frozen=True, slots=True)
class Redirection:
    """The command as it is to be run."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    variables: tuple[str, ...]
    """The variables that now name the tap."""
    arguments: int
    """How many arguments were rewritten."""


def redirect(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    hop_url: str,
    tap_url: str,
    endpoint: str,
) -> Redirection:
    """The command with every mention of the hop replaced by the tap."""
    mention = _mention(hop_url)
    written = {name: mention.sub(tap_url, value) for name, value in environment.items()}
    rewritten = {name for name, value in written.items() if value != environment[name]}
    base = urlsplit(hop_url).path.rstrip("/")
    version = base + (_ENDPOINT.sub("", endpoint) if _ENDPOINT.search(endpoint) else VERSION_PATH)
    for names, path in ((WITH_VERSION, version), (WITHOUT_VERSION, base)):
        for name in names:
            if name not in rewritten:
                written[name] = tap_url + _path_of(environment.get(name), path)
    arguments = tuple(mention.sub(tap_url, argument) for argument in argv)
    return Redirection(
        argv=arguments,
        environment=written,
        variables=tuple(sorted(rewritten | set(WITH_VERSION) | set(WITHOUT_VERSION))),
        arguments=sum(a != b for a, b in zip(arguments, argv, strict=True)),
    )


def environment_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """The proxies that a client which trusts its environment would use: variable -> host:port."""
    found: dict[str, str] = {}
    for name, value in environment.items():
        if name.lower() not in PROXY_VARIABLES or not value:
            continue
        try:
            parts = urlsplit(value if "://" in value else f"http://{value}")
            port = parts.port or 80
        except ValueError:
            continue
        if parts.hostname:
            found[name] = f"{parts.hostname}:{port}"
    return found


def _mention(hop_url: str) -> re.Pattern[str]:
    """The hop's scheme, host and port wherever they stand; `localhost` is the loopback address."""
    parts = urlsplit(hop_url)
    host = parts.hostname or ""
    names = {host} | ({"localhost", "127.0.0.1"} if host in ("localhost", "127.0.0.1") else set())
    hosts = "|".join(sorted(re.escape(name) for name in names))
    default = 443 if parts.scheme == "https" else 80
    port = parts.port or default
    number = f"(?::{port})?" if port == default else f":{port}"
    return re.compile(rf"{parts.scheme}://(?:{hosts}){number}(?![\w.:-])")


def _path_of(value: str | None, otherwise: str) -> str:
    """The path that the operator's own setting has, where there is one."""
    return otherwise if value is None else urlsplit(value).path.rstrip("/") or otherwise
