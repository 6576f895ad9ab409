"""What an experiment was set up to do: the body of its `run_started` record, typed.

`options` of an `ab` run (an `aa` run has no knob, so `file` and the hashes are null):

    {"knob", "arms": [baseline, candidate], "blocks", "cells", "requests": null | n,
     "prompt_tokens", "max_tokens", "deadline_s", "hop", "url", "service", "file",
     "arm_sha256": {arm: sha256}, "original_sha256", "margin", "primary", "guards",
     "looks"}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exonerate.core.case.records import Record
from exonerate.core.deployment.codec import deployment_from_json
from exonerate.core.deployment.model import Deployment, Knob, Service
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.stats.comparison import MARGIN_DEFAULT
from exonerate.core.stats.design import Block, schedule

REQUESTS_MIN = 16
REQUESTS_PER_CONCURRENCY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One experiment, as it was planned; see the module for the record that holds it."""

    job: str
    rules: str
    seed: int
    deployment: Deployment
    service: str
    hop: str
    url: str
    arms: tuple[str, str]
    blocks: int
    cells: tuple[int, ...]
    prompt_tokens: int
    max_tokens: int
    deadline_s: float
    requests: int | None = None
    knob: str | None = None
    file: str | None = None
    arm_sha256: Mapping[str, str] | None = None
    original_sha256: str | None = None
    margin: float = MARGIN_DEFAULT
    primary: tuple[int, ...] | None = None
    guards: tuple[int, ...] = ()
    looks: bool = False

    @property
    def schedule(self) -> tuple[Block, ...]:
        """The blocks in their order; the same seed gives the same."""
        return schedule(seed=self.seed, blocks=self.blocks, arms=self.arms, cells=self.cells)

    @property
    def knob_model(self) -> Knob | None:
        """The knob that is compared; None for an A/A."""
        return next((knob for knob in self.deployment.knobs if knob.name == self.knob), None)

    @property
    def service_model(self) -> Service:
        """The service that is restarted."""
        return next(one for one in self.deployment.services if one.name == self.service)

    def requests_of(self, cell: int) -> int:
        """Requests of one cell: as asked for, and never fewer than are in flight."""
        wanted = self.requests or max(REQUESTS_MIN, REQUESTS_PER_CONCURRENCY * cell)
        return max(wanted, cell)

    def sha256_of(self, arm: str) -> str | None:
        """The bytes of the file under one arm; None where no file is exchanged."""
        return None if self.arm_sha256 is None else self.arm_sha256[arm]


def setup_of(records: Sequence[Record]) -> Setup:
    """The setup of the run whose records these are."""
    start = next(record.body for record in records if record.kind == "run_started")
    return setup_from_json(start)


def setup_from_json(start: JsonObject) -> Setup:
    """The setup that a `run_started` body holds."""
    body: Any = start
    given: Any = dict(body["options"])
    for name in ("arms", "cells", "guards"):
        given[name] = tuple(given.get(name) or ())
    primary = given.get("primary")
    given["primary"] = None if primary is None else tuple(primary)
    return Setup(
        job=str(body["job"]),
        rules=str(body["rules"]),
        seed=int(body["seed"]),
        deployment=deployment_from_json(body["deployment"]),
        **{name: value for name, value in given.items() if name in OPTION_NAMES},
    )


def options_json(setup: Setup) -> dict[str, Json]:
    """The `options` that `setup_from_json` reads back."""
    shas = None if setup.arm_sha256 is None else dict(setup.arm_sha256)
    return {
        name: _plain(getattr(setup, name)) if name != "arm_sha256" else shas
        for name in OPTION_NAMES
    }


OPTION_NAMES = tuple(
    name
    for name in Setup.__dataclass_fields__
    if name not in ("job", "rules", "seed", "deployment")
)


def _plain(value: Any) -> Json:
    return list(value) if isinstance(value, tuple) else value
