"""Which of what GPUs show is remarkable, and what it is said of."""

from collections.abc import Sequence
from dataclasses import replace

from tests.support.world import NS, PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.beside import Beside, GpuSample, KernelSign
from exonerate.core.diagnosis.facts import Facts, Round, Session, read_facts
from exonerate.core.diagnosis.gpu_readings import GpuState
from exonerate.core.diagnosis.gpus import gpu_failed, gpu_slowed, unseen_gpus
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")
ENGINE = DEPLOYMENT.hops[-1]
ELSEWHERE = replace(ENGINE, url="http://gpu7.example:8000")
BEGAN_S = 5000
CALM = GpuState(0, slowed=("sw_power_cap",))


def waiting(begun_s: int = 10, ended_s: int = 18) -> Session:
    """A session whose round waited in vain from then to then, after the run's beginning."""
    request = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
    )
    plan = ProbeSession(
        name="victim@edge", hop="edge", url="http://e", request=request, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=8.0,
    )  # fmt: skip
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=1)
    exchange = Exchange(
        session="p", hop="edge", round=1, connection=connection, request_bytes=1,
        begun_ns=(BEGAN_S + begun_s) * NS, ended_ns=(BEGAN_S + ended_s) * NS, given_up="deadline",
    )  # fmt: skip
    return Session("s", plan, (Round(exchange, "hang"),), None)


def reading(at_s: int, *gpus: GpuState, error: str | None = None) -> GpuSample:
    """The GPUs so long after the run's beginning."""
    return GpuSample((BEGAN_S + at_s) * NS, gpus, error)


def xid(code: int, at_s: int) -> GpuSample:
    """A reading with a message of the kernel of then."""
    sign = KernelSign("xid", code, "65:00", float((BEGAN_S + at_s) * NS))
    return GpuSample((BEGAN_S + 20) * NS, (CALM,), None, (sign,))


def facts(*samples: GpuSample) -> Facts:
    """A run with these readings."""
    return replace(read_facts(()), beside=Beside(gpus=samples), began_ns=BEGAN_S * NS)


def slowed(samples: Sequence[GpuSample]) -> str | None:
    """What is said of slow clocks."""
    waits = [waiting()]
    seen = gpu_slowed(ENGINE, replace(facts(*samples), sessions=tuple(waits)), waits)
    return None if seen is None else seen.text


def test_a_device_that_failed_a_short_while_ago_is_told() -> None:
    """Also where it failed before the run began, as a hang does that somebody complains of."""
    seen = gpu_failed(ENGINE, facts(xid(79, 5), xid(79, 5), xid(48, -300)))
    assert seen is not None
    assert (seen.value, seen.times) == ("yes", 1)
    assert seen.text == (
        "Xid 79 of the GPU on 65:00: fell off the bus; "
        "Xid 48 of the GPU on 65:00: memory error that could not be corrected"
    )


def test_programs_that_fail_and_old_messages_are_no_failure_of_a_gpu() -> None:
    """A page fault is the program's, and last week's message is not about this hang."""
    assert gpu_failed(ENGINE, facts(xid(31, 5), xid(79, -4000))) is None


def test_a_gpu_that_is_gone_or_counts_new_errors_has_failed() -> None:
    """What it counted before the run is not new."""
    gone = gpu_failed(
        ENGINE, facts(reading(1, error="lost"), reading(3, replace(CALM, broken=True)))
    )
    assert gone is not None
    assert gone.text == "`nvidia-smi` cannot reach a GPU; GPU 0 cannot be used"
    old, new = replace(CALM, uncorrected=2.0), replace(CALM, uncorrected=3.0)
    assert gpu_failed(ENGINE, facts(reading(1, old), reading(3, old))) is None
    assert gpu_failed(ENGINE, facts(reading(1, old), reading(3, new))) is not None


def test_clocks_that_go_down_with_the_wait_are_told() -> None:
    """What was there before, such as a power limit under load, is not."""
    hot = GpuState(0, slowed=("sw_power_cap", "sw_thermal_slowdown"))
    assert slowed([reading(1, CALM), reading(12, hot), reading(20, CALM)]) == (
        "GPU 0: too hot (driver)"
    )
    assert slowed([reading(1, hot), reading(12, hot)]) is None
    assert slowed([reading(12, hot)]) is None
    assert slowed([reading(1, CALM), reading(20, hot)]) is None


def test_hardware_that_slows_itself_down_is_told_whenever_it_began() -> None:
    """That is never part of healthy work."""
    braked = GpuState(2, slowed=("hw_power_brake_slowdown",))
    assert slowed([reading(1, braked), reading(12, braked)]) == "GPU 2: power brake (hardware)"


def test_gpus_of_this_host_say_nothing_of_engines_elsewhere() -> None:
    """Nor do GPUs that nobody read."""
    failing = facts(xid(79, 5), reading(12, GpuState(0, slowed=("hw_thermal_slowdown",))))
    assert gpu_failed(ELSEWHERE, failing) is None
    assert gpu_slowed(ELSEWHERE, failing, [waiting()]) is None
    assert gpu_failed(ENGINE, facts()) is None


def test_what_was_not_seen_of_gpus_is_said() -> None:
    """Nothing where all was read; and an answer that did not come is not one."""
    assert list(unseen_gpus(facts(), DEPLOYMENT)) == [
        "the health of the engine's GPUs (NVML, Xid messages of the kernel)"
    ]
    seen = facts(reading(1, CALM))
    assert not list(unseen_gpus(seen, DEPLOYMENT))
    remote = replace(DEPLOYMENT, hops=(*DEPLOYMENT.hops[:-1], ELSEWHERE))
    assert list(unseen_gpus(seen, remote))
    closed = facts(replace(reading(1, CALM), kernel_unread="Operation not permitted"))
    assert list(unseen_gpus(closed, DEPLOYMENT)) == [
        "Xid messages of the kernel about GPUs: not permitted here"
    ]
    stuck = facts(reading(1, CALM), reading(9, error="no-answer"))
    assert list(unseen_gpus(stuck, DEPLOYMENT)) == [
        "the GPUs, some of the time: `nvidia-smi` did not answer"
    ]
