"""What the engine shows of itself: as it is, as its scheduler wrote it last, or frozen."""

from __future__ import annotations

from exonerate.lab.scripted_engine.metrics_page import Counters, Written, loads_page, metrics_page
from exonerate.lab.scripted_engine.scheduler import Scheduler
from exonerate.lab.scripted_engine.script import EngineScript


class Board:
    """The pages of one engine.

    With `gauge_lag_s` the gauges are those of the last step until so much time has passed, as
    SGLang's are; a scheduler that is frozen writes nothing at all any more, and the front end goes
    on showing what there was.
    """

    def __init__(self, script: EngineScript, counters: Counters, scheduler: Scheduler) -> None:
        self._script = script
        self._counters = counters
        self._scheduler = scheduler
        self._wall = scheduler.wall
        self._started_s = self._wall()
        self._steps = 0
        self._late = (0, 0)
        self._late_until_s = 0.0

    def metrics(self) -> str:
        """The metrics page."""
        shown, written_s = self._shown()
        real = shown.running, shown.waiting
        shown.running, shown.waiting = self._gauges(shown)
        script = self._script
        written = Written(self._started_s, written_s)
        page = metrics_page(script.names, script.model, shown, script.max_running, written=written)
        shown.running, shown.waiting = real
        return page

    def loads(self) -> str:
        """SGLang's `/v1/loads`."""
        shown, written_s = self._shown()
        return loads_page(shown, written_s=written_s, now_s=self._wall())

    def _shown(self) -> tuple[Counters, float]:
        frozen = self._scheduler.frozen
        if frozen is not None:
            return frozen.counters, frozen.written_s
        self._scheduler.account()
        return self._counters, self._wall()

    def _gauges(self, shown: Counters) -> tuple[int, int]:
        now_s = self._wall()
        if shown.steps != self._steps:
            # Who made that step was still there when it was written.
            self._late = (max(1, shown.running), shown.waiting)
            self._late_until_s = now_s + self._script.gauge_lag_s
        elif now_s >= self._late_until_s:
            self._late = (shown.running, shown.waiting)
        self._steps = shown.steps
        return self._late if self._script.gauge_lag_s else (shown.running, shown.waiting)
