"""The known-good control, for real."""

import asyncio
import socket
from collections.abc import Sequence

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.control import play_control
from exonerate.adapters.player import ScenePlayer
from exonerate.core.scene import Control, Event, Scene


def played(control: Control) -> Sequence[Event]:
    """The events of a scene with nothing but the control."""
    scene = Scene(id="s", why="", activities=(control,), time_limit_s=100.0)
    player = ScenePlayer(clock=SystemClock(), performers={Control: play_control})
    return asyncio.run(player.play(scene, lambda _text, _fraction: None))


def test_every_try_says_what_an_exchange_and_a_bit_of_work_took() -> None:
    """Wall time is never below processor time, and the host's load is told beside it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ports = (listener.getsockname()[1],)
        events = played(
            Control(name="control", count=3, ports=ports, every_s=0.05, background=False)
        )
    assert [event.kind for event in events] == ["control"] * 3
    for event in events:
        assert float(str(event.data["echo_ms"])) > 0
        work, cpu = float(str(event.data["work_ms"])), float(str(event.data["work_cpu_ms"]))
        assert work >= cpu * 0.9
        assert int(str(event.data["processors"])) >= 1
    # The one that listens is this very process, which has just worked.
    served = [dict(event.data["served"])[str(ports[0])] for event in events]  # type: ignore[arg-type]  # an object
    assert 0 < served[0]["run_s"] <= served[-1]["run_s"]  # type: ignore[index,call-overload,operator]  # numbers
