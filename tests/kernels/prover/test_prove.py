"""The prover finds every seeded bug and accuses no correct implementation."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from exonerate.core.exactness import PROMISED_BY_DEFAULT, Proof, Property
from exonerate.kernels import reference
from exonerate.kernels.prover.call import InProcess
from exonerate.kernels.prover.prove import Sweep, prove, replay
from exonerate.kernels.prover.worker import load

HERE = Path(__file__).parent


def _sibling(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


BUGS = _sibling("seeded_bugs").BUGS
VARIANTS = _sibling("correct_variants").VARIANTS


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


def _prove(target: Callable[..., Any], **sweep: Any) -> Proof:
    return prove(InProcess(target), Sweep(target="target", **sweep), _quiet)


def _broken(proof: Proof) -> set[str]:
    return {finding.property.value for finding in proof.findings if finding.broken}


def test_at_least_25_bugs_are_seeded() -> None:
    """The promise to find 25 seeded bugs is kept with as many different ones."""
    assert len({bug.name for bug in BUGS}) >= 25


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_default_sweep_finds_a_seeded_bug(bug: Any, tmp_path: Path) -> None:
    """A kernel with one bug in it is found, by a property which that bug breaks."""
    target = load(bug.write(tmp_path))
    found = _broken(_prove(target, stop_at_first=True))
    assert found & {*bug.breaks}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
def test_a_correct_implementation_is_not_accused(variant: Callable[..., Any]) -> None:
    """Implementations that differ from ours in every way but the answer break no promise."""
    proof = _prove(variant)
    assert _broken(proof) == set()
    assert proof.verdict(Property.ACCURATE) == "holds"


def test_our_reference_keeps_every_promise() -> None:
    """The NumPy reference keeps the default promises and is batch-invariant too."""
    proof = _prove(reference.attend, promised=(*PROMISED_BY_DEFAULT, Property.BATCH_INVARIANT))
    assert _broken(proof) == set()
    assert all(proof.verdict(check) == "holds" for check in proof.promised)
    assert proof.conventions["lse_of_no_tokens"] == ["-inf"]
    assert proof.conventions["refuses"] == ["misfit", "senseless-splits"]


def test_split_invariance_is_measured_but_not_promised() -> None:
    """Moving the last bits with the split count is told, and breaks only what was promised."""
    assert not _prove(reference.attend, level="quick").broken
    promised = (*PROMISED_BY_DEFAULT, Property.SPLIT_INVARIANT)
    assert _broken(_prove(reference.attend, level="quick", promised=promised)) == {
        "split_invariant"
    }
    within = _prove(reference.attend, level="quick", promised=promised, ulp_allowed=64.0)
    assert _broken(within) == set()


def test_batch_invariance_is_lost_when_mates_decide_the_split_count() -> None:
    """An implementation that aims at a number of blocks changes a row with its mates."""

    def aims_at_blocks(q: Any, k: Any, v: Any, lengths: Any, splits: int) -> Any:
        from exonerate.kernels.split_rule import SplitRule

        return reference.attend(q, k, v, lengths, splits, rule=SplitRule(target_ctas=12))

    promised = (*PROMISED_BY_DEFAULT, Property.BATCH_INVARIANT)
    assert _broken(_prove(aims_at_blocks, promised=promised)) == {"batch_invariant"}


def test_the_smallest_failing_input_is_saved_and_replayed(tmp_path: Path) -> None:
    """A finding's file is far smaller than the sweep's input and shows the same failure again."""
    bug = next(bug for bug in BUGS if bug.name == "overlapping_cuts")
    target = load(bug.write(tmp_path))
    proof = _prove(target, save_in=tmp_path / "findings", conditions=("plain",))
    (finding,) = [finding for finding in proof.findings if finding.broken]
    assert finding.shape["batch"] == 1
    assert finding.shape["lengths"] == [2]
    saved = Path(finding.saved)
    again = replay(InProcess(target), Sweep(target="target"), saved)
    assert _broken(again) == {"accurate"}
    mended = replay(InProcess(reference.attend), Sweep(target="target"), saved)
    assert _broken(mended) == set()


def test_a_bug_of_state_is_replayed_with_the_call_before(tmp_path: Path) -> None:
    """A stale plan needs two calls; the saved input holds both."""
    bug = next(bug for bug in BUGS if bug.name == "plan_kept_by_shape")
    target = load(bug.write(tmp_path))
    proof = _prove(target, save_in=tmp_path, conditions=("replanned",))
    saved = Path(next(finding.saved for finding in proof.findings if finding.broken))
    fresh = load(bug.write(tmp_path))
    assert _broken(replay(InProcess(fresh), Sweep(target="target"), saved)) == {"accurate"}


def test_a_target_that_takes_nothing_has_answered_nothing() -> None:
    """Raising at every call is a finding with its message, not a clean bill."""

    def refuses(q: Any, k: Any, v: Any, lengths: Any, splits: int) -> Any:
        raise RuntimeError("no kernel image for this device")

    proof = _prove(refuses)
    assert _broken(proof) == {"answers"}
    assert "no kernel image" in proof.findings[0].what
    assert proof.findings[0].shape["batch"] == 3
    assert proof.verdict(Property.ACCURATE) == "not_examined"


def test_not_implemented_is_no_accusation() -> None:
    """A target that says what it does not do is told apart from one that fails."""

    def only_one_split(q: Any, k: Any, v: Any, lengths: Any, splits: int) -> Any:
        if q.shape[1] != k.shape[2] * 2:
            raise NotImplementedError("two query heads a KV head")
        return reference.attend(q, k, v, lengths, max(splits, 1))[0]

    proof = _prove(only_one_split, level="quick")
    assert _broken(proof) == set()
    assert "heads: NotImplementedError: two query heads a KV head" in proof.not_examined
