"""The job `locate --run`: the victim's own program through a tap, then what it takes to know."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.case.redaction import Redactor
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.client.decide import JOB, RULES, decide
from exonerate.core.diagnosis.localiser import SCENES_MAX, VARIED_SCENES_MAX
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Ledger, Player, Progress
from exonerate.jobs.ledger_run import RunStart, drive
from exonerate.jobs.locate import check_locatable

OWN_SCENES_MAX = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveRequest:
    """What the operator asked for. `program` names the command; its arguments stay outside."""

    case: str
    run: str
    seed: int
    budget_s: float
    run_limit_s: float
    tap_port: int
    program: str
    symptom: str | None = None
    gentle: bool = False
    packets: bool = False


async def observe(
    deployment: Deployment,
    request: ObserveRequest,
    *,
    ledger: Ledger,
    player: Player,
    redactor: Redactor,
    progress: Progress,
) -> JsonObject:
    """Run the program, and ask on until somebody is convicted or cleared, or nobody can be.

    Returns:
        The answer `exonerate.verdict/1`.

    Raises:
        ExonerateError: the deployment has no hop that takes a request, or the ledger fails.
    """
    check_locatable(deployment)
    run = RunStart(
        case=request.case,
        run=request.run,
        job=JOB,
        rules=RULES,
        seed=request.seed,
        budget_s=request.budget_s,
        options={
            "symptom": request.symptom,
            "gentle": request.gentle,
            "tap_port": request.tap_port,
            "run_limit_s": request.run_limit_s,
            "program": request.program,
            **({"packets": True} if request.packets else {}),
        },
        deployment=deployment_to_json(deployment),
        scenes_max=SCENES_MAX + VARIED_SCENES_MAX + OWN_SCENES_MAX + 1,
    )
    return await drive(
        decide, run=run, ledger=ledger, player=player, redactor=redactor, progress=progress
    )
