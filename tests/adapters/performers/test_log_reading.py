"""Logs read while a scene is played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.skipped_time import played as in_skipped_time

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.log_reading import LogPerformer
from exonerate.adapters.player import ScenePlayer, Stage
from exonerate.core.json_access import at
from exonerate.core.scene import Activity, Event, ReadLog, RestartService, Scene

LINE = (
    '{"exonerate":"nginx","id":"%s","port":"5001","path":"/v1/x","at":"1796069669.345",'
    '"took":"0.1","status":"200","upstream":"","received":"","secret":"sk-1234567890"}\n'
)
OURS = "exonerate-0000000000000001"


class Writes:
    """Stands for a probe: the hop writes its lines when it is over."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """Append the lines."""
        with self._path.open("a") as file:
            file.write(self._text)


def played(
    tmp_path: Path, texts: Sequence[str], *, name: str = "access.log", engine: bool = False
) -> list[Event]:
    """The events of as many scenes, of one run; the last line of each comes at its very end."""
    log = tmp_path / "access.log"
    log.write_text(LINE % OURS)
    performer = LogPerformer(tmp_path, {"log@edge": name})
    activities = (
        ReadLog(name="log@edge", hop="edge", path="hmac:0123456789ab", engine=engine),
        RestartService(name="probe", service="s", start_s=0.02),
    )
    events: list[Event] = []
    for text in texts:
        player = ScenePlayer(
            clock=SystemClock(),
            performers={ReadLog: performer, RestartService: Writes(log, text)},
        )
        scene = Scene(id="s", why="", activities=activities)
        events += in_skipped_time(player.play(scene, lambda what, share: None))
    return events


def test_lines_become_facts_and_the_lines_themselves_stay_out(tmp_path: Path) -> None:
    """Numbers and our own id; requests of others are counted and not kept."""
    (event,) = played(tmp_path, [LINE % OURS + LINE % "somebody-else" + "odd\n"])
    assert event.kind == "log"
    assert (event.data["lines"], event.data["unknown_lines"]) == (3, 1)
    assert at(event.data, "entries", 0, "request_id") == OURS
    assert at(event.data, "entries", 1) is None
    assert "sk-1234567890" not in str(event.data)


def test_no_line_falls_between_two_scenes(tmp_path: Path) -> None:
    """What the first scene's end came too early for is read in the second."""
    events = played(tmp_path, [LINE % OURS, LINE % OURS])
    assert [event.data["lines"] for event in events] == [1, 1]


def test_a_log_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    """The scene goes on without it."""
    (event,) = played(tmp_path, [""], name="missing.log")
    assert event.data == {"hop": "edge", "error": "No such file or directory"}


def test_an_engines_own_lines_become_words_with_how_often_they_were_said(tmp_path: Path) -> None:
    """No text of them is kept."""
    watchdog = "[2026-12-01 02:47:31] Scheduler watchdog timeout (self.watchdog_timeout=9, s-3cr3t"
    works = "[2026-12-01 02:47:31] Decode batch, #running-req: 1\n"
    (event,) = played(tmp_path, [f"{works}{works}{watchdog})\nodd\n"], engine=True)
    assert event.data["engine"] == [
        {"word": "works", "times": 2},
        {"word": "stood-still", "lasted_s": 9.0, "times": 1},
    ]
    assert (event.data["lines"], event.data["unknown_lines"]) == (4, 1)
    assert "s-3cr3t" not in str(event.data)
