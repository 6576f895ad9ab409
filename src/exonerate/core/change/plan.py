"""The plan of one change: everything that is needed to make it, and to take it back.

It is the body of an `intervention_planned` record, so that a change that was cut off by a kill can
be finished, or taken back, from the ledger alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from exonerate.core.deployment.model import Deployment, KnobForm, Service, Victim
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe, Scene
from exonerate.core.scene_json import scene_from_json, scene_to_json

ChangeType: TypeAlias = Literal["revert", "restore", "adopt"]

SMOKE_PROMPT_TOKENS = 16
SMOKE_MAX_TOKENS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePlan:
    """One change of one knob.

    `was` and `to` are what the values mean; `file_was` and `file_to` what stands in the file, None
    where the file sets nothing and the default holds. `smoke` is asked at the end, None when no
    hop is known for the service. `undoes` names the intervention that a restore takes back.
    """

    id: str
    type: ChangeType
    knob: str
    service: str
    form: KnobForm
    file: str
    was: str | None
    to: str | None
    file_was: str | None
    file_to: str | None
    base_sha256: str
    target_sha256: str
    restart: bool
    ready_timeout_s: float
    smoke: ProbeSession | None
    purpose: str
    prediction: str
    confounds: tuple[str, ...]
    reason: str
    suspect: str | None = None
    undoes: str | None = None


def plan_to_body(plan: ChangePlan) -> JsonObject:
    """The body of the `intervention_planned` record."""
    return {
        "id": plan.id,
        "type": plan.type,
        "knob": plan.knob,
        "service": plan.service,
        "form": plan.form,
        "file": plan.file,
        "from": plan.was,
        "to": plan.to,
        "file_from": plan.file_was,
        "file_to": plan.file_to,
        "base_sha256": plan.base_sha256,
        "target_sha256": plan.target_sha256,
        "restart": plan.restart,
        "ready_timeout_s": plan.ready_timeout_s,
        "smoke": _smoke_to_json(plan.smoke),
        "purpose": plan.purpose,
        "prediction": plan.prediction,
        "confounds": list(plan.confounds),
        "reason": plan.reason,
        "suspect": plan.suspect,
        "undoes": plan.undoes,
    }


def plan_from_body(body: JsonObject) -> ChangePlan:
    """The plan that a record's body describes."""
    confounds = body["confounds"]
    assert isinstance(confounds, Sequence)
    return ChangePlan(
        id=str(body["id"]),
        type=cast(ChangeType, body["type"]),
        knob=str(body["knob"]),
        service=str(body["service"]),
        form=cast(KnobForm, body["form"]),
        file=str(body["file"]),
        was=_text_or_none(body["from"]),
        to=_text_or_none(body["to"]),
        file_was=_text_or_none(body["file_from"]),
        file_to=_text_or_none(body["file_to"]),
        base_sha256=str(body["base_sha256"]),
        target_sha256=str(body["target_sha256"]),
        restart=bool(body["restart"]),
        ready_timeout_s=float(str(body["ready_timeout_s"])),
        smoke=_smoke_from_json(body["smoke"]),
        purpose=str(body["purpose"]),
        prediction=str(body["prediction"]),
        confounds=tuple(map(str, confounds)),
        reason=str(body["reason"]),
        suspect=_text_or_none(body["suspect"]),
        undoes=_text_or_none(body["undoes"]),
    )


def smoke_of(deployment: Deployment, service: Service) -> ProbeSession | None:
    """One short request of the victim's shape, straight at the hop of the service."""
    hop = next((hop for hop in deployment.hops if hop.name == service.hop), None)
    if hop is None:
        return None
    victim = deployment.victim
    return ProbeSession(
        name="smoke",
        hop=hop.name,
        url=hop.url,
        request=_smoke_request(deployment.model, victim),
        rounds=1,
        connection="fresh",
        think_s=0.0,
        deadline_s=victim.deadline_s,
    )


def _smoke_request(model: str, victim: Victim) -> RequestRecipe:
    # Not the victim's own headers: they may hold a key, and the plan is recorded.
    return RequestRecipe(
        path=victim.endpoint,
        model=model,
        prompt=PromptRecipe(seed=0, prompt_tokens=SMOKE_PROMPT_TOKENS),
        max_tokens=SMOKE_MAX_TOKENS,
        stream=victim.stream,
        api_key_env=victim.api_key_env,
    )


def _smoke_to_json(smoke: ProbeSession | None) -> Json:
    if smoke is None:
        return None
    return scene_to_json(Scene(id="smoke", why="does it answer", activities=(smoke,)))


def _smoke_from_json(value: Json) -> ProbeSession | None:
    if value is None:
        return None
    assert isinstance(value, Mapping)
    [smoke] = scene_from_json(value).activities
    assert isinstance(smoke, ProbeSession)
    return smoke


def _text_or_none(value: Json) -> str | None:
    return None if value is None else str(value)
