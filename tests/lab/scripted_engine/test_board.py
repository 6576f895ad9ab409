"""What the scripted engine shows of itself."""

import asyncio

from exonerate.adapters.engines.names import counter_reader
from exonerate.lab.scripted_engine.board import Board
from exonerate.lab.scripted_engine.metrics_page import Counters
from exonerate.lab.scripted_engine.scheduler import Scheduler
from exonerate.lab.scripted_engine.script import EngineScript


def test_gauges_follow_at_once_unless_the_script_lets_them_lag() -> None:
    """The load of the last step is shown until the lag is over."""

    async def shown(lag_s: float) -> tuple[float, float]:
        counters = Counters(running=2, steps=5)
        script = EngineScript(names="sglang", gauge_lag_s=lag_s)
        board = Board(script, counters, Scheduler(8, counters))
        during = counter_reader()(board.metrics())[1]["running"]
        counters.running = 0
        return during, counter_reader()(board.metrics())[1]["running"]

    assert asyncio.run(shown(0.0)) == (2, 0)
    assert asyncio.run(shown(60.0)) == (2, 2)
