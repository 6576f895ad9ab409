"""The jobs `status` and `init`: look at every hop without sending it a completion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment, Hop, Role
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import CounterReader, Page, PageReader
from exonerate.errors import ExonerateError

LOOK_TIMEOUT_S = 3.0
SERVER_HEADERS = ("server", "via", "x-powered-by")


@dataclass(frozen=True, slots=True, kw_only=True)
class HopView:
    """What one hop shows to somebody who only looks."""

    name: str
    url: str
    reachable: bool
    error: str | None
    server: str | None
    engine: str | None
    models: tuple[str, ...]
    metrics_url: str | None
    metrics_error: str | None
    values: Mapping[str, float]

    def to_json(self) -> JsonObject:
        """The hop as `exonerate.status/1` shows it."""
        return {
            "name": self.name,
            "url": self.url,
            "reachable": self.reachable,
            "error": self.error,
            "server": self.server,
            "engine": self.engine,
            "models": list(self.models),
            "metrics": self.metrics_url,
            "metrics_error": self.metrics_error,
            "values": dict(self.values),
        }


async def look_at_hop(hop: Hop, get: PageReader, read_counters: CounterReader) -> HopView:
    """Read the model list and the metrics page of one hop."""
    models_page, metrics_page = await _pages(hop, get)
    engine: str | None = None
    values: Mapping[str, float] = {}
    metrics_error = None
    if metrics_page is not None and metrics_page.status == 200:
        engine, values = read_counters(metrics_page.text)
    elif metrics_page is not None:
        metrics_error = metrics_page.error or f"HTTP status {metrics_page.status}"
    headers = {name.lower(): value for name, value in models_page.headers}
    server = next((_printed(headers[name]) for name in SERVER_HEADERS if name in headers), None)
    return HopView(
        name=hop.name,
        url=hop.url,
        reachable=models_page.error is None,
        error=models_page.error,
        server=server,
        engine=engine,
        models=_models(models_page),
        metrics_url=hop.metrics,
        metrics_error=metrics_error,
        values=values,
    )


async def survey(
    deployment: Deployment, get: PageReader, read_counters: CounterReader
) -> list[HopView]:
    """Every hop of a deployment, looked at together."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(look_at_hop(hop, get, read_counters)) for hop in deployment.hops]
    return [task.result() for task in tasks]


async def draft_deployment(
    urls: Sequence[str], model: str | None, get: PageReader, read_counters: CounterReader
) -> str:
    """The text of an `exonerate.toml` for these URLs, client side first, the engine last.

    Raises:
        ExonerateError: no URL answers with a model list and no model was named.
    """
    hops = [_guess(url, number, len(urls)) for number, url in enumerate(urls, start=1)]
    deployment = Deployment(name="", model="", folder="", hops=tuple(hops))
    views = await survey(deployment, get, read_counters)
    chosen = model or next((view.models[0] for view in reversed(views) if view.models), None)
    if chosen is None:
        raise ExonerateError(
            "no hop answered with a list of models", "name the model with `--model NAME`"
        )
    sections = [_hop_section(hop, view) for hop, view in zip(hops, views, strict=True)]
    return _HEAD.format(model=_quoted(chosen)) + "".join(sections) + _TAIL


async def _pages(hop: Hop, get: PageReader) -> tuple[Page, Page | None]:
    async with asyncio.TaskGroup() as group:
        models = group.create_task(get(f"{hop.url}/v1/models", timeout_s=LOOK_TIMEOUT_S))
        metrics = (
            group.create_task(get(hop.metrics, timeout_s=LOOK_TIMEOUT_S)) if hop.metrics else None
        )
    return models.result(), metrics.result() if metrics else None


def _models(page: Page) -> tuple[str, ...]:
    if page.status != 200:
        return ()
    try:
        listed = json.loads(page.text)["data"]
        return tuple(_printed(str(entry["id"])) for entry in listed)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def _printed(text: str) -> str:
    """What a hop says of itself, without letters that would steer a terminal."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _guess(url: str, number: int, count: int) -> Hop:
    clean = url.rstrip("/")
    role: Role = "engine" if number == count else "proxy"
    name = "engine" if number == count else "edge" if number == 1 else f"hop{number}"
    # A proxy often passes `/metrics` on; the engine's counters are read at the engine only.
    metrics = f"{clean}/metrics" if role == "engine" else None
    return Hop(name=name, role=role, url=clean, metrics=metrics)


def _hop_section(hop: Hop, view: HopView) -> str:
    seen = "reachable" if view.reachable else f"not reachable from here: {view.error}"
    if view.server:
        seen += f", says it is {view.server}"
    lines = [
        "[[hop]]",
        f"# {seen}".replace("\n", " "),
        f"name = {_quoted(hop.name)}",
        f"role = {_quoted(hop.role)}    # proxy | router | prefill | decode | engine",
        f"url = {_quoted(hop.url)}",
    ]
    if hop.url.startswith("https:"):
        lines.append(
            '# ca = "ca.pem"    # the certificate of a private authority that signed its own'
        )
    if view.engine is not None:
        lines.append(f"metrics = {_quoted(str(hop.metrics))}    # speaks as {view.engine}")
    elif hop.role == "engine":
        lines.append("# metrics = ...    # none found; without it the engine's state is not seen")
    return "\n".join(lines) + "\n\n"


def _quoted(text: str) -> str:
    return json.dumps(text)


_HEAD = """\
# The path from the client to the engine, as Exonerate shall see it.
# Every key is described in docs/deployment.md; `exonerate status` checks what is reachable.

[deployment]
name = "my-deployment"
model = {model}                     # what requests name

# Hops in order, from the client inwards.
"""
_TAIL = """\
[victim]                             # how the client that suffers behaves; every probe copies it
endpoint = "/v1/chat/completions"
rounds = 8
think_s = 0.5                        # idle time between rounds
stream = true
connection = "reuse"                 # reuse | fresh
prompt_tokens = 200
growth_tokens = 150                  # history added per round
max_tokens = 32
deadline_s = 20                      # a round that takes longer is a hang
# api_key_env = "OPENAI_API_KEY"     # the variable that holds the key; the key is never stored

# Something that can be restarted, and a setting of it that is under suspicion:
# [[service]]
# name = "decode"
# hop = "engine"
# start = ["./serve.sh"]             # or unit = "sglang-decode.service"
# ready = "http://127.0.0.1:8000/health"
#
# [[knob]]
# name = "SGLANG_SM120_MMA_TARGET_CTAS"
# service = "decode"
# file = "serve.sh"
# form = "export"                    # export | flag | environment-file | unit-environment |
#                                    # toml | yaml | json
# values = [256, 512]
# default = 256                      # what an absent setting means
"""
