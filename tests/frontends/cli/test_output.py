"""JSON on stdout is JSON, whatever stands in it."""

import json
import math

import pytest

from exonerate.frontends.cli.output import print_json


def test_numbers_that_json_lacks_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    """`NaN` and `Infinity` would break every strict reader."""
    print_json({"a": math.nan, "b": [math.inf, 1.5], "c": {"d": -math.inf, "e": (1, "x")}})

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found == {"a": None, "b": [None, 1.5], "c": {"d": None, "e": [1, "x"]}}
