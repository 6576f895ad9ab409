"""What an experiment could show, said beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from exonerate.core.case.records import Record
from exonerate.core.deployment.model import Deployment, Service
from exonerate.core.experiment.plan import expectation_of, plan_answer, plan_lines
from exonerate.core.experiment.setup import Setup


def setup(**changes: Any) -> Setup:
    """An A/B of five blocks over two cells."""
    fields: dict[str, Any] = {
        "job": "ab", "rules": "r", "seed": 1, "service": "s", "hop": "e", "url": "http://h",
        "deployment": Deployment(name="d", model="m", folder="/", services=(Service(name="s"),)),
        "arms": ("old", "new"), "blocks": 5, "cells": (4, 1), "prompt_tokens": 1,
        "max_tokens": 1, "deadline_s": 60.0,
    }  # fmt: skip
    return Setup(**{**fields, **changes})


def verdict(job: str, answer: dict[str, Any]) -> Record:
    """A verdict on record."""
    body: Any = {"id": "v", "job": job, "rules": "r", "answer": answer}
    return Record(seq=1, case="c", kind="verdict", at="", body=body, prev="", hash="")


AA = verdict(
    "aa",
    {
        "service": "s",
        "noise": {"cell_value_sd": 0.005, "restart_sd": 0.003, "within_sd": 0.004, "blocks": 8},
        "restarts": [
            {"ready_s": 10.0, "cells": [{"duration_s": 20.0}, {"duration_s": 30.0}]},
            {"ready_s": None, "cells": []},
        ],
    },
)


def test_the_plan_says_what_five_blocks_can_show() -> None:
    """At 1 % of noise five blocks see 2.4 % on the primary band, and cells see less."""
    plan: Any = plan_answer(setup(), expectation_of((), setup()))
    assert plan["smallest_visible"]["primary"] == pytest.approx(0.0241, abs=0.0002)
    assert plan["smallest_visible"]["cell"] > plan["smallest_visible"]["primary"]
    assert plan["restarts"] == 11
    assert plan["requests"] == 2 * 5 * (16 + 32)
    assert [odds["truth"] for odds in plan["odds_primary"]] == [0.0, 0.02, 0.04]
    for odds in plan["odds_primary"]:
        assert sum(v for k, v in odds.items() if k != "truth") == pytest.approx(1.0)
    assert plan["noise"]["source"].startswith("assumed")
    assert plan["minutes"] is None


def test_an_aa_on_record_gives_noise_and_time() -> None:
    """The noise of the band and the minutes come from the newest A/A of the service."""
    other = verdict("aa", {"service": "other", "noise": {"cell_value_sd": 9.0}, "restarts": []})
    expected = expectation_of((AA, other), setup())
    assert expected.cell_noise == 0.005
    assert expected.primary_noise == pytest.approx((0.003**2 + 0.004**2 / 2) ** 0.5)
    plan: Any = plan_answer(setup(), expected)
    assert plan["minutes"] == pytest.approx(11 * 60 / 60)
    assert "an A/A of 8 blocks" in plan["noise"]["source"]


def test_the_operators_noise_wins() -> None:
    """A noise that is given beats the record, and the time is still known."""
    expected = expectation_of((AA,), setup(), noise=0.03)
    assert (expected.cell_noise, expected.source, expected.restart_s) == (0.03, "as given", 60.0)


def test_two_blocks_are_told_to_be_too_few() -> None:
    """Below three blocks the plan says that no verdict can come out."""
    plan: Any = plan_answer(setup(blocks=2), expectation_of((), setup()))
    assert plan["verdict_possible"] is False
    assert plan_lines(plan)[-1] == "below 3 blocks no verdict is given, whatever comes out"


def test_the_plan_in_sentences() -> None:
    """The sentences name restarts, noise, the effect that is seen, and the odds."""
    lines = plan_lines(plan_answer(setup(looks=True), expectation_of((AA,), setup())))
    assert "11 restarts of s" in lines[0]
    assert "about 11 minutes" in lines[0]
    assert any("is seen 4 times out of 5" in line for line in lines)
    assert any("if the truth is +4.0 %: better" in line for line in lines)
