"""The job `locate`: find the layer that is really to blame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from exonerate.core.case.model import Case
from exonerate.core.case.redaction import Redactor
from exonerate.core.case.standing import standing_interventions
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.diagnosis.catalogue.plugged import NOTHING_PLUGGED, PluggedClasses
from exonerate.core.diagnosis.facts import read_facts
from exonerate.core.diagnosis.inquiries import next_shape, victim_scene
from exonerate.core.diagnosis.localiser import RULES, SCENES_MAX, VARIED_SCENES_MAX, decide
from exonerate.core.diagnosis.traffic import left_out, requests_max, traffic
from exonerate.core.json_access import object_of
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Ledger, Player, Progress
from exonerate.core.scene import ProbeSession
from exonerate.errors import ExonerateError
from exonerate.jobs.ledger_run import RunStart, drive


@dataclass(frozen=True, slots=True, kw_only=True)
class LocateRequest:
    """What the operator asked for."""

    case: str
    run: str
    seed: int
    budget_s: float
    symptom: str | None = None
    gentle: bool = False
    packets: bool = False
    plugged: PluggedClasses = NOTHING_PLUGGED


async def locate(
    deployment: Deployment,
    request: LocateRequest,
    *,
    ledger: Ledger,
    player: Player,
    redactor: Redactor,
    progress: Progress,
) -> JsonObject:
    """Probe until somebody is convicted, everybody cleared, or the budget ends.

    Returns:
        The answer `exonerate.verdict/1`.

    Raises:
        ExonerateError: the deployment has no hop that takes a request, the ledger fails, or the
            answers show what only the operator can put right (the run is in the ledger then).
    """
    check_locatable(deployment)
    run = RunStart(
        case=request.case,
        run=request.run,
        job="locate",
        rules=request.plugged.rules(RULES),
        seed=request.seed,
        budget_s=request.budget_s,
        options={
            "symptom": request.symptom,
            "gentle": request.gentle,
            **({"packets": True} if request.packets else {}),
        },
        deployment=deployment_to_json(deployment),
        scenes_max=SCENES_MAX + VARIED_SCENES_MAX + 1,
    )
    answer = await drive(
        partial(decide, plugged=request.plugged),
        run=run,
        ledger=ledger,
        player=player,
        redactor=redactor,
        progress=progress,
    )
    said = object_of(answer.get("operator"))
    if said:
        raise ExonerateError(str(said["problem"]), str(said["hint"]))
    return answer


def planned_traffic(deployment: Deployment, *, seed: int, gentle: bool = False) -> JsonObject:
    """What `locate --dry-run` prints: the first scene and the most that all of them can send."""
    check_locatable(deployment)
    shape = next_shape(read_facts(()), deployment, None, gentle=gentle)
    scene = victim_scene(deployment, shape, seed)
    victim = deployment.victim
    kinds = traffic(deployment, copies_max=SCENES_MAX, gentle=gentle)
    sessions = [a for a in scene.activities if isinstance(a, ProbeSession)]
    return {
        "first_scene": scene.why,
        "sessions": [f"{s.rounds} rounds at {s.hop} ({s.url})" for s in sessions],
        "requests_per_scene_max": max(kind.requests_max for kind in kinds),
        "scenes_max": SCENES_MAX + VARIED_SCENES_MAX + 1,
        "requests_max": requests_max(kinds),
        "in_flight_max": max(kind.in_flight_max for kind in kinds),
        "prompt_tokens_per_request_max": victim.prompt_tokens
        + (victim.rounds - 1) * victim.growth_tokens,
        "output_tokens_per_request_max": max(kind.output_tokens_max for kind in kinds),
        "scenes": [
            {
                "kind": kind.kind,
                "when": kind.when,
                "scenes_max": kind.scenes_max,
                "requests_per_scene_max": kind.requests_max,
                "in_flight_max": kind.in_flight_max,
                "output_tokens_per_request_max": kind.output_tokens_max,
            }
            for kind in kinds
        ],
        "gentle": gentle,
        "gentle_leaves_out": list(left_out(deployment)),
    }


def deployment_of_urls(urls: list[str], *, model: str, folder: str) -> Deployment:
    """A deployment for `locate URL URL ... --model M`: client side first, the engine last.

    Raises:
        ExonerateError: the same URL twice, or none at all.
    """
    if len(set(urls)) < len(urls):
        raise ExonerateError(
            "the same URL was given twice", "give each hop once, client side first, engine last"
        )
    hops: list[Hop] = []
    for number, url in enumerate(urls, start=1):
        last = number == len(urls)
        clean = url.rstrip("/")
        hops.append(
            Hop(
                name="engine" if last else f"hop{number}",
                role="engine" if last else "proxy",
                url=clean,
                behind=(hops[-1].name,) if hops else (),
                metrics=f"{clean}/metrics" if last else None,
            )
        )
    return Deployment(name="ad hoc", model=model, folder=folder, hops=tuple(hops))


def still_standing(case: Case, live_values: Mapping[str, str | None]) -> list[JsonObject]:
    """Every intervention of the case that still stands; a conviction is shown with them."""
    return [
        {
            "intervention": standing.intervention.id,
            "knob": standing.intervention.knob,
            "live": standing.live,
            "was": standing.intervention.was,
            "hypothesis": standing.intervention.suspect,
        }
        for standing in standing_interventions(case, live_values)
    ]


def check_locatable(deployment: Deployment) -> None:
    """Refuse a deployment without hops, or with one address twice, in words."""
    if not deployment.hops:
        raise ExonerateError(
            "the deployment has no hop to probe",
            "add `[[hop]]` sections, or give URLs: `exonerate locate URL URL --model M`",
        )
    seen: dict[str, str] = {}
    for hop in deployment.hops:
        address = hop.url.replace("//localhost", "//127.0.0.1").rstrip("/").lower()
        if address in seen:
            raise ExonerateError(
                f"hops `{seen[address]}` and `{hop.name}` have the same URL",
                "give each hop the address at which a request enters the path there",
            )
        seen[address] = hop.name
