"""`decide` of `locate --run`: first watch the victim's own program, then ask what it takes to know.

Theory of operation
-------------------
1. The first scene runs the program through a tap. What crossed, and how the program stood
   meanwhile, are signs; every suspect at the client is rated by them.
2. A run that went well on the wire, by a program that says so itself, accuses nobody.
3. A suspect at the client has to survive a second scene: the same requests sent by us, past the
   client, and where the habit itself is suspected also with the habit. It is convicted when its
   posterior is at least `CONVICTION`, nothing contradicts it, every rival of at least equal prior
   is contradicted twice or more, and our own requests passed three times.
4. Whatever the wire shows that the client did not do is the path's affair: the localiser goes on
   from there (`localiser.decide`), with the victim's shape taken from what it really sent.
5. A limit of the client that is only too short because the path is late is a second fault beside
   the one that the localiser finds, never instead of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.codec import deployment_from_json, deployment_to_json
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import entry_hop
from exonerate.core.diagnosis import localiser
from exonerate.core.diagnosis.client.answer import (
    client_answer,
    handed_over_answer,
)
from exonerate.core.diagnosis.client.confirm import CONFIRM_SCENE, confirm_scene
from exonerate.core.diagnosis.client.judge import judge_client, rounds_needed
from exonerate.core.diagnosis.client.observed import OBSERVE_SCENE
from exonerate.core.diagnosis.client.victim_shape import model_of, sent_of, victim_of
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import RunProgram, Scene, Tap

JOB = "locate-run"
RULES = f"observe/1+{localiser.RULES}"
TAP, PROGRAM = "tap", "program"
OWN_SCENES = (OBSERVE_SCENE, CONFIRM_SCENE)


def decide(records: Sequence[Record]) -> Scene | Verdict:
    """The next scene of a run through a tap, or its verdict; a function of the records only."""
    start = next(record.body for record in records if record.kind == "run_started")
    given = deployment_from_json(_object(start["deployment"]))
    options = _object(start["options"])
    if not _played(records, OBSERVE_SCENE):
        return observe_scene(given, options)
    judged = judge_client(records, given, tap_port=int(str(options["tap_port"])))
    rounds = judged.observed.rounds
    sent = [sent_of(round_) for round_ in rounds]
    victim = victim_of(sent, given.victim)
    victim = replace(victim, rounds=min(victim.rounds, rounds_needed(rounds)))
    deployment = replace(given, victim=victim, model=given.model or model_of(sent) or "")
    judged = replace(judged, deployment=deployment)
    outcome = judged.outcome(complaint=options.get("symptom") is not None)
    if outcome == "confirm":
        seed = int(str(start["seed"]))
        return confirm_scene(deployment, judged.observed, judged.suspicion or "", seed)
    if outcome != "localise":
        return Verdict(job=JOB, rules=RULES, answer=client_answer(judged, outcome))
    decided = localiser.decide(_handed_over(records, deployment))
    if isinstance(decided, Scene):
        return decided
    return Verdict(job=JOB, rules=RULES, answer=handed_over_answer(judged, decided.answer))


def observe_scene(deployment: Deployment, options: JsonObject) -> Scene:
    """The program run through a tap before the first hop."""
    entry = entry_hop(deployment)
    limit_s = float(str(options["run_limit_s"]))
    port = int(str(options["tap_port"]))
    return Scene(
        id=OBSERVE_SCENE,
        why=f"run the victim's own program with a tap before {entry.name}",
        activities=(
            Tap(name=TAP, hop=entry.name, listen_port=port, upstream_url=entry.url),
            RunProgram(
                name=PROGRAM,
                shown=str(options["program"]),
                tap_port=port,
                time_limit_s=limit_s,
                start_s=0.05,
            ),
        ),
        time_limit_s=limit_s + 30.0,
    )


def _handed_over(records: Sequence[Record], deployment: Deployment) -> list[Record]:
    """What the localiser may see: its own scenes, and the victim as it really behaves."""
    found: list[Record] = []
    for record in records:
        if record.kind == "run_started":
            body = {**record.body, "deployment": deployment_to_json(deployment)}
            found.append(replace(record, body=body))
        elif _scene_of(record) not in OWN_SCENES:
            found.append(record)
    return found


def _played(records: Sequence[Record], scene: str) -> bool:
    return any(r.kind == "scene_played" and r.body.get("scene") == scene for r in records)


def _scene_of(record: Record) -> str:
    scene = record.body.get("scene")
    return str(scene["id"]) if isinstance(scene, Mapping) else str(scene)


def _object(value: object) -> JsonObject:
    assert isinstance(value, Mapping)
    return value
