"""The setup of an experiment and the record that holds it."""

from __future__ import annotations

import json
from typing import Any

from exonerate.core.case.records import Record
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.deployment.model import Deployment, Knob, Service
from exonerate.core.experiment.setup import Setup, options_json, setup_of

SETUP = Setup(
    job="ab",
    rules="experiment/1",
    seed=3,
    deployment=Deployment(
        name="d",
        model="m",
        folder="/d",
        services=(Service(name="s", start=("./s",)),),
        knobs=(Knob(name="K", service="s", file="f", form="export"),),
    ),
    service="s",
    hop="e",
    url="http://127.0.0.1:1",
    arms=("1", "2"),
    blocks=3,
    cells=(1, 8),
    prompt_tokens=10,
    max_tokens=5,
    deadline_s=60.0,
    knob="K",
    file="f",
    arm_sha256={"1": "a", "2": "b"},
    original_sha256="a",
    primary=(8,),
    guards=(1,),
    looks=True,
)


def test_a_setup_comes_back_from_its_record() -> None:
    """What was planned can be read from the record alone, other options are passed over."""
    options = {**options_json(SETUP), "owner": "somebody", "requests": None}
    body: Any = {
        "job": "ab",
        "rules": "experiment/1",
        "seed": 3,
        "deployment": deployment_to_json(SETUP.deployment),
        "options": options,
    }
    body = json.loads(json.dumps(body))
    record = Record(seq=1, case="c", kind="run_started", at="", body=body, prev="", hash="")
    assert setup_of([record]) == SETUP


def test_a_cell_has_requests_enough_to_fill_it() -> None:
    """Eight requests for each in flight, sixteen at least, or as many as were asked for."""
    assert [SETUP.requests_of(cell) for cell in (1, 4, 64)] == [16, 32, 512]
    given = Setup(**{**{n: getattr(SETUP, n) for n in Setup.__dataclass_fields__}, "requests": 20})
    assert [given.requests_of(cell) for cell in (1, 64)] == [20, 64]


def test_the_knob_and_the_service_are_found_by_name() -> None:
    """The models come from the deployment on record."""
    assert SETUP.knob_model == SETUP.deployment.knobs[0]
    assert SETUP.service_model.name == "s"
    assert (SETUP.sha256_of("2"), len(SETUP.schedule)) == ("b", 3)
