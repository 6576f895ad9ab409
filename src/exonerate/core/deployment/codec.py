"""A deployment as JSON, for the record that starts a run; it holds no secret.

Values of headers are dropped (their names stay): a replayed decision needs neither.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from exonerate.core.deployment.model import Deployment, Hop, Knob, Service, Victim
from exonerate.core.json_types import JsonObject


def deployment_to_json(deployment: Deployment) -> JsonObject:
    """Every field of the deployment, header values left out."""
    tree = asdict(deployment)
    tree["victim"]["headers"] = [[name, ""] for name, _ in deployment.victim.headers]
    for service in tree["services"]:
        service["start"] = list(service["start"])
    for knob in tree["knobs"]:
        knob["values"] = list(knob["values"])
    for hop in tree["hops"]:
        hop["behind"] = list(hop["behind"])
    for name in ("hops", "services", "knobs"):
        tree[name] = list(tree[name])
    return tree


def deployment_from_json(tree: JsonObject) -> Deployment:
    """The deployment that `deployment_to_json` wrote."""
    parts: Any = tree
    victim = dict(parts["victim"])
    victim["headers"] = tuple((name, value) for name, value in victim["headers"])
    return Deployment(
        name=parts["name"],
        model=parts["model"],
        folder=parts["folder"],
        hops=tuple(Hop(**{**hop, "behind": tuple(hop["behind"])}) for hop in parts["hops"]),
        victim=Victim(**victim),
        services=tuple(Service(**{**s, "start": tuple(s["start"])}) for s in parts["services"]),
        knobs=tuple(Knob(**{**k, "values": tuple(k["values"])}) for k in parts["knobs"]),
    )
