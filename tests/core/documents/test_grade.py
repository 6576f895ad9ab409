"""Grades A to E, each with the document that earns it."""

from __future__ import annotations

import pytest

from exonerate.core.documents.formats import Options, Unreadable, read_source
from exonerate.core.documents.model import Comparison, Source

TABLE = """
| C | 256 | 512 |
|---|---|---|
| 48 | 700.0 ± 3 | 710.0 ± 3 |
| 64 | 720.0 ± 3 | 790.0 ± 3 |
"""
WHERE = "host: gpu-7, H100, SGLang 0.5.9. Decode tokens/s.\n\n"
LIVE = {"host": "gpu-7", "gpu": "H100", "engine": "SGLang 0.5.9"}


def source_of(text: str, name: str = "plan.md", live: dict[str, str] | None = None) -> Source:
    """The source that a text of that name is."""
    source = read_source(name, text.encode(), Options(live=live))
    assert not isinstance(source, Unreadable)
    return source


def comparison_of(
    text: str, name: str = "plan.md", live: dict[str, str] | None = None
) -> Comparison:
    """The first comparison of a text."""
    return source_of(text, name, live).comparisons[0]


def trials(head: str) -> str:
    """Six blocks of two restarts in alternating order, as recorded trials."""
    lines = [head + "block,order,arm,concurrency,tokens_per_s"]
    for block in range(1, 7):
        arms = ["256", "512"] if block % 2 else ["512", "256"]
        for order, arm in enumerate(arms, start=1):
            lines += [f"{block},{order},{arm},{c},{700.5 + c + block}" for c in (48, 64)]
    return "\n".join(lines) + "\n"


HEAD = "# host: gpu-7, H100, SGLang 0.5.9, 2026-11-02\n# gates: all passed\n"


def test_grade_a() -> None:
    """Six random blocks with raw data, gates and today's environment earn an A."""
    assert comparison_of(trials(HEAD), "trials.csv", LIVE).grade == "A"


def test_grade_b_when_the_environment_is_not_compared() -> None:
    """The same trials are a B until somebody says that today's environment is the same."""
    comparison = comparison_of(trials(HEAD), "trials.csv")
    assert comparison.grade == "B"
    assert "not compared with today's environment" in comparison.why


def test_grade_b_from_a_document() -> None:
    """A document with 3 interleaved restarts, spread, one day and one host is a B."""
    text = WHERE + "2026-11-02, 3 restarts per arm, interleaved.\n\n" + TABLE
    assert comparison_of(text).grade == "B"


def test_grade_c_for_repeats_within_one_restart() -> None:
    """Runs that are not said to be restarts are a C."""
    text = WHERE + "2026-11-02, n=3, interleaved.\n\n" + TABLE
    assert comparison_of(text).grade == "C"


def test_grade_d_when_nothing_is_said_of_runs() -> None:
    """No stated number of runs is one run: D, and the reason says so."""
    comparison = comparison_of(WHERE + TABLE)
    assert comparison.grade == "D"
    assert comparison.why[0] == "n = 1 per cell"


def test_grade_d_across_days() -> None:
    """Two dates may mean two days: D however many restarts there are."""
    text = WHERE + "2026-11-02 and 2026-11-09, 5 restarts per arm, interleaved.\n\n" + TABLE
    assert comparison_of(text).grade == "D"


@pytest.mark.parametrize("where", ["", "Decode tokens/s.\n\n", "host: gpu-7, H100\n\n"])
def test_grade_e_without_environment_or_unit(where: str) -> None:
    """A number without environment or unit is an E."""
    assert comparison_of(where + "5 restarts, interleaved.\n\n" + TABLE).grade == "E"


def test_another_gpu_makes_a_document_stale() -> None:
    """Numbers from another GPU than today's are at most a D."""
    comparison = comparison_of(trials(HEAD), "trials.csv", {"gpu": "B200"})
    assert comparison.grade == "D"
    assert "the gpu was H100, now B200" in comparison.why


def test_fixed_order_is_not_interleaved() -> None:
    """Blocks that always begin with the same arm do not count as random blocks."""
    fixed = trials(HEAD).replace("2,1,512", "2,3,512").replace("2,2,256", "2,1,256")
    for block in (4, 6):
        fixed = fixed.replace(f"\n{block},1,512", f"\n{block},3,512")
        fixed = fixed.replace(f"\n{block},2,256", f"\n{block},1,256")
    assert comparison_of(fixed, "trials.csv", LIVE).grade not in ("A", "B")
