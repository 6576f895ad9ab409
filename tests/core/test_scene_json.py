"""The codec of scenes: everything that is written down can be read again, nothing else."""

from __future__ import annotations

import json
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.case.records import canonical_json
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import (
    Activity,
    Event,
    ProbeSession,
    PromptRecipe,
    RequestRecipe,
    Scene,
    Stall,
)
from exonerate.core.scene_json import (
    event_from_json,
    event_to_json,
    scene_from_json,
    scene_to_json,
)
from exonerate.errors import ExonerateError

finite = st.floats(allow_nan=False, allow_infinity=False)
for kind in get_args(Activity):
    st.register_type_strategy(kind, lambda kind: st.builds(kind))
st.register_type_strategy(float, finite)

activities = st.one_of([st.from_type(kind) for kind in get_args(Activity)])
stalls = st.builds(Stall, play=st.lists(activities, max_size=3).map(tuple))
scenes = st.builds(
    Scene,
    activities=st.lists(activities, max_size=4).map(tuple),
    triggers=st.lists(stalls, max_size=2).map(tuple),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
events = st.builds(
    Event, st.text(), st.integers(), st.text(), st.dictionaries(st.text(), json_values, max_size=4)
)


def probe_scene() -> Scene:
    request = RequestRecipe(
        path="/v1/chat/completions",
        model="m",
        prompt=PromptRecipe(seed=1, prompt_tokens=20),
        max_tokens=4,
        headers=(("x-tenant", "a"),),
    )
    probe = ProbeSession(
        name="p",
        hop="edge",
        url="http://127.0.0.1:1",
        request=request,
        rounds=8,
        connection="reuse",
        think_s=0.5,
        deadline_s=20,
    )
    stall = Stall(session="p", after_s=2.0, play=(probe,))
    return Scene(id="s1", why="ask", activities=(probe,), triggers=(stall,))


def written(scene: Scene) -> dict[str, Any]:
    """The scene as it comes back from disk."""
    return cast(dict[str, Any], json.loads(canonical_json(scene_to_json(scene))))


@given(scenes)
def test_scene_comes_back_equal(scene: Scene) -> None:
    """Whatever scene was planned, the one read from the ledger is equal to it."""
    assert scene_from_json(written(scene)) == scene


@given(events)
def test_event_comes_back_equal(event: Event) -> None:
    """Whatever was observed, the event read from the ledger is equal to it."""
    again = cast(JsonObject, json.loads(canonical_json(event_to_json(event))))
    assert event_from_json(again) == event


@given(scenes)
def test_writing_again_gives_the_same_bytes(scene: Scene) -> None:
    """A scene that was read and is written again has the same canonical bytes."""
    assert canonical_json(scene_to_json(scene_from_json(written(scene)))) == canonical_json(
        scene_to_json(scene)
    )


def test_absent_key_means_the_default() -> None:
    """A scene written before a field with a default existed can still be read."""
    scene = written(probe_scene())
    del scene["time_limit_s"], scene["activities"][0]["stop_after_failure"]
    assert scene_from_json(scene) == probe_scene()


def edited(path: list[str | int], value: object) -> dict[str, Any]:
    """The written probe scene with one value replaced (or removed, for `...`)."""
    scene = written(probe_scene())
    parent: Any = scene
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return scene


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (["activities", 0, "type"], "FormatDisk", "unknown activity type `FormatDisk`"),
        (["activities", 0, "type"], ..., "unknown activity type `None`"),
        (["activities", 0, "colour"], "red", "unknown key `colour`"),
        (["activities", 0, "rounds"], ..., "lacks the key `rounds`"),
        (["activities", 0, "rounds"], "8", "not of type int"),
        (["activities", 0, "rounds"], True, "not of type int"),
        (["activities", 0, "connection"], "sometimes", "not one of reuse, fresh"),
        (["activities", 0, "request"], [], "not an object"),
        (["activities", 0, "request", "headers", 0], ["one"], "has 1 items instead of 2"),
        (["activities"], "none", "not a list"),
    ],
)
def test_strange_scene_is_refused(path: list[str | int], value: object, complaint: str) -> None:
    """A scene with anything unknown in it is refused with the place and the reason."""
    with pytest.raises(ExonerateError) as refusal:
        scene_from_json(edited(path, value))
    assert complaint in refusal.value.problem


def test_what_json_cannot_carry_is_kept_as_far_as_it_goes() -> None:
    """A metrics page that says NaN, or broken text, can still be recorded."""
    event = Event(
        "m",
        1,
        "metrics",
        {"values": {"queue": float("nan"), "n": [1.5, float("inf")]}, "text": "ok \ud800"},
    )
    data = event_to_json(event)["data"]
    assert data == {"values": {"queue": None, "n": [1.5, None]}, "text": "ok ?"}
    assert canonical_json(data)


@pytest.mark.parametrize(
    "obj",
    [
        {"activity": "p", "at_ns": 1, "kind": "exchange"},
        {"activity": "p", "at_ns": 1.5, "kind": "exchange", "data": {}},
        {"activity": "p", "at_ns": 1, "kind": "exchange", "data": []},
        {"activity": "p", "at_ns": 1, "kind": "exchange", "data": {}, "more": 1},
    ],
)
def test_strange_event_is_refused(obj: dict[str, Any]) -> None:
    """An event that lacks a part, or has one more, is refused."""
    with pytest.raises(ExonerateError):
        event_from_json(obj)
