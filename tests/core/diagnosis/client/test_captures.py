"""Captures: a HAR and a tap's own recording lead to the same shape."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tapped import Connection, request

from exonerate.core.diagnosis.client.captures import recording, requests_in
from exonerate.core.json_types import Json

BODY = {"model": "m", "stream": True, "max_tokens": 16, "messages": []}


def entry(second: int, path: str = "/v1/chat/completions") -> dict[str, Json]:
    """One entry of a HAR."""
    return {
        "startedDateTime": f"2026-01-01T00:00:{second:02d}.250Z",
        "time": 800.0,
        "request": {
            "method": "POST",
            "url": f"http://h:1{path}?key=secret",
            "postData": {"text": json.dumps(BODY)},
        },
        "response": {
            "status": 200,
            "content": {"text": json.dumps({"usage": {"prompt_tokens": 70}})},
        },
    }


def test_a_har_shows_requests_to_a_model_in_order_and_nothing_else() -> None:
    """Pages and images between them do not count."""
    entries = [entry(5), entry(1), entry(2, "/favicon.ico")]
    found = requests_in({"log": {"entries": entries}})
    assert [one.path for one in found] == ["/v1/chat/completions"] * 2
    assert found[1].begun_ns - found[0].begun_ns == 4_000_000_000
    assert found[0].ended_ns - found[0].begun_ns == 800_000_000
    assert (found[0].model, found[0].stream, found[0].prompt_tokens) == ("m", True, 70)


def test_a_recording_of_the_tap_is_a_capture() -> None:
    """What crossed can be probed again later, from the file alone."""
    told = Connection(1).ask(0.1).reply(0.2).ask(1.0, request(80)).reply(1.1)
    told.over(2.0)
    found = requests_in(json.loads(json.dumps(recording(told.exchanges))))
    assert [one.request_number for one in found] == [1, 2]
    assert found[1].body_bytes > found[0].body_bytes


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner)
)


@given(VALUES)
def test_files_that_are_no_capture_hold_no_request(value: Json) -> None:
    """Whatever stands in the file, it is read without a complaint of ours."""
    assert requests_in(value) == []
    assert requests_in({"log": {"entries": [value]}}) == []
    assert requests_in({"schema": "exonerate.tap/1", "exchanges": [value]}) == []
