"""How long the next scene is idle, read from what went well and what did not."""

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, Rule, World, judgement_after, locate_in

from exonerate.core.diagnosis.pacing import copy_lasts_s, rounds_to_fail
from exonerate.core.scene import Event, ProbeSession, Scene


def idles(limit_s: float) -> list[float]:
    """The idle times that sessions at the edge were given where longer ones fail."""
    seen: list[float] = []
    world = World(lambda a: SILENT if a.hop == "edge" and a.idle_s > limit_s else OK)
    plain = world.rule

    def noted(asked: Asked) -> Answer:
        if asked.session.name == "victim@edge":
            seen.append(asked.session.think_s)
        return plain(asked)

    world.rule = noted
    locate_in(world)
    return seen


def test_the_border_between_idle_times_is_narrowed() -> None:
    """Between what passed and what did not, something in the middle is tried."""
    tried = sorted(set(idles(0.3)))
    assert any(0.2 < idle < 0.4 for idle in tried)


def test_idle_times_vary_where_nothing_fails() -> None:
    """A count of requests and an age would not come apart otherwise."""
    assert len(set(idles(9.0))) > 1


def test_what_is_late_from_the_first_answer_on_is_copied_in_one_round() -> None:
    """An engine with a queue makes each round of a copy slow: one shows it as well as all six."""
    late = Answer(wait_s=4.0)
    judgement = judgement_after(World(lambda _: late))
    facts, deployment = judgement.facts, judgement.deployment
    assert rounds_to_fail(facts, deployment) == 1
    whole_s = facts.sessions[0].rounds[-1].exchange.ended_ns / 1e9
    expected_s = copy_lasts_s(facts, deployment)
    assert expected_s is not None
    assert expected_s < whole_s / 2


class Watched(World):
    """A world that keeps the scenes that were played in it."""

    def play(self, scene: Scene) -> list[Event]:
        """Note at which hop each scene that copies the victim asks first."""
        sessions = [a for a in scene.activities if isinstance(a, ProbeSession)]
        if scene.id.startswith("victim-"):
            FIRST.append(sessions[0].hop)
        return World.play(self, scene)


FIRST: list[str] = []


def first_asked(rule: Rule) -> list[str]:
    """At which hop each scene that copies the victim asks first."""
    FIRST.clear()
    locate_in(Watched(rule))
    return list(FIRST)


def test_what_is_broken_off_is_asked_behind_what_is_waited_for() -> None:
    """Late answers at the engine and a timer before it: from then on the engine is asked first."""
    late = Answer(wait_s=6.0)
    asked = first_asked(lambda a: Answer(status=504, wait_s=3.0) if a.hop == "edge" else late)
    assert asked[0] == "edge"
    assert set(asked[1:]) == {"engine"}


def test_where_answers_come_in_time_the_order_of_the_path_stays() -> None:
    """From the client inwards."""
    assert set(first_asked(lambda _: OK)) == {"edge"}


def test_what_comes_and_goes_is_looked_for_in_all_rounds_of_the_victim() -> None:
    """A session that passed where another one failed says that the number does not matter."""
    lengths: list[int] = []
    count = [0]

    def rule(asked: Asked) -> Answer:
        if asked.hop != "edge":
            return OK
        if asked.session.name == "victim@edge" and asked.on_connection == 1:
            lengths.append(asked.session.rounds)
        count[0] += 1
        return SILENT if count[0] % 11 == 4 else OK

    answer = locate_in(World(rule))
    assert answer["outcome"] == "fault"
    assert lengths[0] == lengths[-1] == 6


@pytest.mark.parametrize(("spread_s", "rounds"), [(0.3, 9), (5.0, 5)])
def test_no_more_new_connections_are_tried_than_slow_answers_leave_time_for(
    spread_s: float, rounds: int
) -> None:
    """At least one more than it took the victim's own connection to fail.

    Where nobody is asked in bulk while something waits.
    """
    tried: set[int] = set()

    def rule(asked: Asked) -> Answer:
        if asked.session.name == "fresh@edge":
            tried.add(asked.session.rounds)
        bad = asked.hop == "edge" and asked.on_connection == 4
        return SILENT if bad else Answer(spread_s=spread_s)

    locate_in(World(rule), gentle=True)
    assert tried == {rounds}


def test_a_copy_begins_an_answer_later_where_one_stopped_in_the_middle() -> None:
    """A scene begins so long after the last stop, so that a clock would always meet one request."""
    begins: list[float] = []

    def rule(asked: Asked) -> Answer:
        if asked.session.name == "victim@edge" and asked.on_connection == 1:
            begins.append(asked.session.start_s)
        return Answer(spread_s=1.8, stalls=asked.hop == "edge" and asked.on_connection == 2)

    locate_in(World(rule))
    assert begins[1] - begins[0] > 1.5
