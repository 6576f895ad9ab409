"""The JSON answers."""

from __future__ import annotations

import json

from exonerate.core.waves.answers import FitRequest, PlanRequest
from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.gpus import gpu_named
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.core.waves.occupancy import KernelResources
from exonerate.core.waves.physical import PhysicalInputs
from exonerate.core.waves.table import table_of
from exonerate.jobs.splitk_fit import splitk_fit
from exonerate.jobs.splitk_plan import splitk_plan
from exonerate.report.waves_json import fit_json, plan_json

RTX = gpu_named("RTX PRO 6000 Blackwell")


def test_a_plan_has_its_schema_and_every_number_of_the_text() -> None:
    """Cells, cliffs, recommendations, price; fractions, not percentages."""
    device = device_of(RTX, Residency(kernel=KernelResources(208, 22_528, 128), shared=True))
    load = Workload(2, parse_lengths("8192"), 64, 1 << 20)
    answer = json.loads(
        json.dumps(
            plan_json(
                splitk_plan(
                    PlanRequest(
                        device,
                        "target_ctas:ceil",
                        load,
                        Costs(per_cta=0.02),
                        None,
                        584.0,
                        (48, 96),
                        (256,),
                    ),
                    lambda _t, _f: None,
                )
            ),
            allow_nan=False,
        )
    )
    assert answer["schema"] == "exonerate.waves/1"
    assert answer["gpu"]["slots"] == 188
    assert answer["gpu"]["occupancy"]["limited_by"] == "registers"
    assert [cell["ctas"] for cell in answer["cells"]] == [288, 384]
    assert answer["cells"][0]["floor_us_per_layer"] > 0
    assert [cliff["cells"] for cliff in answer["cliffs"]] == [[62, 63], [94, 95]]
    assert answer["cliffs"][1]["rise"] == 0.5
    assert answer["batch_invariance"]["kept"] is False
    assert {"cell", "splits", "target", "attention", "saving"} <= set(answer["recommended"][0])


def test_a_fit_has_its_schema_and_everything_the_verdict_rests_on() -> None:
    """A program can act on it without reading prose."""
    rows = [
        (48, 256, 684.7),
        (64, 256, 719.5),
        (80, 256, 833.0),
        (96, 256, 799.3),
        (48, 512, 680.6),
        (64, 512, 811.7),
        (80, 512, 842.7),
        (96, 512, 844.6),
    ]
    request = FitRequest(
        table_of(rows),
        device_of(RTX, Residency()),
        Workload(1, parse_lengths("8192"), 1, 1 << 20),
        Costs(),
        PhysicalInputs(),
        "TARGET_CTAS",
        0,
    )
    answer = json.loads(
        json.dumps(fit_json(splitk_fit(request, lambda _t, _f: None)), allow_nan=False)
    )
    assert answer["schema"] == "exonerate.wave_fit/1"
    assert answer["verdict"] == "hypothesis; insufficient data to accept"
    assert (answer["best"]["rule"], answer["best"]["units"]) == ("target_ctas:ceil", 2)
    assert answer["best"]["rmse"] <= 4.5
    assert answer["best"]["cells"][0]["measured"] == 684.7
    assert answer["chance"]["rules_tried"] == 76
    assert answer["chance"]["p_corrected"] <= answer["chance"]["wide"]["p_corrected"]
    assert [one["cells"] for one in answer["experiments"]] == [[94, 95], [62, 63]]
    assert [round(share, 2) for share in answer["physical"]["attention_share"]] == [0.36, 0.47]
    assert [dip["cells"] for dip in answer["dips"]] == [[80, 96]]
