"""Runs of the lab as text and as JSON."""

from __future__ import annotations

from typing import Any

from exonerate.report.lab import (
    LabReport,
    LabRun,
    NotRun,
    calibration,
    calibration_text,
    lab_json,
    lab_text,
    summary,
)


def run(**more: Any) -> LabRun:
    """A right answer, or what `more` makes of it."""
    plain: dict[str, Any] = {
        "scenario": "S1",
        "seed": 1,
        "version": "0.1.0",
        "expected": "drops-requests",
        "explanation": None,
        "got": "drops-requests@edge",
        "points": 1.0,
        "false_accusation": False,
        "right_layer": True,
        "right_class": True,
        "why": "accused edge (proxy: drops-requests)",
        "elapsed_s": 30.0,
        "timers_s": 0.0,
    }
    return LabRun(**{**plain, **more})


def wrong(**more: Any) -> LabRun:
    """A false accusation."""
    return run(
        got="saturated@engine", points=-3.0, false_accusation=True, right_layer=False,
        right_class=False, **more,
    )  # fmt: skip


def test_the_summary_counts_points_and_false_accusations() -> None:
    """One right and one false accusation are minus two points, and half the classes."""
    figures = summary([run(), wrong(seed=2)])
    assert (figures["points"], figures["score"], figures["false_accusations"]) == (-2.0, -1.0, 1)
    assert figures["right_class"] == 0.5
    assert summary([])["score"] is None


def test_the_time_is_told_with_and_without_the_scenario_s_own_timers() -> None:
    """Who waits for a timer of 12 s has not been slow for 12 s."""
    runs = [run(elapsed_s=20.0), run(seed=2, elapsed_s=40.0, timers_s=12.0)]
    figures = summary(runs)
    assert (figures["median_s"], figures["median_less_timers_s"]) == (30.0, 24.0)
    assert "median 30.0 s (24.0 s less the scenarios' own timers)" in " ".join(
        lab_text(LabReport(runs=runs)).split()
    )
    assert summary([])["median_less_timers_s"] is None


def test_the_most_that_was_under_way_beside_the_victim_is_said() -> None:
    """Over all runs of which it is known; of rows of before there is no word."""
    assert "at most 2 more than the victim's own" in lab_text(
        LabReport(runs=[run(beyond_victim=1), run(seed=2, beyond_victim=2), run(seed=3)])
    )
    assert "than the victim's own" not in lab_text(LabReport(runs=[run()]))


def test_the_text_names_what_was_not_run_and_how_to_get_it() -> None:
    """A scenario whose part is missing is a line, and never left out in silence."""
    missing = NotRun(scenario="S6", seed=None, why="needs mitmdump", hint="get it with `x`")
    text = lab_text(LabReport(runs=[run()], not_run=[missing]))
    assert "not run: S6: needs mitmdump; get it with `x`" in text
    assert "none" not in text.lower()


def test_stale_rows_show() -> None:
    """Runs of other code are counted in the text and marked in JSON."""
    made = LabReport(runs=[run(), run(seed=2)], stale=frozenset({("S1", 2)}))
    assert "1 of the runs are of other code" in lab_text(made)
    answer: Any = lab_json(made)
    assert [row["stale"] for row in answer["runs"]] == [False, True]


def test_the_confusion_counts_answers() -> None:
    """Each expected class with how often it was answered by what."""
    answer: Any = lab_json(LabReport(runs=[run(), run(seed=2), wrong(seed=3)]))
    row = answer["confusion"]["drops-requests"]
    assert row == {"drops-requests@edge": 2, "saturated@engine": 1}


def test_confidences_are_held_against_what_was_right() -> None:
    """Accusations are counted by stated confidence; runs that accuse nobody do not count."""
    runs = [run(confidence=0.97), run(seed=2, confidence=0.99), wrong(seed=3, confidence=0.99)]
    bands = calibration([*runs, run(seed=4)])
    assert [(band.low, band.accusations, band.right_class) for band in bands] == [
        (0.95, 1, 1),
        (0.99, 2, 1),
    ]
    assert "1 of 2 at 0.99 to 1.00 (said 0.99 on average, right in 0.09 to 0.91" in (
        calibration_text(runs)
    )
    assert calibration_text([run()]) == ""


def test_a_band_that_promised_more_than_was_kept_is_marked() -> None:
    """Ten of thirty at 0.99 are too sure; thirty of thirty are not."""
    kept = [run(seed=n, confidence=0.99) for n in range(10)]
    broken = [wrong(seed=10 + n, confidence=0.99) for n in range(20)]
    assert "too sure" in calibration_text([*kept, *broken])
    assert "too sure" not in calibration_text(kept)
    answer: Any = lab_json(LabReport(runs=[*kept, *broken]))
    (band,) = answer["calibration"]
    assert band["overstated"] is True
    assert band["right_class_interval"][1] < band["stated"]
